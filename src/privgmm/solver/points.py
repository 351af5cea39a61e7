"""Points as blocks of rows: an array, a memory map, or a source that reads them from somewhere.

Every pass sees the same blocks of a fixed number of float64 rows, whatever pieces the source gives:
so the answer has the same bits for any cutting, and memory holds one block, not a copy of the points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.errors import InputError
from privgmm.types import Floats

# One MiB of float64: a block and its product stay in the cache.
_BLOCK_ENTRIES = 1 << 17
# The answer is made of squares, which must be numbers too.
_SMALLEST, _LARGEST = 1e-140, 1e140


class Points(Protocol):
    """Points that need not fit in memory, for instance the row groups of a Parquet file."""

    def blocks(self) -> Iterable[NDArray[Any]]:
        """(m, d) arrays of any lengths m; every call starts again and gives the same rows."""
        ...


@dataclass(frozen=True)
class _ArrayPoints:
    array: NDArray[Any]

    def blocks(self) -> Iterable[NDArray[Any]]:
        return (self.array,)


@dataclass(frozen=True)
class Reader:
    """Iterates over (index of the first row, block of float64 rows / unit), one pass per iteration."""

    points: Points
    dim: int
    unit: float = 1.0

    def __iter__(self) -> Iterator[tuple[int, Floats]]:
        rows = max(_BLOCK_ENTRIES // self.dim, 1)
        buffer, held, first = np.empty((0, self.dim)), 0, 0
        for piece in self.points.blocks():
            piece = _table(piece)
            if piece.shape[1] != self.dim:
                raise InputError("All blocks of points must have the same number of columns.")
            at = 0
            while at < len(piece):
                if held == 0 and len(piece) - at >= rows:
                    yield first, self._floats(piece[at : at + rows])
                    first, at = first + rows, at + rows
                    continue
                if buffer.shape[0] == 0:
                    buffer = np.empty((rows, self.dim))
                part = piece[at : at + rows - held]
                buffer[held : held + len(part)] = part
                held, at = held + len(part), at + len(part)
                if held == rows:
                    yield first, self._floats(buffer)
                    first, held = first + rows, 0
        if held:
            yield first, self._floats(buffer[:held])

    def _floats(self, block: NDArray[Any]) -> Floats:
        rows = np.ascontiguousarray(block, dtype=np.float64)
        return rows if self.unit == 1 else rows / self.unit


def reader_of(points: ArrayLike | Points) -> Reader:
    """Read arrays where they are: no copy, neither of a memory map nor of float32 numbers."""
    source = points if callable(getattr(points, "blocks", None)) else _ArrayPoints(_table(points))
    source = cast(Points, source)
    blocks = iter(source.blocks())
    head = next(blocks, None)
    if head is None:
        raise InputError("Points must hold at least one row, but there are no blocks.")
    return Reader(source, _table(head).shape[1])


def in_float_range(reader: Reader) -> Reader:
    """The reader in a unit in which squares stay inside the float range; refuses NaN and infinity.

    The unit is a power of two, so that dividing by it changes no digit.
    """
    scale = 0.0
    for _, block in reader:
        scale = float(np.maximum(scale, np.abs(block).max()))  # maximum keeps a NaN
    if not np.isfinite(scale):
        raise InputError("Points must be finite; remove or impute the missing values first.")
    if scale == 0:
        raise InputError("All points are zero, so no ellipsoid is needed; remove this problem.")
    if not _SMALLEST < scale < _LARGEST:
        raise InputError(
            f"Points must lie between {_SMALLEST:g} and {_LARGEST:g} in size; rescale them."
        )
    return Reader(reader.points, reader.dim, float(2.0 ** np.floor(np.log2(scale))))


def _table(points: ArrayLike | Points) -> NDArray[Any]:
    try:
        array = np.asarray(points)
        if array.dtype.kind not in "fiubO":
            raise TypeError
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("Points must be a numeric (N, d) array.") from None
    if array.ndim != 2 or array.shape[1] < 1:
        raise InputError(f"Points must be a (N, d) array with N, d >= 1, got shape {array.shape}.")
    return array
