"""Sources of rows: each adds up an integer kernel over all of its rows, exactly, and knows how much each row counts.

A row counts for a public fraction in fixed point, so that a person with many rows counts once.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.types import Codes, Floats, Integers, Kernel

# For each row, which of the few different shares it has: a position in ``Shares.parts``.
Kinds = NDArray[np.unsignedinteger[Any]]
# Totals of weighted rows are kept as high * 2^30 + low, because weights of 20 bits times totals of 51 bits exceed 64 bits.
_LIMB = 30
_LOW = (1 << _LIMB) - 1
# Rows of a chunk: few enough to stay in cache for ten columns, enough to make Python's overhead negligible.
CHUNK_ROWS = 1 << 16
# Cells at a time where the kernel is called once for every different share: many more rows than there are shares.
_CELLS_AT_ONCE = 1 << 21
# Rows of at most this many bytes may be copied into another order (the same limit as for files read into memory).
_COPIED_BYTES = 1 << 28
# A map of rows that treats each row by itself.
Mapping = Callable[[Floats], Floats]
_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Shares:
    """Row n counts for parts[k] / wholes[k] of a unit, k = kinds[n]; ``n_units`` units are in the table.

    The shares of one unit's rows add up to one at most: 1/m each for a person of m rows. Rows of share
    zero count for nothing. There are few different shares, and millions of rows.
    """

    kinds: Kinds
    parts: Integers
    wholes: Integers
    n_units: int

    @staticmethod
    def each(parts: Integers, wholes: Integers, n_units: int) -> Shares:
        """The shares of rows, given row by row."""
        table, kinds = np.unique(np.stack([parts, wholes]), axis=1, return_inverse=True)
        small = np.min_scalar_type(max(table.shape[1], 1))
        return Shares(kinds.ravel().astype(small), table[0], table[1], n_units)

    def weights(self, shift: int) -> Integers:
        """(kinds,) floor(2^shift parts / wholes): persons.md (1)."""
        return (self.parts << shift) // self.wholes

    @property
    def fractions(self) -> Floats:
        """(n,) shares as floats, for computations on public features; exactly 1.0 where a row is a whole unit."""
        return np.asarray((self.parts / self.wholes)[self.kinds])


def weighted(kernel: Kernel, X: Floats, codes: Codes, kinds: Kinds, weights: Integers) -> Integers:
    """(2 m,) high and low halves of sum_n w_n kernel(x_n), w_n = weights[kinds_n]; rows of one kind are added up in one call.

    Halves of several chunks may be added as they are.
    """
    empty = kernel(X[:0], codes[:0]).ravel()
    high, low = np.zeros_like(empty), np.zeros_like(empty)
    for kind, rows in _alike(kinds):
        weight = int(weights[kind])
        if weight == 0:
            continue
        if rows.size == kinds.size:
            part = kernel(X, codes).ravel()
        else:
            part = kernel(np.take(X, rows, axis=0), codes[rows]).ravel()
        high += weight * (part >> _LIMB)
        low += weight * (part & _LOW)
        high += low >> _LIMB
        low &= _LOW
    return np.concatenate([high, low])


def rows_at_once(dim: int) -> int:
    """How many rows of ``dim`` features are added up by their shares at a time."""
    return max(_CELLS_AT_ONCE // max(dim, 1), CHUNK_ROWS)


def joined(halves: Integers) -> list[int]:
    """The exact totals that two halves stand for, as Python integers of any size."""
    high, low = np.split(halves, 2)
    return [(h << _LIMB) + rest for h, rest in zip(high.tolist(), low.tolist(), strict=True)]


def _alike(kinds: Kinds) -> Iterator[tuple[int, Integers]]:
    """The kinds that occur, each with its rows in their order. NumPy sorts kinds of one or two bytes by counting, which is fast."""
    if kinds.size == 0:
        return
    if kinds[0] == kinds[-1] and (kinds == kinds[0]).all():
        yield int(kinds[0]), np.arange(kinds.size)
        return
    order = np.argsort(kinds, kind="stable")
    values, starts = np.unique(kinds[order], return_index=True)
    yield from zip(values.tolist(), np.split(order, starts[1:]), strict=True)


class Source(Protocol):
    """Rows (x_n, y_n) that can be passed over more than once."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def n_units(self) -> int:
        """The number of protected units: persons, or rows where every row is its own person."""
        ...

    @property
    def dim(self) -> int:
        """The number of features."""
        ...

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        ...

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, in exact 64-bit integers."""
        ...

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """Sum of the kernel over all rows, each times floor(2^shift share), exact: docs/proofs/persons.md."""
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows held in memory: X (n, d) float64 and class codes (n,) in 0..n_classes-1.

    A row with a negative code is of no listed class: it contributes nothing to any total, and is
    among the features where these are public. Without ``shares`` every row is a unit of its own.
    """

    X: Floats
    codes: Codes
    n_classes: int
    chunk_rows: int = CHUNK_ROWS
    shares: Shares | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.codes.shape != (self.X.shape[0],):
            raise InputError("Rows and class codes must have the same length.")
        if self.codes.size and self.codes.max() >= self.n_classes:
            raise InputError(f"Class codes must lie in 0..{self.n_classes - 1}.")

    @cached_property
    def n_rows(self) -> int:
        """The number of rows, those of no listed class among them."""
        return int(self.X.shape[0])

    @property
    def n_units(self) -> int:
        """The number of persons, or of rows where each row is its own person."""
        return self.n_rows if self.shares is None else self.shares.n_units

    @cached_property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, a few chunks at a time if there are many."""

        def chunk_total(start: int) -> Integers:
            X = self.X[start : start + self.chunk_rows]
            codes = self.codes[start : start + self.chunk_rows]
            listed = codes >= 0
            return kernel(X, codes) if listed.all() else kernel(X[listed], codes[listed])

        starts = range(0, max(self.n_rows, 1), self.chunk_rows)
        return add_exactly(side_by_side(chunk_total, starts))

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """Sum of the kernel over all rows, each times its weight."""
        if self.shares is None:
            return scaled(self.total(kernel), shift)
        rows, weights = self._by_share, self.shares.weights(shift)
        # Where rows were sorted by share a chunk has one share, so chunks may be small; otherwise it has many.
        step = self.chunk_rows if rows[0] is not self.X else rows_at_once(self.dim)

        def chunk_total(start: int) -> Integers:
            part = slice(start, start + step)
            X, codes, kinds = rows[0][part], rows[1][part], rows[2][part]
            listed = codes >= 0
            if not listed.all():
                X, codes, kinds = X[listed], codes[listed], kinds[listed]
            return weighted(kernel, X, codes, kinds, weights)

        return joined(add_exactly(side_by_side(chunk_total, range(0, max(self.n_rows, 1), step))))

    @cached_property
    def _by_share(self) -> tuple[Floats, Codes, Kinds]:
        """Rows, codes and kinds. Where a copy is affordable rows are sorted by share, which pays because passes are many."""
        assert self.shares is not None
        kinds = self.shares.kinds
        if self.X.nbytes > _COPIED_BYTES:
            return self.X, self.codes, kinds
        order = np.argsort(kinds, kind="stable")
        return np.take(self.X, order, axis=0), self.codes[order], kinds[order]


def scaled(totals: Integers, shift: int) -> list[int]:
    """Totals of rows with share one, in units of 2^-shift."""
    return [total << shift for total in totals.ravel().tolist()]


@dataclass(frozen=True, eq=False)
class MappedKernel:
    """A kernel applied to mapped rows. A row's contribution depends on that row alone if this holds for map and kernel."""

    kernel: Kernel
    mapping: Mapping

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Integers that these rows add to the total."""
        return self.kernel(self.mapping(X), codes)


@dataclass(frozen=True, eq=False)
class SourceAround:
    """The base of sources around another ``source``, with as many rows, units, features and classes."""

    source: Source

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    @property
    def n_units(self) -> int:
        """The number of persons, or of rows where each row is its own person."""
        return self.source.n_units

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.source.dim

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.source.n_classes


@dataclass(frozen=True, eq=False)
class MappedSource(SourceAround):
    """The rows of ``source`` in other coordinates, e.g. ``Region.to_unit``; nothing is copied or cached.

    The map must treat each row by itself, and it must be picklable (a bound method of a frozen dataclass is),
    because a distributed source sends the map to the rows and not the rows to the map.
    """

    mapping: Mapping

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all mapped rows."""
        return self.source.total(MappedKernel(kernel, self.mapping))

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """Sum of the kernel over all rows, each times its weight."""
        return self.source.fixed_point(MappedKernel(kernel, self.mapping), shift)


def side_by_side(
    function: Callable[[_Part], _Result], parts: Iterable[_Part], threads: int | None = None
) -> Iterator[_Result]:
    """The function of every part, in their order, computed by as many threads as there are cores."""
    waiting = list(parts)
    workers = min(_cores() if threads is None else threads, len(waiting))
    if workers <= 1:
        yield from map(function, waiting)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        # Only a few jobs run ahead, so that results do not pile up if they are consumed more slowly than computed.
        jobs: deque[Future[_Result]] = deque()
        for part in waiting:
            if len(jobs) == 2 * workers:
                yield jobs.popleft().result()
            jobs.append(pool.submit(function, part))
        while jobs:
            yield jobs.popleft().result()
    finally:
        # If one part failed, the others are no longer needed.
        pool.shutdown(wait=True, cancel_futures=True)


def _cores() -> int:
    # A container may own fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
