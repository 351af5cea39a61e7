"""The budget shares, noise shapes and repetitions of the rounds of record level: what each means, and which table justified it.

Thresholds and grids that belong to one step (about a hundred, most of them set by hand) stand at the top of its file.

The comments quote medians of J = reverse + forward KL on the tables of ``python -m bench.tables`` (16 to 24 releases
of the paper's mixtures, two or three of each other table); values were tried by hand over the ranges named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from privgmm.queries.class_moments import Shape

# Tables with at most this many columns use ``looks``, others ``glances``. Homes by person (six columns, two classes, epsilon 2 / 8) are
# worse with the latter: J 4.0 / 0.75 instead of 2.1 / 0.6; tables of seven and eight columns much better.
FEW_COLUMNS = 6


@dataclass(frozen=True)
class Round:
    """One round of moments: its share of what is left, the shape of its noise, its clipping.

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


def _again(share: float) -> Round:
    return Round(share, Shape(math.sqrt(0.2), math.sqrt(0.5), 1.0), widen=1.1, cap=60.0)


@dataclass(frozen=True)
class Tuning:
    """The numbers of record level; shares are of the squared mu that is left when the step begins."""

    # Column histograms: 0.10, 0.20 and 0.28 tried; N=1000, epsilon 1 does not mind, epsilon 4 is better with less. The cap saves most
    # of it where classes are seen with 40 standard deviations anyway (20 to 600 tried; N=10,000, epsilon 0.5: 20 is too few).
    histogram_share: float = 0.10
    histogram_cap: float = 40.0
    # A prime: no simple fraction of a range, where a class often lies, is the end of a bin. (40: a narrow class in the middle of the range
    # looks half a bin wide, and is released so, at any epsilon.)
    histogram_bins: int = 41
    # A class that is too narrow for its bins with this probability (0.9 is no better) is counted again with finer bins, at most this often
    # (spikes.py). With one repetition some classes of Student's t, in a stated ball a hundred times as wide, are taken for spikes.
    sure: float = 0.99
    refinements: int = 3

    # The first round in the histograms' frames is clipped tightly (0.8 to 1.25 tried: N=1000, epsilon 1); its share
    # is a part of what ``looks`` was chosen with.
    first: Round = field(default=Round(0.12, Shape(0.5, 1.0, 1.0), widen=0.8, cap=30.0))
    # The same where a column has a spike: nothing is clipped, and what it shows decides all later frames, so it is never capped (with a
    # cap of 30, one yes in a hundred of 20,000 rows: J 25 / 57 / 14 times the oracle's instead of 1.3 / 1.7 / 4, epsilon 1 / 4 / 16). Shares 0.2 to 0.4
    # tried: no clear difference.
    wide: Round = field(default=Round(0.30, Shape(0.5, 1.0, 1.0), widen=1.0, cap=math.inf))
    # Few columns: two to six looks of shares 0.12 to 0.3 tried, with first rounds of 0.08 to 0.2, on 120 of the paper's mixtures, N=1000. Geometric
    # means of J at epsilon 1 and 4: 1.34 and 0.110 with these, 1.56 and 0.128 with two of 0.3 and a first of 0.2; at epsilon 4 six of 0.2
    # give 0.111, three of 0.2 0.112, four of 0.15 0.117, five of 0.12 0.114. All of them count in the posterior, so that a large one is not
    # lost. Noise up to 0.6 and 1.2 makes no difference.
    looks: Looks = field(default=Looks(_again(0.20), most=4, seen=0.6, flat=math.inf, rows=0.0))
    # Many columns, some of which nearly follow from others, while the prior expects no flat direction (``prior_exponent``): noisier
    # classes count, if they are surely flat. Shares 0.12 to 0.3, two to six looks, noise up to 0.6, 1.2 and 2, flat 0.3 to
    # 1 tried. Medians of J, before (as with few columns) and now: breast cancer (569 x 8), epsilon 1 / 4 / 16, 1470 / 46 / 1.6
    # and 245 / 12 / 0.9; two factors in ten columns 17 / 0.40 / 0.011 and 9.7 / 0.17 / 0.010 (a like table). Smaller, more looks are
    # better at epsilon 4 and 16 (0.12, six: 828 / 5.2 / 0.7), but Covertype pays (20,000 rows, epsilon 4: 0.58 instead of 0.39); without
    # ``flat`` electricity profiles do (epsilon 16: 1.74 instead of 1.27), without ``rows`` Covertype's large classes do for small ones.
    glances: Looks = field(default=Looks(_again(0.25), most=3, seen=2.0, flat=0.6, rows=0.2))
    # Tables with spikes: each look makes the frame of a spike narrower if it shows nothing (spikes.held), so that four of them end a
    # hundred times too narrow (99.5 % of 10,000 rows at one place, epsilon 1: J 165 instead of 3.4).
    spiked_looks: int = 2
    # The last round. The part of the count is 0.2 (0.35 and 0.5 tried): 0.1 would be best for J, but shares need more. 80 of the paper's mixtures,
    # N=1000, epsilon 1: 0.2 and 0.35 leave shares off by 0.033 and 0.029; geometric means of J are 1.46 and 1.77.
    # With hiding = 8, noise costs twice as much where its largest eigenvalue (about sqrt(2 d) of its deviation) is half of a class's
    # variance. 0, 1, 2, 3 and 8 tried: the paper's mixtures, N=1000, epsilon 1 / 2 / 4, means 6.0 / 2.0 / 0.30 with 0, 5.0 / 1.7 / 0.28
    # with 3 and with 8; breast cancer, epsilon 4, 11.8, 10.0 and 9.4 with 0, 3 and 8. In the widening rounds, too, it would clip what they look
    # for (codes for missing values, epsilon 1: J 690 instead of 1.2).
    final: Round = field(
        default=Round(
            1.0, Shape(math.sqrt(0.2), math.sqrt(0.5), 1.0), widen=1.0, cap=math.inf, hiding=8.0
        )
    )

    # Counts per shell before the last round. Never capped: heavy tails are a few rows of very many (t3 at
    # epsilon 16 is five times worse with a cap of 400). A share of 0.03 is 1 % better on the paper's mixtures, N=1000, epsilon 4.
    radial_share: float = 0.06
    # The same in the first frames, at most so often, where rows lie far out of what the histograms told; until all are inside so many
    # times the usual radius. Not tuned; 0.15 of the budget for the round that reaches those rows shows them by more standard deviations than
    # the shells that found them.
    early_share: float = 0.03
    widenings: int = 3
    inside: float = 2.0
    reach: Round = field(default=Round(0.15, Shape(0.5, 1.0, 1.0), widen=1.0, cap=math.inf))

    # One class only: the second moment in the stated ball, so that no table is told worse than by the plain Gaussian mechanism
    # (``python -m bench.second_moments``). Lengths are counted first; it is asked where its noise is below ``plain_worth`` of their squares (up to
    # 0.6 with smaller shares tried: no ratio below two of those above, and bells in bounds 30 times too wide have up to twice their J).
    # Where shells show tails and there are at most so many columns, for which James and Stein's weight gains nothing, a part of the last
    # round's budget asks once more: Pareto and Zipf counts, epsilon 4, 1.4 and 2.1 times the plain mechanism's error instead of 2.0
    # and 2.3. With four columns it would cost a quarter to a third more J (Pareto).
    length_share: float = 0.02
    plain_worth: float = 0.25
    plain: Round = field(default=Round(0.4, Shape(0.1, 0.3, 1.0), widen=1.0, cap=math.inf))
    plain_columns: int = 2
    plain_again: Round = field(default=Round(0.4, Shape(0.1, 0.3, 1.0), widen=1.0, cap=math.inf))

    # A class whose place noise hides (its expected reverse KL is above so many nats) is released with a count lower by at
    # most so many standard deviations. The paper's mixtures, N=1000, epsilon 1: from 0 nats on shares are off by 0.034 and J is
    # 1.61, from 1 on 0.031 and 1.58, from 2 on (two deviations) 0.028 and 1.44, but means of J grow.
    hidden_from: float = 1.0
    hidden_deviations: float = 1.5

    # --- several components per class (components.py); nothing of this is spent where one is asked for ---
    # Measured with an earlier, slower start of EM; the present one gave 1.8 with the chosen values.
    # "nats" below: held-out log-likelihood per row of Covertype, 50,000 rows, epsilon 1, above the fit without privacy (one run of
    # ``python -m bench.components covertype-50000-eps1`` each).
    # Part of what the histograms leave that components take; the released classes have the rest. Tried 0.3, 0.5, 0.7:
    # 1.75, 1.99, 1.76 nats.
    component_share: float = 0.5
    # Of that: counts and means in public cells (0.05, 0.15, 0.3: 2.12, 1.99, 1.76 nats), then each of so many rounds of EM (1, 3,
    # 6: 1.41, 1.99, 1.94 nats); the last round has the rest. 256 cells instead of 64 take six times as long: 1.69 nats.
    component_cell_share: float = 0.05
    component_step_share: float = 0.08
    component_steps: int = 3
    component_cells: Shape = field(default=Shape(1.0, 0.5, 0.05))
    most_cells: int = 64
    component_round: Round = field(
        default=Round(1.0, Shape(0.5, 1.0, 1.0), widen=1.25, cap=math.inf)
    )
    # "auto": one component per this much signal, rows of the class * mu / d^1.5 (the noise of an eigenvalue, relative to
    # a component's own width, grows as d^1.5 over its rows).
    component_signal: float = 30.0
    # "auto" keeps one Gaussian unless the components say that the class is farther from it, in nats, than GAIN and than
    # so many times what noise is expected to cost. On tables of bells (14 classes, one to eight columns, epsilon 1 to 4) noise
    # looked like 0.3 to 3.6 times its expected cost.
    component_doubt: float = 4.0
    # No eigenvalue is taken to be below this part of the last guess's.
    narrowest_component: float = 0.01


