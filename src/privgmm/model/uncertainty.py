"""How far the numbers of a mixture may be from those of (eq2): standard errors, 95 % intervals, and which columns are usable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privgmm.types import Flags, Floats

# The kinds of numbers that have errors, in the order in which they are written.
KINDS = ("weights", "means", "deviations", "correlations")


class Interval(NamedTuple):
    """The ends of intervals, arrays of one shape: each entry's interval holds the value of (eq2) in 95 of 100 releases."""

    low: Floats
    high: Floats

    def holds(self, values: Floats) -> Flags:
        """Entries whose value lies between the ends, ends included."""
        return np.asarray((self.low <= values) & (values <= self.high))


@dataclass(frozen=True, eq=False)
class Intervals:
    """One interval each for weights (K,), means (K, d), deviations (K, d) and correlations (K, d, d)."""

    weights: Interval
    means: Interval
    deviations: Interval
    correlations: Interval


@dataclass(frozen=True, eq=False)
class Errors:
    """Standard errors of a release, from noise and clipping, and the intervals that belong to them.

    They are distances from what (eq2) gives on this very table, not from the population that it was drawn from, and are
    computed from the noisy answers alone, so that they cost no budget.

    weights : (K,); means, deviations : (K, d); correlations : (K, d, d) standard errors
    intervals : 95 % intervals of the same kinds; not symmetric near a bound such as zero
    usable_columns : (K, d) whether a column of a class can be used
    """

    weights: Floats
    means: Floats
    deviations: Floats
    correlations: Floats
    intervals: Intervals
    usable_columns: Flags

    @property
    def usable(self) -> Flags:
        """(K,) whether a class can be used, in every column."""
        return np.asarray(self.usable_columns.all(axis=1))

    def moved(self, scale: Floats, centre: Floats) -> Errors:
        """The errors of columns x * scale + centre, both (d,), scale positive."""
        at, i = np.asarray(scale, dtype=np.float64), self.intervals
        return Errors(
            self.weights,
            self.means * at,
            self.deviations * at,
            self.correlations,
            Intervals(
                i.weights,
                Interval(i.means.low * at + centre, i.means.high * at + centre),
                Interval(i.deviations.low * at, i.deviations.high * at),
                i.correlations,
            ),
            self.usable_columns,
        )


def split(covariances: Floats) -> tuple[Floats, Floats]:
    """Deviations (..., d) and correlations (..., d, d) of covariances (..., d, d).

    A column without spread (or less than none, in a draw of noise) has deviation 0, and correlation 0 with the others.
    """
    deviations = np.sqrt(np.maximum(np.diagonal(covariances, axis1=-2, axis2=-1), 0.0))
    scale = deviations[..., :, None] * deviations[..., None, :]
    correlations = np.divide(covariances, scale, out=np.zeros_like(covariances), where=scale > 0)
    eye = np.eye(covariances.shape[-1], dtype=bool)
    return deviations, np.where(eye, 1.0, np.clip(correlations, -1.0, 1.0))
