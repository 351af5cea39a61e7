"""Every tuned number of record level, by the step that uses it: what it means, and what was tried where it was chosen.

docs/tuning.md says what becomes of J = reverse + forward KL on tables of many shapes when each of them is halved and doubled
(``python -m bench.tuning``). The comments quote medians of J on the tables of ``python -m bench.tables``. None of the numbers bears on
privacy. Sizes of grids, seeds, numbers of draws and of iterations are not tuned and stand where they are used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.queries.class_moments import Shape


@dataclass(frozen=True)
class Round:
    """One round of moments: its share of what is left (of the squared mu), the shape of its noise, and a factor on the clipping radius.

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


# Shapes of rounds that look for a place (and need no sharp counts), of those that count in the end, of a second moment alone, of cells.
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

    # Share of the budget. The cap saves most of it where classes are seen with 40 standard deviations anyway.
    share: float = 0.10
    cap: float = 40.0
    # A prime: no simple fraction of a range, where a class often lies, is the end of a bin. (A narrow class there looks half a bin wide.)
    bins: int = 41
    # Narrower than this many bins, a class should be looked at again with finer ones. (One on the edge of two bins looks wider.)
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
    # Bins that surely hold rows tell a class's mean and width if they hold this part of it; so many deviations of rows may be missing there.
    most_rows: float = 0.8
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

    # A class that is too narrow for its bins with this probability is counted again with finer ones, at most this often.
    narrow: float = 0.99
    refinements: int = 3
    # A class of so many deviations of a bin's noise shows whether it lies in one place; below the second number it is thought like the others.
    shows: float = 10.0
    clearly: float = 15.0
    # Parts of the rows that two neighbouring bins hold: at an end of what was stated, to be looked at more closely; in another class with a
    # spike there, to have one too; in finer bins, of what they held before, to be no bell.
    at_an_end: float = 0.6
    alike: float = 0.5
    still: float = 0.75
    # At an end of the range a second finer look decides (one takes half a bell there for a spike); elsewhere all are made.
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
    # Where neither sum is seen, the next frame is so many times narrower if bins show (by so many deviations) rows off the spike, all within
    # this part of the range, or the sum of squares is below ``quiet`` deviations; else ``carefully``: a narrow clip hides rare far values.
    narrower: float = 3.0
    away: float = 4.0
    nearby: float = 0.25
    quiet: float = 0.7
    carefully: float = 1.5
    # Shells count where they reach so many times as far as a clip of many rows (a signal of so many) does; a scale enters by so many deviations.
    far: float = 1.5
    many: float = 100.0
    entry: float = 3.5


@dataclass(frozen=True)
class Far:
    """Step 2, ``_SoFar.widened``: rows far from all others, which shells in the first frames find."""

    # Share of the shells, at most so often, until all rows are inside so many times the usual radius; the round that reaches those rows.
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
    # A column is wide because of them if it is wider than its frame by so many standard errors; the deviation of the log width shown so.
    shown: float = 2.0
    doubt: float = 1.0
    # The same before the last round (a column falsely taken to be wide spoils it); the frame is used if noise then costs less than this part.
    last_spread: float = 2.5
    last_shown: float = 4.0
    worth: float = 0.5


@dataclass(frozen=True)
class Rounds:
    """Step 3, ``rounds`` and ``frames``: the rounds of moments."""

    # The first round in the histograms' frames is clipped tightly. Where a column has a spike nothing is clipped, and what it shows decides all
    # later frames, so it is never capped.
    first: Round = Round(0.12, _FIRST, widen=0.8, cap=30.0)
    wide: Round = Round(0.30, _FIRST, widen=1.0, cap=math.inf)
    # Tables with at most this many columns use ``looks``, others ``glances``.
    few_columns: int = 6
    # Few columns. All looks count in the posterior, so that a large one is not lost.
    looks: Looks = Looks(_again(0.20), most=4, seen=0.6, flat=math.inf, rows=0.0)
    # Many columns, some of which nearly follow from others, while the prior expects no flat direction (``prior_exponent``): noisier
    # classes count, if they are surely flat.
    glances: Looks = Looks(_again(0.25), most=3, seen=2.0, flat=0.6, rows=0.2)
    # Tables with spikes: each look makes the frame of a spike narrower if it shows nothing (spikes.held): four of them end far too narrow.
    spiked_looks: int = 2
    # Looks that take at most this part of the budget left, because their cap is reached, go on while each makes a frame so many times narrower;
    # so many in all.
    cheap: float = 0.05
    progress: float = 1.25
    most: int = 16
    # An eigenvalue below so many standard errors is not resolved; noise moves the smallest one down by so many.
    resolved: float = 3.0
    moved: float = 2.0
    # The last round: 0.2 for the count (0.1 would be best for J, but shares need more). With hiding = 8, noise costs twice as much where its
    # largest eigenvalue (about sqrt(2 d) of its deviation) is half of a class's variance.
    final: Round = Round(1.0, _LAST, widen=1.0, cap=math.inf, hiding=8.0)


