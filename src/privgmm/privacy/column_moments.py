"""Private count, means and variances of columns: the query and its proven sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.privacy.query import Adjacency
from privgmm.statistics.column_moments import LEVELS, ColumnMomentsKernel

# Noise on squares relative to noise on values, in units of the range. Any r with
# r^2 >= 10 sqrt(5) - 22 = 0.3607 makes the squares free under replacement; (5/8)^2 = 0.3906.
SQUARE_STEP = 0.625


@dataclass(frozen=True)
class ColumnMoments:
    """T(D) = (count, sums of q_j, sums of q_j^2); proof in docs/proofs/column-moments.md."""

    lo: tuple[float, ...]
    hi: tuple[float, ...]
    levels: int = LEVELS
    name: str = "column means and variances in the stated ranges"

    @property
    def kernel(self) -> ColumnMomentsKernel:
        return ColumnMomentsKernel(self.lo, self.hi, self.levels)

    @property
    def steps(self) -> NDArray[np.float64]:
        """Grid units of one count, one half-range, and SQUARE_STEP half-ranges squared."""
        d, levels = len(self.lo), float(self.levels)
        return np.concatenate(
            [[1.0], np.full(d, levels), np.full(d, SQUARE_STEP * levels * levels)]
        )

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Exact: 2 sqrt(d) for replace, sqrt(1 + d (1 + 1/r^2)) for add-remove (Propositions 1, 2)."""
        d = len(self.lo)
        if adjacency == "replace":
            return 2.0 * math.sqrt(d)
        if adjacency == "add-remove":
            return math.sqrt(1.0 + d * (1.0 + SQUARE_STEP**-2))
        raise InputError(
            "At label level features are public, so column moments need no noise; "
            "fit the preprocessing to the features."
        )
