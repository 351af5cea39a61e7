"""Every tuned number of record level, by the step that uses it: what it means, and what was tried where it was chosen.

docs/tuning.md says what becomes of J = reverse + forward KL on tables of many shapes when each of them is halved and doubled
(``python -m bench.tuning``). The comments quote medians of J on the tables of ``python -m bench.tables``. None of the numbers bears on
privacy: they steer queries and post-processing. Sizes of grids, seeds, numbers of draws and of iterations are not tuned and stand
where they are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.queries.class_moments import Shape


@dataclass(frozen=True)
class Round:
    """One round of moments: its share of what is left (of the squared mu), the shape of its noise, its clipping.

    widen : factor on the clipping radius.
    cap : signal (rows of a typical class * mu / sensitivity, over d) beyond which more budget would be wasted.
    hiding : how much dearer noise becomes that hides directions, where the radius is chosen (tails.choose_radius).
    """

    share: float
    shape: Shape
    widen: float
    cap: float
    hiding: float = 0.0


@dataclass(frozen=True)
class Looks:
    """Rounds that are repeated as long as classes have a direction too narrow to be seen: the round, how often at most, and when.

    seen : a class counts if the noise of all entries of its covariance together, in its frame, is below this.
    flat : and if that direction surely has less than this part of the frame's variance.
    rows : such classes must hold more than this share of the rows.
    """

    plan: Round
    most: int
    seen: float
    flat: float
    rows: float


# Shapes of the rounds that look for a place (and so need no sharp counts), of those that count in the end, of a second moment alone, of cells.
_FIRST, _LAST, _SECOND, _CELLS = (
    Shape(0.5, 1.0, 1.0),
    Shape(math.sqrt(0.2), math.sqrt(0.5), 1.0),
    Shape(0.1, 0.3, 1.0),
    Shape(1.0, 0.5, 0.05),
)


def _again(share: float) -> Round:
    return Round(share, _LAST, widen=1.1, cap=60.0)


@dataclass(frozen=True)
class Histograms:
    """Step 1, ``locate``: where each class lies, by noisy counts of bins. Numbers "in deviations" are of a bin's noise."""

    # Share of the budget. The cap saves most of it where classes are seen with 40 standard deviations anyway (N=10,000, epsilon 0.5: 20
    # is too few).
    share: float = 0.10
    cap: float = 40.0
    # A prime: no simple fraction of a range, where a class often lies, is the end of a bin. (A narrow class there looks half a bin wide.)
    bins: int = 41
    # Narrower than this many bins, a class should be looked at again with finer ones. With 0.7 the paper's mixtures, N=1000, epsilon 4, are
    # 5 % farther from the fit; with 0.35 a class on the edge of two bins is not seen to be narrow.
    narrow: float = 0.5
    # Variance, in bins^2 and in squared log-width, that a histogram's grid and shape cannot resolve.
    unresolved: float = 0.02
    # A bin so many deviations above zero surely holds rows.
    sure: float = 3.0
    # A bell ends so many standard deviations from its mean. One bin beyond with so many deviations, or all of them together, contradict it:
    # with 10^3 bins in a release that happens by chance once in a hundred releases.
    ends: float = 3.5
    single: float = 4.5
    together: float = 4.0
    # Bins that surely hold rows tell a class's mean and width if they hold this part of it.
    most_rows: float = 0.8
    # So many deviations of rows may lie in bins which did not stand out and are missing from that mean and width.
    missed: float = 3.0
    # A class with more rows than this many deviations can show a shape of its own; a smaller one is assumed to be Gaussian.
    well_seen: float = 15.0
    # A column is not Gaussian if even the best Gaussian leaves this chi-square unexplained: noise in 40 bins exceeds it once in 2,000
    # times. The second is what a grid of bells leaves of a bell of its own.
    no_bell: float = 75.0
    grid_error: float = 0.05
    # Or if the best Gaussian, of any size, leaves out this many deviations of rows; relative error of the width of such a column.
    left_out: float = 3.5
    odd_width: float = 0.25


