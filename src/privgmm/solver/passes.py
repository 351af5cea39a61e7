"""What one pass over all points finds out: their second moments, and the farthest of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.solver.points import Reader, in_float_range
from privgmm.types import Floats

# Squares that leave this range are about to lose digits: read the points in another unit then.
_SMALLEST, _LARGEST = 1e-200, 1e200

# Rows, their numbers, their scores.
Scored = tuple[Floats, NDArray[np.intp], Floats]


@dataclass(frozen=True)
class Rows:
    """Some of the points, and their row numbers among all of them."""

    rows: Floats
    index: NDArray[np.intp]


@dataclass(frozen=True)
class Survey:
    """The first pass: sum_n x_n x_n^T, how many points there are, and the rows that were asked for."""

    reader: Reader
    gram: Floats
    count: int
    picked: Rows
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
    if reader.unit == 1 and not _SMALLEST < np.trace(gram) < _LARGEST:
        return survey(in_float_range(reader), wanted)
    rows = np.concatenate(parts) if parts else np.empty((0, reader.dim))
    passes = 1 if reader.unit == 1 else 3
    return Survey(reader, gram, count, Rows(rows, wanted[: len(rows)]), passes)


def farthest(
    reader: Reader, B: Floats, count: int, limit: int, floor: float = -np.inf
) -> tuple[float, Rows]:
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
    return worst, Rows(rows, index)


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
    # In the order of the rows, so that nothing depends on how a partition breaks ties.
    chosen = np.sort(np.argpartition(scores, -limit)[-limit:])
    return rows[chosen], index[chosen], scores[chosen]