@dataclass(frozen=True)
class Tails:
    """Step 4, ``tails``: how far out rows lie, by counts per shell."""

    # Never capped: heavy tails are a few rows of very many (t3 at epsilon 16 is five times worse with a cap of 400).
    share: float = 0.06
    # A scale that is not the bell's own enters only where it explains so many standard deviations of noise.
    entry: float = 4.5
    # The same where only a radius is chosen, for classes of so many standard deviations of a shell's noise (straight in the logarithm
    # between): a tail that is none makes a large class's ellipsoid a little too wide, one that is overlooked is clipped.
    radius_entry: tuple[float, float] = (4.5, 2.5)
    large: tuple[float, float] = (100.0, 3000.0)
    # The same where all that may lie beyond the clip of a class that is no bell is asked for: from believing every shell to nearly the above.
    beyond_entry: tuple[float, float] = (0.0, 3.0)
    # After the fit, a shell (with all beyond it) is corrected by its residual if that exceeds so many standard deviations.
    sure: float = 5.0
    # The prior probability that there are no tails (less spoils bells), and the deviation of ln of how wide a core is for its frame.
    bells: float = 0.99
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
    # Two rounds contradict one another if they differ along some direction by so many standard deviations more than noise alone would.
    surely: float = 4.0
    # Shells tell the part of E |u|^2 that lies beyond the last clip with noise: at most so many times as much is added again.
    beyond: float = 2.0


@dataclass(frozen=True)
class Prior:
    """Steps 2, 7 and 8, ``alike``, ``posterior`` and ``mechanism``: what is assumed of classes, also of those that noise hides."""

    # The smallest standard deviation of the classes' log widths that is assumed.
    alike: float = 0.4
    # A common shape is used if it explains this part of the deviation from a sphere in classes whose eigenvalues have a smaller error.
    explained: float = 0.5
    seen: float = 0.15
    # Histograms are fitted by Gaussians, so their log widths and means (in widths) are treated as at least this uncertain.
    width_sd: float = 0.25
    mean_sd: float = 0.2
    # Widths and means that the last round contradicts by more than so many standard deviations are not believed.
    contradicted: float = 3.0
    # No column is much wider than the unit ball: exp(-variance / (2 * this^2)).
    widest: float = 0.5
    # Relative error of a class's size (its mean variance) at which half of the scale-free prior is left (``_scale_free``).
    clear: float = 0.1
    # Below this noise of the last second moment, relative to the class's smallest variance, the prior makes no difference: draws are direct.
    sharp: float = 0.005
    # See ``prior_exponent`` and ``prior_floor``.
    exponent: float = 0.75
    exponent_from: int = 5
    floor: float = 4e-5
    floor_most: float = 5e-4
    # A class whose expected reverse KL is above so many nats is released with a count lower by at most so many standard deviations.
    hidden: float = 1.0
    deviations: float = 1.5
    # Of a class that may lie anywhere the KL is at least this, falling to nothing at a count of so many standard deviations.
    anywhere: float = 12.0
    surely_seen: float = 4.0


