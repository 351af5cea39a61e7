"""Sensitivity of class counts and column histograms. Proof: docs/proofs/marginal-counts.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.privacy.query import Adjacency
from privgmm.statistics.marginal_counts import MarginalCounts
from privgmm.statistics.source import Floats


@dataclass(frozen=True, eq=False)
class MarginalCountsQuery:
    """Class counts and, per class and column, a histogram; every total has the same noise."""

    kernel: MarginalCounts
    name: str = "class counts and column histograms"

    @property
    def steps(self) -> Floats:
        n_classes, d = self.kernel.low.shape
        return np.ones(n_classes * (1 + d * self.kernel.n_bins))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """A row is d + 1 ones, all in the block of its class: sqrt(d+1), or sqrt(2(d+1)) moved."""
        ones = 1 + self.kernel.low.shape[1]
        return math.sqrt(ones if adjacency == "add-remove" else 2 * ones)