@dataclass(frozen=True)
class Spikes:
    """Step 1, ``spikes``: columns in which most rows share a value."""

    # A class that is too narrow for its bins with this probability is counted again with finer bins, at most this often. (Once: some classes
    # of Student's t, in a stated ball a hundred times as wide, are taken for spikes.)
    narrow: float = 0.99
    refinements: int = 3
    # A class of so many standard deviations of a bin's noise shows whether it lies in one place (6: small classes of Covertype do
    # by chance, 15: 1,000 rows at epsilon 1 never do). Below the second number it is thought like the others.
    shows: float = 10.0
    clearly: float = 15.0
    # Parts of the rows that two neighbouring bins hold: at an end of what was stated, to be looked at more closely; in
    # another class with a spike there, to have one too; in finer bins, of what they held before, to be no bell.
    at_an_end: float = 0.6
    alike: float = 0.5
    still: float = 0.75
    # At an end of the range a second finer look decides (after one, half a bell there is taken for a spike); elsewhere all are made.
    looks_at_an_end: int = 2
    # Finer looks at a spike reach so many bins to either side.
    bins_beside: float = 2.0
    # The first frame of a spike is the distance to the farther end of the column, over this: a row there is nearly at the clip.
    hedge: float = 3.0
    # A sum is seen if it exceeds ``seen`` standard deviations; their ratio is taken ``largest`` standard deviations above its value; the
    # farthest rows are assumed to lie ``times`` that far.
    seen: float = 3.0
    largest: float = 1.0
    times: float = 1.3
    # Where neither sum is seen, the next frame is at most so many times narrower.
    narrower: float = 3.0
    # Shells count where they reach so many times as far as a clip of many rows (a signal of so many) does.
    far: float = 1.5
    many: float = 100.0


@dataclass(frozen=True)
class Alike:
    """Step 2, ``alike``: what classes have in common."""

    # The smallest standard deviation of the classes' log widths that is assumed.
    widths: float = 0.4
    # The common shape is used if it explains this part of the deviation from a sphere in the classes that are seen clearly: their
    # eigenvalues, in units of their frame, have a smaller error than ``clear``.
    explained: float = 0.5
    clear: float = 0.15


@dataclass(frozen=True)
class Far:
    """Step 2, ``_SoFar.widened``: rows far from all others, which shells in the first frames find."""

    # Share of the shells, at most so often, until all rows are inside so many times the usual radius. 0.15 of the budget for the round that
    # reaches those rows shows them by more standard deviations than the shells that found them.
    share: float = 0.03
    repeats: int = 3
    inside: float = 2.0
    reach: Round = Round(0.15, _FIRST, widen=1.0, cap=math.inf)
    # A class has such rows if it is so many times as wide (in mean square) as its frame (twice: skew columns are then taken for such), and of
    # so many standard deviations of a shell's noise.
    spread: float = 5.0
    seen: float = 10.0
    # Their kinds (tails.FAR_KINDS) count if they are so likely together.
    likely: float = 0.5
    # A column is wide because of them if it is wider than its frame by so many standard errors.
    shown: float = 2.0
    # The standard deviation of the logarithm of a width that such a round showed.
    doubt: float = 1.0
    # Wider frames of spikes are kept if rows reach less than this part as far out of them.
    closer: float = 0.7