TUNING = Tuning()


def capped(mu: float, rows_per_class: float | None, sensitivity: float, cap: float) -> float:
    """mu, or less where a typical class would already be seen with the signal ``cap``."""
    if rows_per_class is None:
        return mu
    return min(mu, cap * sensitivity / max(rows_per_class, 1.0))


def prior_exponent(dim: int) -> float:
    """e of the correlation prior |C|^e: the share of a column's variance the others leave free stays moderate.

    With few columns all correlation matrices are alike likely (-0.25, 0 and 0.25 tried at d = 3). With many, noise makes flat
    directions where there are none (electricity profiles, d = 12, epsilon 16: J 2.3, 1.8, 1.6, 1.4 with e = 1.2, 2.5, 4, 6); classes that are
    flat pay for it (invented ones of two factors, d = 10, epsilon 2: J 0.10, 0.10, 0.16 with e = 0.6, 2, 4).
    """
    return 0.75 * max(dim - 5, 0)


def prior_floor(dim: int) -> float:
    """kappa: the smallest conditional variance, relative to the column's, that the prior allows for.

    A small kappa makes the release better for classes that are nearly flat in a direction that noise hides, and worse
    for classes that are not; with many columns some direction is always hidden.
    """
    return min(4e-5 * dim, 5e-4) * dim**2


def chain_count(dim: int) -> int:
    """Monte Carlo chains per class: twelve up to twelve columns, then fewer, as each costs d^3."""
    return max(2, min(12, round(12 * (12 / dim) ** 2)))
