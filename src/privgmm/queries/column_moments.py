"""Count, sums and sums of squares of the columns, of rows clipped into stated ranges and rounded to a grid, and their sensitivity.

Proof: docs/proofs/column-moments.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.errors import InputError
from privgmm.types import Adjacency, Codes, Floats, Integers

LEVELS = 1 << 14


@dataclass(frozen=True)
class ColumnMomentsKernel:
    """(1 + 2d,) totals: count, sum of q_j, sum of q_j^2, with q_j = round(levels * u_j).

    u_j = (x_j - middle_j) / half_j runs from -1 to 1 over the stated range [lo_j, hi_j].
    """

    lo: tuple[float, ...]
    hi: tuple[float, ...]
    levels: int = LEVELS

    def __post_init__(self) -> None:
        low, high = np.array(self.lo, np.float64), np.array(self.hi, np.float64)
        # A half-width must neither overflow nor vanish, because a clipped row would then leave the range.
        half = high / 2 - low / 2
        if low.shape != high.shape or low.ndim != 1 or low.size < 1:
            raise InputError("Bounds must be as many lower as upper numbers, one per column.")
        if not (np.isfinite(half).all() and (half > 0).all()):
            raise InputError("Bounds must be finite with lo < hi in every column.")
        if not 1 <= self.levels <= LEVELS:
            raise InputError(f"The grid must have 1 to {LEVELS} levels, got {self.levels}.")

    @property
    def dim(self) -> int:
        """The number of columns."""
        return len(self.lo)

    def quantised(self, X: Floats) -> Integers:
        """(n, d) integers in -levels..levels, each row on its own; every float is accepted."""
        low, high = np.array(self.lo), np.array(self.hi)
        half, middle = high / 2 - low / 2, low / 2 + high / 2
        u = (np.clip(np.nan_to_num(X, nan=0.0), low, high) - middle) / half
        # Clipped again as integers, so that the proof of the sensitivity needs no property of the floats above.
        return np.clip(np.rint(u * self.levels).astype(np.int64), -self.levels, self.levels)

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Number of rows, sums and sums of squares of their levels."""
        q = self.quantised(X)
        count = np.array([q.shape[0]], dtype=np.int64)
        return np.concatenate([count, q.sum(axis=0), (q * q).sum(axis=0)])


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
        """Each row's own contribution, in integers."""
        return ColumnMomentsKernel(self.lo, self.hi, self.levels)

    @property
    def steps(self) -> Floats:
        """Grid units of one count, one half-range, and SQUARE_STEP half-ranges squared."""
        d, levels = len(self.lo), float(self.levels)
        return np.concatenate(
            [[1.0], np.full(d, levels), np.full(d, SQUARE_STEP * levels * levels)]
        )

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer, see ``Counting``."""
        return float(answer[0])

    def sensitivity(self, adjacency: Adjacency) -> float:
        """sqrt(1 + d (1 + 1/r^2)) for add-remove, which is exact (Proposition 2); for replace the larger of this
        and 2 sqrt(d) (Proposition 1), because a row may be dropped and then contributes zero (3)."""
        d = len(self.lo)
        largest = math.sqrt(1.0 + d * (1.0 + SQUARE_STEP**-2))
        if adjacency == "replace":
            return max(2.0 * math.sqrt(d), largest)
        if adjacency == "add-remove":
            return largest
        raise InputError(
            "At label level features are public, so column moments need no noise; "
            "fit the preprocessing to the features."
        )
