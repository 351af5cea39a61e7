"""How the budget is split over the rounds: functions of public facts and earlier noisy answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.privacy.class_moments import Shape


@dataclass(frozen=True)
class Plan:
    """One round of moments: its share of what is left, the shape of its noise, its clipping.

    widen : factor on the clipping radius while the frame is still rough.
    cap : signal (rows of an average class * mu / sensitivity, over d) beyond which more budget is waste.
    """

    share: float
    shape: Shape
    widen: float
    cap: float


# Of all budget, for column histograms; tuned, like the rounds below, on synthetic mixtures.
HISTOGRAM_SHARE = 0.25
HISTOGRAM_CAP = 600.0
HISTOGRAM_BINS = 40
# A class surely too narrow for its bins is looked at again with finer ones, at most so often.
SURE = 0.99
REFINEMENTS = 4

_TUNED = Shape(math.sqrt(0.2), math.sqrt(0.5), 1.0)
FIRST = Plan(share=0.25, shape=Shape(0.5, 1.0, 1.0), widen=1.25, cap=200.0)
# Repeated while a well-seen class has a direction too narrow to be seen, at most so often.
AGAIN = Plan(share=0.15, shape=_TUNED, widen=1.1, cap=200.0)
LOOKS = 5
FINAL = Plan(share=1.0, shape=_TUNED, widen=1.0, cap=math.inf)


def capped(mu: float, rows_per_class: float | None, sensitivity: float, cap: float) -> float:
    """mu, or less where the average class would already be seen with the signal ``cap``."""
    if rows_per_class is None:
        return mu
    return min(mu, cap * sensitivity / max(rows_per_class, 1.0))


def prior_exponent(dim: int) -> float:
    """e of the correlation prior |C|^e: the share of a column's variance the others leave free stays moderate."""
    return (dim - 5) / 8


def prior_floor(dim: int) -> float:
    """kappa: smallest conditional variances, relative to the column's, that are thought of.

    Tuned. A small one makes classes whose flattest direction noise hides cheaper when they are
    nearly flat, and dearer when they are not; with many columns such a direction always is hidden.
    """
    return min(4e-5 * dim, 5e-4) * dim**2


def chain_count(dim: int) -> int:
    """Monte Carlo chains per class: twelve up to twelve columns, then fewer, as each costs d^3."""
    return max(2, min(12, round(12 * (12 / dim) ** 2)))
