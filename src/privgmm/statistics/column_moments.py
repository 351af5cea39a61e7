"""Count, sums and sums of squares per column, of rows clipped into stated ranges and rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.errors import InputError
from privgmm.statistics.source import Codes, Floats, Integers

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
        # A half-width must not overflow or vanish, or a clipped row would not stay in the range.
        half = high / 2 - low / 2
        if low.shape != high.shape or low.ndim != 1 or low.size < 1:
            raise InputError("Bounds must be as many lower as upper numbers, one per column.")
        if not (np.isfinite(half).all() and (half > 0).all()):
            raise InputError("Bounds must be finite with lo < hi in every column.")
        if not 1 <= self.levels <= LEVELS:
            raise InputError(f"The grid must have 1 to {LEVELS} levels, got {self.levels}.")

    @property
    def dim(self) -> int:
        return len(self.lo)

    def quantised(self, X: Floats) -> Integers:
        """(n, d) integers in -levels..levels, each row on its own; every float is accepted."""
        low, high = np.array(self.lo), np.array(self.hi)
        half, middle = high / 2 - low / 2, low / 2 + high / 2
        u = (np.clip(np.nan_to_num(X, nan=0.0), low, high) - middle) / half
        # Clipped again as integers: the sensitivity proof needs no property of the floats above.
        return np.clip(np.rint(u * self.levels).astype(np.int64), -self.levels, self.levels)

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        q = self.quantised(X)
        count = np.array([q.shape[0]], dtype=np.int64)
        return np.concatenate([count, q.sum(axis=0), (q * q).sum(axis=0)])
