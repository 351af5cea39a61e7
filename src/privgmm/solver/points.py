"""Points as blocks of rows, what one pass over all of them finds out, and the coordinates in which they are solved for.

Every pass sees the same blocks of a fixed number of float64 rows, whatever blocks the source gives. So the answer
has the same bits however the rows are cut into blocks, and memory holds one block and not a copy of the points.
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
# Points must lie in this range, because the answer consists of their squares, which must not overflow or vanish.
_SMALLEST, _LARGEST = 1e-140, 1e140
# Squares outside this range are about to lose digits; the points are then read in another unit.
_LEAST_SQUARE, _LARGEST_SQUARE = 1e-200, 1e200
# Below this ratio of eigenvalues of X^T X a direction counts as one that no point reaches; what
# the points do reach there is still covered, see ``shape``.
_FLAT = 1e-14
# Floor of theta in ``shape``: where no point reaches, the ellipsoid stays at least this thick.
_THINNEST = 1e-12
# Products of weights and coordinates must be numbers.
_LARGEST_WEIGHT, _SMALLEST_WEIGHT = 1e150, 1e-150
# Rows, their numbers, their scores.
Scored = tuple[Floats, NDArray[np.intp], Floats]


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


@dataclass(frozen=True)
class SomePoints:
    """Some of the points, and their row numbers among all of them."""

    rows: Floats
    index: NDArray[np.intp]


@dataclass(frozen=True)
class Survey:
    """The first pass: sum_n x_n x_n^T, how many points there are, and the rows that were asked for."""

    reader: Reader
    gram: Floats
    count: int
    picked: SomePoints
    passes: int


def survey(reader: Reader, wanted: NDArray[np.intp]) -> Survey:
    """One pass for the second moments, in a unit in which they are finite and not zero.

    A row of ``wanted`` (ascending) that does not exist is left out.
    """
    gram, count, parts = np.zeros((reader.dim, reader.dim)), 0, []
    with np.errstate(over="ignore", invalid="ignore"):
        for first, block in reader:
            gram += block.T @ block
            count += len(block)
            if wanted.size:
                start, stop = np.searchsorted(wanted, (first, count))
                parts.append(block[wanted[start:stop] - first])
    if count == 0:
        raise InputError("Points must be a (N, d) array with N, d >= 1, got no rows.")
    # One NaN or infinity spoils the whole trace, so one number tells whether to look closer.
    if reader.unit == 1 and not _LEAST_SQUARE < np.trace(gram) < _LARGEST_SQUARE:
        return survey(in_float_range(reader), wanted)
    rows = np.concatenate(parts) if parts else np.empty((0, reader.dim))
    passes = 1 if reader.unit == 1 else 3
    return Survey(reader, gram, count, SomePoints(rows, wanted[: len(rows)]), passes)


def farthest(
    reader: Reader, B: Floats, count: int, limit: int, floor: float = -np.inf
) -> tuple[float, SomePoints]:
    """max_n |B^T x_n|^2 in one pass, and the up to ``limit`` points that come nearest to it.

    Points at or below ``floor`` are not worth keeping.
    """
    kept: list[Scored] = []
    buffer = np.empty((0, 0))
    worst, held, seen = 0.0, 0, 0
    for first, block in reader:
        if len(buffer) < len(block):
            buffer = np.empty((len(block), B.shape[1]))
        scores = quadratic_forms(block, B, buffer[: len(block)])
        worst, seen = max(worst, float(scores.max())), seen + len(block)
        chosen = np.flatnonzero(scores > floor)
        if chosen.size == 0 and kept:
            continue
        kept.append((block[chosen], first + chosen, scores[chosen]))
        held += chosen.size
        if held > 2 * limit:
            kept = [_top(kept, limit)]
            floor, held = float(kept[0][2].min()), limit
    if seen != count:
        raise InputError("The blocks of points must hold the same rows at every pass.")
    rows, index, _ = _top(kept, limit)
    return worst, SomePoints(rows, index)


def quadratic_forms(X: Floats, B: Floats, out: Floats | None = None) -> Floats:
    """|B^T x_n|^2 for every row x_n; ``out`` is room for the products."""
    image = np.matmul(X, B, out=out)
    image *= image
    return np.asarray(image @ np.ones(B.shape[1]))  # a product with ones sums rows fastest


def _top(kept: list[Scored], limit: int) -> Scored:
    if len(kept) == 1:
        rows, index, scores = kept[0]
    else:
        rows, index, scores = (np.concatenate(column) for column in zip(*kept, strict=True))
    if scores.size <= limit:
        return rows, index, scores
    # Sorted by row number, so that the result does not depend on how argpartition orders its output.
    chosen = np.sort(np.argpartition(scores, -limit)[-limit:])
    return rows[chosen], index[chosen], scores[chosen]


@dataclass(frozen=True)
class Whitening:
    """z = into^T x; ``weight`` = factor factor^T; no point exceeds ``rho`` along the columns of ``flat``.

    factor, inverse : (d, d) L with weight = L L^T, so that tr(weight Y) = tr(L^T Y L), and L^-1
    reached, flat : orthonormal bases, in the coordinates L^T x, of what the points span and the rest
    axes, spread : directions a in which the points are uncorrelated, and the mean of (a^T x)^2
    """

    factor: Floats
    inverse: Floats
    reached: Floats
    flat: Floats
    rho: float
    axes: Floats
    spread: Floats

    @property
    def into(self) -> Floats:
        """(d, r) matrix A with z = A^T x: from the points to the coordinates that the solver works in."""
        return self.factor @ self.reached

    def shape(self, root: Floats, trace: float) -> Floats:
        """The ellipsoid tr(root) * root of the z, in the coordinates of the points.

        Flat directions get (1 + 1/theta) rho^2: (a + b)(a + b)^T <= (1 + theta) a a^T +
        (1 + 1/theta) b b^T, so with theta = rho / trace the objective grows by a factor of about
        1 + d theta, and theta is of the order of 1e-7 or below.
        """
        if self.flat.shape[1] == 0:
            shape = trace * root
        else:
            theta = max(self.rho / trace, _THINNEST)
            shape = (1 + theta) * trace * self.reached @ root @ self.reached.T
            shape += theta * (1 + theta) * trace**2 * self.flat @ self.flat.T
        shape = self.inverse.T @ shape @ self.inverse
        return np.asarray((shape + shape.T) / 2)


def whitening(seen: Survey, weight: ArrayLike | None) -> Whitening:
    """The coordinates of a weight (identity when None) and of the points of a survey."""
    d = seen.reader.dim
    L = _weight_factor(weight, d)
    inverse = np.asarray(np.linalg.inv(L), dtype=np.float64)
    eigenvalues, U = np.linalg.eigh(L.T @ seen.gram @ L)
    spanned = eigenvalues > _FLAT * eigenvalues[-1]
    if spanned.all():
        reached, flat, rho = np.eye(d), np.empty((d, 0)), 0.0
    else:
        reached, flat = U[:, spanned], U[:, ~spanned]
        rho = float(np.sqrt(farthest(seen.reader, L @ flat, seen.count, 1)[0]))
    axes, spread = L @ U[:, spanned], eigenvalues[spanned] / seen.count
    return Whitening(L, inverse, reached, flat, rho, axes, spread)


def _weight_factor(weight: ArrayLike | None, d: int) -> Floats:
    if weight is None:
        return np.eye(d)
    try:
        W = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"The weight must be a finite symmetric {d} x {d} matrix.") from None
    with np.errstate(over="ignore", invalid="ignore"):
        symmetric = W.shape == (d, d) and np.abs(W - W.T).max() <= 1e-6 * np.abs(W).max()
    if not symmetric:  # also when an entry is not finite: no comparison with NaN holds
        raise InputError(f"The weight must be a finite symmetric {d} x {d} matrix.")
    if not _SMALLEST_WEIGHT < np.abs(W).max() < _LARGEST_WEIGHT:
        raise InputError(
            f"The weight must lie between {_SMALLEST_WEIGHT:g} and {_LARGEST_WEIGHT:g} in size; rescale it."
        )
    try:
        return np.asarray(np.linalg.cholesky((W + W.T) / 2), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError("The weight of the ellipsoid must be positive definite.") from None