@dataclass(frozen=True)
class Rounds:
    """Step 3, ``rounds`` and ``frames``: the rounds of moments."""

    # The first round in the histograms' frames is clipped tightly.
    first: Round = Round(0.12, _FIRST, widen=0.8, cap=30.0)
    # The same where a column has a spike: nothing is clipped, and what it shows decides all later frames, so it is never capped (with a
    # cap of 30, one yes in a hundred of 20,000 rows: J 25 / 57 / 14 times the oracle's instead of 1.3 / 1.7 / 4, epsilon 1 / 4 / 16).
    wide: Round = Round(0.30, _FIRST, widen=1.0, cap=math.inf)
    # Tables with at most this many columns use ``looks``, others ``glances``. Homes by person (six columns, two classes, epsilon 2 / 8) are
    # worse with the latter: J 4.0 / 0.75 instead of 2.1 / 0.6; tables of seven and eight columns much better.
    few_columns: int = 6
    # Few columns: two to six looks of shares 0.12 to 0.3 tried, with first rounds of 0.08 to 0.2, on 120 of the paper's mixtures, N=1000.
    # Geometric means of J at epsilon 1 and 4: 1.34 and 0.110 with these, 1.56 and 0.128 with two of 0.3 and a first of 0.2. All of them count
    # in the posterior, so that a large one is not lost.
    looks: Looks = Looks(_again(0.20), most=4, seen=0.6, flat=math.inf, rows=0.0)
    # Many columns, some of which nearly follow from others, while the prior expects no flat direction (``prior_exponent``): noisier
    # classes count, if they are surely flat. Medians of J, before (as with few columns) and now: breast cancer (569 x 8), epsilon 1 / 4 / 16,
    # 1470 / 46 / 1.6 and 245 / 12 / 0.9. Smaller, more looks are better at epsilon 4 and 16 (0.12, six: 828 / 5.2 / 0.7), but Covertype
    # pays (20,000 rows, epsilon 4: 0.58 instead of 0.39); without ``flat`` electricity profiles do (epsilon 16: 1.74 instead of 1.27),
    # without ``rows`` Covertype's large classes do for small ones.
    glances: Looks = Looks(_again(0.25), most=3, seen=2.0, flat=0.6, rows=0.2)
    # Tables with spikes: each look makes the frame of a spike narrower if it shows nothing (spikes.held), so that four of them end a
    # hundred times too narrow (99.5 % of 10,000 rows at one place, epsilon 1: J 165 instead of 3.4).
    spiked_looks: int = 2
    # Looks that take at most this part of the budget left, because their cap is reached, go on; and at most so many rounds in all.
    cheap: float = 0.05
    most: int = 16
    # An eigenvalue below so many standard errors is not resolved; noise moves the smallest one down by so many.
    resolved: float = 3.0
    moved: float = 2.0
    # The last round. The part of the count is 0.2 (0.35 and 0.5 tried): 0.1 would be best for J, but shares need more. 80 of the paper's
    # mixtures, N=1000, epsilon 1: 0.2 and 0.35 leave shares off by 0.033 and 0.029; geometric means of J are 1.46 and 1.77.
    # With hiding = 8, noise costs twice as much where its largest eigenvalue (about sqrt(2 d) of its deviation) is half of a class's
    # variance. The paper's mixtures, N=1000, epsilon 1 / 2 / 4, means 6.0 / 2.0 / 0.30 with 0, 5.0 / 1.7 / 0.28 with 8. In the widening rounds,
    # too, it would clip what they look for (codes for missing values, epsilon 1: J 690 instead of 1.2).
    final: Round = Round(1.0, _LAST, widen=1.0, cap=math.inf, hiding=8.0)


@dataclass(frozen=True)
class Tails:
    """Step 4, ``tails``: how far out rows lie, by counts per shell."""

    # Never capped: heavy tails are a few rows of very many (t3 at epsilon 16 is five times worse with a cap of 400).
    share: float = 0.06
    # A scale that is not the bell's own enters only where it explains so many standard deviations of noise.
    entry: float = 4.5
    # The same where only a radius is chosen, for classes of so many standard deviations of a shell's noise (straight in the logarithm
    # between): a tail that is none makes a large class's ellipsoid a little too wide, one that is overlooked is clipped. 2.5 for all
    # classes costs the paper's mixtures, N=1000, epsilon 4, 6 %; 4.5 for all costs Covertype, 540,000 rows, epsilon 4, half (J 0.092
    # instead of 0.060: forty rows are half of the variance of a direction).
    radius_entry: tuple[float, float] = (4.5, 2.5)
    large: tuple[float, float] = (100.0, 3000.0)
    # The same where all that may lie beyond the clip of a class that is no bell is asked for: from believing every
    # shell to nearly the above. Upper ends of 2 and 3 tried on 60 tables of spikes: intervals of deviations cover 0.91 and 0.93.
    beyond_entry: tuple[float, float] = (0.0, 3.0)
    # After the fit, a shell (with all beyond it) is corrected by its residual if that exceeds this many standard deviations.
    sure: float = 5.0
    # The prior probability that there are no tails; with less, Gaussian classes are released worse.
    bells: float = 0.99
    # ln of how many times as wide as its frame a class's core may be: its standard deviation.
    core: float = 0.5


@dataclass(frozen=True)
class Clipping:
    """Step 6, ``clipping``: what the clip removed is added again."""

    # The standard error of what is added again, as a part of it.
    doubt: float = 0.3
    # An earlier, narrower round may have lost this part of its excess over a bell in one direction.
    uneven: float = 0.5
    # A class is expected to fit its frame: the prior standard deviation of its eigenvalues there, relative to the size that the law gives.
    expected: float = 0.5
    # Two rounds contradict one another if, along the direction in which they differ most, they do by so many standard deviations more
    # than noise alone would.
    surely: float = 4.0
    # Shells tell the part of E |u|^2 that lies beyond the last clip with noise: at most so many times as much is added again. 1 and 2 tried:
    # one class of ten columns with wrong entries, epsilon 4, is 5.6 times as far off as by the plain mechanism without a limit, else 0.6
    # and 0.8 times; Student's t, epsilon 1, has a J of 0.133 with 1, else 0.122; counts with many zeros 0.107 and 0.098, 0.078 without.
    beyond: float = 2.0