@dataclass(frozen=True)
class ErrorDraws:
    """Step 9, ``errors``: how far off a release may be. Chosen by the part of intervals that hold (eq2)'s value (bench/coverage.py)."""

    # Part of what was put back that counts as its standard error. A larger slope occurs only if the clip leaves nothing of an unusable class.
    doubt: float = 0.1
    steepest: float = 6.0
    # Histograms show the shape of a class of so many times the noise of a bin: a tenth of it in one bin would be seen then. A smaller one is
    # told as one that is no bell in any column; below the second number no column is usable.
    shown: float = 30.0
    seen: float = 15.0
    # They contradict the last round if bins that surely hold rows (by so many standard deviations), and most of the class, are wider than its
    # deviation by this factor (at the upper end of its interval), or centred so many deviations away.
    sure: float = 4.0
    most: float = 0.8
    wider: float = 1.25
    away: float = 0.5
    # A column narrower than this part of a bin is not shown by it: rows elsewhere may be what its deviation comes from.
    narrow: float = 0.3
    # At least this part of what the clip removed from a class that is not Gaussian lies along one column, the rest in all directions;
    # this part may move the mean in any direction.
    along: float = 0.7
    anywhere: float = 0.35
    # That column is drawn by how many rows its histogram shows so many deviations out, half of their noise and a little for the unseen added.
    out: float = 2.0
    out_noise: float = 0.5
    out_least: float = 0.01


@dataclass(frozen=True)
class PlainMoments:
    """One class only, ``plain``: the second moment in the stated ball, so that no table is told worse than by the plain mechanism."""

    # Its share is at most this, and least + more / d of d columns: of more entries it is better known how far noise alone sets them apart;
    # with less than 0.3 even the plain answer by itself would be off by twice the plain mechanism's error.
    asked: Round = Round(0.5, _SECOND, widen=1.0, cap=math.inf)
    least: float = 0.3
    more: float = 0.4
    # Of at most so many columns it is asked again, of what is left, if shells show tails or noise would set it so far from the frame so seldom.
    columns: int = 3
    again: Round = Round(0.8, _SECOND, widen=1.0, cap=math.inf)
    seldom: float = 0.2
    # Two second moments or two means agree if noise alone would set them farther apart once in a hundred times; second moments of a class
    # with tails, once in twenty.
    agreeing: float = 0.99
    agreeing_tails: float = 0.95
    # A class has tails if 99 % of its E|u|^2 reach so many times as far as a bell's of the same size, and its shells leave so large a part
    # of its rows (root of the sum of squares, beyond noise) unexplained by the best bell.
    tailed: float = 1.2
    unexplained: float = 0.05
    # The noise of the plain second moment is cheap if a release moved by all of it would be off by so many nats.
    cheap: float = 0.03
    # No direction becomes narrower than this part of its variance, or of the noise if that is less.
    narrowest: float = 0.25


@dataclass(frozen=True)
class SeveralComponents:
    """Several components per class, ``components``; nothing of this is spent where one is asked for."""

    # Part of what the histograms leave that components take; the released classes have the rest.
    share: float = 0.5
    # Of that: counts and means in public cells, then each of so many rounds of EM; the last round has the rest.
    cell_share: float = 0.05
    step_share: float = 0.08
    steps: int = 3
    cells: Shape = _CELLS
    most_cells: int = 64
    moments: Round = Round(1.0, _FIRST, widen=1.25, cap=math.inf)
    # "auto": one component per this much signal, rows of the class * mu / d^1.5 (as the noise of an eigenvalue grows).
    signal: float = 30.0
    # "auto" keeps one Gaussian unless the class seems farther from it, in nats, than GAIN and than so many times what noise should cost.
    doubt: float = 4.0
    # No eigenvalue is taken to be below this part of the last guess's.
    narrowest: float = 0.01


@dataclass(frozen=True)
class Tuning:
    """The tuned numbers of record level, step by step."""

    histograms: Histograms = Histograms()
    spikes: Spikes = Spikes()
    far: Far = Far()
    rounds: Rounds = Rounds()
    tails: Tails = Tails()
    clipping: Clipping = Clipping()
    prior: Prior = Prior()
    intervals: ErrorDraws = ErrorDraws()
    plain: PlainMoments = PlainMoments()
    inside: SeveralComponents = SeveralComponents()


TUNING = Tuning()
