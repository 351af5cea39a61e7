"""Where rows come from: a source adds up an integer kernel over all of its rows, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.intp]

# Small enough to stay in cache for ten columns, large enough that Python's overhead vanishes.
CHUNK_ROWS = 1 << 16


class Kernel(Protocol):
    """Integer totals of one chunk of rows.

    A kernel is a frozen, picklable dataclass. Each row's contribution must be a pure function of
    that row (never of its chunk), so that totals are the same bits for any order and chunking.
    """

    def __call__(self, X: Floats, codes: Codes) -> Integers: ...


class Source(Protocol):
    """Rows (x_n, y_n) that can be passed over more than once."""

    @property
    def n_rows(self) -> int: ...

    @property
    def dim(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, in exact 64-bit integers."""
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows held in memory: X (n, d) float64 and class codes (n,) in 0..n_classes-1."""

    X: Floats
    codes: Codes
    n_classes: int
    chunk_rows: int = CHUNK_ROWS

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.codes.shape != (self.X.shape[0],):
            raise InputError("Rows and class codes must have the same length.")
        if self.codes.size and not 0 <= self.codes.min() <= self.codes.max() < self.n_classes:
            raise InputError(f"Class codes must lie in 0..{self.n_classes - 1}.")

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])

    def chunks(self) -> Iterator[tuple[Floats, Codes]]:
        for start in range(0, max(self.n_rows, 1), self.chunk_rows):
            stop = start + self.chunk_rows
            yield self.X[start:stop], self.codes[start:stop]

    def total(self, kernel: Kernel) -> Integers:
        return add_exactly(kernel(X, codes) for X, codes in self.chunks())


def add_exactly(parts: Iterator[Integers]) -> Integers:
    """Sum int64 arrays; a sum that would leave 64 bits is refused, never wrapped."""
    total = next(parts).copy()
    for part in parts:
        before = total
        total = before + part
        # Two's-complement overflow: both addends differ in sign from the result.
        if (((before ^ total) & (part ^ total)) < 0).any():
            raise InputError("The table is too large for 64-bit totals; release it in parts.")
    return total