@dataclass(frozen=True)
class Prior:
    """Step 7, ``posterior``: what is assumed of classes, and what histograms say of columns."""

    # Histograms are fitted by Gaussians, so their log widths and means (in widths) are treated as at least this uncertain.
    width_sd: float = 0.25
    mean_sd: float = 0.2
    # Widths and means that the last round contradicts by more than so many standard deviations are not believed, as those of a column of
    # which a few rows lie far out.
    contradicted: float = 3.0
    # No column is much wider than the stated region (the unit ball): exp(-variance / (2 * this^2)).
    widest: float = 0.5
    # Relative error of a class's size (its mean variance) at which half of the scale-free prior is left (``_scale_free``). 0.2 and more cost
    # the paper's mixtures, N=1000, 4 % and more; less leaves electricity and Zipf rows too narrow.
    clear: float = 0.1
    # If the noise of the last second moment is below this part of the class's smallest variance, neither the prior nor earlier rounds (a
    # few percent of the information by then) make a difference, and draws are direct.
    sharp: float = 0.005
    # See ``prior_exponent`` and ``prior_floor``.
    exponent: float = 0.75
    exponent_from: int = 5
    floor: float = 4e-5
    floor_most: float = 5e-4


@dataclass(frozen=True)
class Hidden:
    """Step 8, ``mechanism``: the counts of classes whose place noise hides."""

    # A class whose expected reverse KL is above so many nats is released with a count lower by at most so many standard deviations. The
    # paper's mixtures, N=1000, epsilon 1: from 0 nats on shares are off by 0.034 and J is 1.61, from 1 on 0.031 and 1.58, from 2 on (two
    # deviations) 0.028 and 1.44, but means of J grow.
    above: float = 1.0
    deviations: float = 1.5
    # Of a class that may lie anywhere the KL is at least this, falling to nothing at a count of so many standard deviations.
    kl: float = 12.0
    surely_seen: float = 4.0


@dataclass(frozen=True)
class ErrorDraws:
    """Step 9, ``errors``: how far off a release may be. Chosen by the part of intervals that hold (eq2)'s value (bench/coverage.py)."""

    # Part of what was put back that counts as its standard error: rows are hardly ever elliptical to the letter. Tried 0, 0.1
    # and 0.2 on 36 tables of bells: means cover 0.948, 0.953, 0.969 and deviations 0.943, 0.927, 0.938.
    doubt: float = 0.1
    # A larger slope occurs only if the clip leaves nothing of a class, which is then not usable in any case.
    steepest: float = 6.0
    # Histograms show the shape of a class if it has so many times the noise of a bin: a tenth of it in one bin would be seen
    # then. A smaller one is told as one that is no bell in any column (21 instead of 30, 300 tables of spikes: deviations cover
    # 0.933 instead of 0.959); below the second number no column is usable.
    shown: float = 30.0
    seen: float = 15.0
    # They contradict the last round if bins that surely hold rows (by so many standard deviations: three are exceeded by
    # chance in one of twenty columns), and most of the class, are wider than its deviation by this factor (at the upper end of its
    # interval), or centred so many deviations away.
    sure: float = 4.0
    most: float = 0.8
    wider: float = 1.25
    away: float = 0.5
    # A column narrower than this part of a bin is not shown by it: rows elsewhere may be what its deviation comes from.
    narrow: float = 0.3
    # At least this part of what the clip removed from a class that is not Gaussian lies along one column, the rest in all directions.
    along: float = 0.7
    # Part of it that may move the mean in any direction. Tried 0, 0.35, 0.5 and 1 on tables of spikes: means cover 0.81, 0.96, 0.97, 1.00.
    anywhere: float = 0.35
    # That column is drawn by how many rows its histogram shows so many deviations out, half of their noise and a little for the
    # unseen added. 1.5 and 2.5 tried on 240 tables of spikes: means cover 0.943 and 0.963.
    out: float = 2.0
    out_noise: float = 0.5
    out_least: float = 0.01


