"""The count of each class and one histogram per class and column, and their sensitivity.

Proof: docs/proofs/marginal-counts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.types import Adjacency, Codes, Floats, Integers


@dataclass(frozen=True, eq=False)
class MarginalCounts:
    """Class counts, then for each class and column the counts of ``n_bins`` equal bins.

    Parameters
    ----------
    low, width : (K, d) arrays; bin b of column j of class k is [low + b width, low + (b+1) width).
        Values beyond the first or last bin count in it, so every row fills one bin per column.
    """

    low: Floats
    width: Floats
    n_bins: int

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """(K + K d n_bins,) totals."""
        n_classes, d = self.low.shape
        counts = np.bincount(codes, minlength=n_classes)
        tables = np.empty((d, n_classes * self.n_bins), dtype=np.int64)
        for j in range(d):
            with np.errstate(over="ignore", invalid="ignore"):
                place = np.floor((X[:, j] - self.low[codes, j]) / self.width[codes, j])
            bins = np.clip(np.nan_to_num(place), 0, self.n_bins - 1).astype(np.intp)
            tables[j] = np.bincount(codes * self.n_bins + bins, minlength=n_classes * self.n_bins)
        by_class = tables.reshape(d, n_classes, self.n_bins).transpose(1, 0, 2)
        return np.concatenate([counts.astype(np.int64), by_class.ravel()])


@dataclass(frozen=True, eq=False)
class MarginalCountsQuery:
    """Class counts and, per class and column, a histogram; every total has the same noise."""

    kernel: MarginalCounts
    name: str = "class counts and column histograms"

    @property
    def steps(self) -> Floats:
        """One count is one unit of noise, in every bin."""
        n_classes, d = self.kernel.low.shape
        return np.ones(n_classes * (1 + d * self.kernel.n_bins))

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer, see ``Counting``."""
        return float(answer[: self.kernel.low.shape[0]].sum())

    def sensitivity(self, adjacency: Adjacency) -> float:
        """sqrt(d+1) if a row is added or removed, because it adds d + 1 ones; sqrt(2(d+1)) if a row is replaced.

        A dropped row adds zeros: a change to or from it is sqrt(d+1), which is no larger.
        """
        ones = 1 + self.kernel.low.shape[1]
        return math.sqrt(ones if adjacency == "add-remove" else 2 * ones)