@dataclass(frozen=True)
class PlainMoments:
    """One class only, ``plain``: the second moment in the stated ball, so that no table is told worse than by the plain mechanism."""

    # Lengths are counted first; it is asked where its noise is below ``worth`` of their squares.
    length_share: float = 0.02
    worth: float = 0.25
    asked: Round = Round(0.4, _SECOND, widen=1.0, cap=math.inf)
    # Where shells show tails and there are at most so many columns, for which James and Stein's weight gains nothing, a part of the last
    # round's budget asks once more: Pareto and Zipf counts, epsilon 4, 1.4 and 2.1 times the plain mechanism's error instead of 2.0
    # and 2.3. With four columns it would cost a quarter to a third more J (Pareto).
    columns: int = 2
    again: Round = Round(0.4, _SECOND, widen=1.0, cap=math.inf)
    # Two second moments agree if noise alone would set them farther apart once in a hundred times.
    agreeing: float = 0.99
    # For a class with tails also only if they are no farther apart, in mean square, than so many times what noise explains. 1.5, 1.7 and
    # 2 tried: two columns of Zipf counts, epsilon 1, have 1.9, 1.9 and 2.2 times the error of the plain mechanism; log-normal columns in
    # bounds ten times too wide, epsilon 1 / 4 / 16, a J of 2.5 / 0.9 / 0.36, the same, and 2.0 / 0.7 / 0.34.
    agreeing_tails: float = 1.7
    # A class has tails if 99 % of its E|u|^2 reach so many times as far as a bell's of the same size, and its shells leave so large a part
    # of its rows (root of the sum of squares, beyond noise as rare as once in a thousand times) unexplained by the best bell. Bells of one
    # to ten columns, epsilon 1 to 16: at most 2 and 0.02 (nearly flat ones 0.04; it is the first that noise raises, and the second
    # never); missing codes, log-normal and Zipf columns at least 1.3 and 0.06.
    tailed: float = 1.2
    unexplained: float = 0.05
    # The noise of the plain second moment is cheap if a release moved by all of it would be off by so many nats. 0.1, 1 and 10 tried:
    # log-normal columns (d=1) in bounds ten times too wide, epsilon 4 / 16, have a J of 1.4 / 0.34, 1.4 / 0.44 and 13 / 0.44.
    cheap: float = 0.1
    # No direction becomes narrower than this part of its variance, or of the noise if that is less.
    narrowest: float = 0.25


@dataclass(frozen=True)
class SeveralComponents:
    """Several components per class, ``components``; nothing of this is spent where one is asked for.

    Measured with an earlier, slower start of EM; the present one gave 1.8 with the chosen values. "nats": held-out log-likelihood per row of
    Covertype, 50,000 rows, epsilon 1, above the fit without privacy (one run of ``python -m bench.components covertype-50000-eps1`` each).
    """

    # Part of what the histograms leave that components take; the released classes have the rest. 0.3, 0.5, 0.7: 1.75, 1.99, 1.76 nats.
    share: float = 0.5
    # Of that: counts and means in public cells (0.05, 0.15, 0.3: 2.12, 1.99, 1.76 nats), then each of so many rounds of EM (1, 3,
    # 6: 1.41, 1.99, 1.94 nats); the last round has the rest. 256 cells instead of 64 take six times as long: 1.69 nats.
    cell_share: float = 0.05
    step_share: float = 0.08
    steps: int = 3
    cells: Shape = _CELLS
    most_cells: int = 64
    moments: Round = Round(1.0, _FIRST, widen=1.25, cap=math.inf)
    # "auto": one component per this much signal, rows of the class * mu / d^1.5 (the noise of an eigenvalue, relative to
    # a component's own width, grows as d^1.5 over its rows).
    signal: float = 30.0
    # "auto" keeps one Gaussian unless the components say that the class is farther from it, in nats, than GAIN and than
    # so many times what noise is expected to cost. On tables of bells (14 classes, one to eight columns, epsilon 1 to 4) noise
    # looked like 0.3 to 3.6 times its expected cost.
    doubt: float = 4.0
    # No eigenvalue is taken to be below this part of the last guess's.
    narrowest: float = 0.01


@dataclass(frozen=True)
class Tuning:
    """The tuned numbers of record level, step by step."""

    histograms: Histograms = Histograms()
    spikes: Spikes = Spikes()
    alike: Alike = Alike()
    far: Far = Far()
    rounds: Rounds = Rounds()
    tails: Tails = Tails()
    clipping: Clipping = Clipping()
    prior: Prior = Prior()
    hidden: Hidden = Hidden()
    intervals: ErrorDraws = ErrorDraws()
    plain: PlainMoments = PlainMoments()
    inside: SeveralComponents = SeveralComponents()


TUNING = Tuning()
