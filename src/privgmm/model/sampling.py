"""Draw rows of a mixture nearly as fast as normal numbers can be generated: class by class, in blocks that fit into the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from privgmm.checks import checked_seed
from privgmm.types import Codes, Floats

# A block of normals, its product and its rows stay in the second-level cache together.
_BLOCK_BYTES = 1 << 20
# Up to this many classes, one scan per class is faster than sorting.
_FEW = 8
# Up to this many classes, counting the edges below a number is faster than a binary search, in blocks of this many rows.
_MANY = 100
_COUNT_ROWS = 1 << 14


class Weighted(Protocol):
    """Anything with a weight for each of K classes."""

    @property
    def weights(self) -> Floats:
        """(K,) on the simplex."""
        ...


def generator(seed: object = None) -> np.random.Generator:
    """NumPy's generator of a seed; a generator is taken as it is."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(checked_seed(seed))


def draw_codes(weights: Floats, n: int, rng: np.random.Generator) -> Codes:
    """(n,) independent class codes with these weights; a class of weight zero is never drawn."""
    edges = np.cumsum(weights / weights.sum())
    # Rounding may leave the last cumulative weight below one; a draw above it belongs to the last class of positive weight.
    last = int(np.flatnonzero(weights > 0)[-1])
    u = rng.random(n)
    if last > _MANY:
        return np.searchsorted(edges[:last], u, side="right")
    codes = np.empty(n, dtype=np.intp)
    for start in range(0, n, _COUNT_ROWS):
        part = u[start : start + _COUNT_ROWS]
        passed = np.zeros(part.size, dtype=np.uint8)
        for edge in edges[:last]:
            passed += part >= edge
        codes[start : start + _COUNT_ROWS] = passed
    return codes


def balanced_codes(n_classes: int, n: int, rng: np.random.Generator) -> Codes:
    """(n_classes * n,) codes, n of every class, in random order."""
    # Narrow integers are shuffled, because they take an eighth of the memory.
    codes = np.repeat(np.arange(n_classes, dtype=np.min_scalar_type(n_classes)), n)
    rng.shuffle(codes)
    return codes.astype(np.intp)


def class_codes(mixture: Weighted, n: int, per_class: bool, rng: np.random.Generator) -> Codes:
    """(n,) codes by weight; with ``per_class`` n of every class."""
    if per_class:
        return balanced_codes(mixture.weights.size, n, rng)
    return draw_codes(mixture.weights, n, rng)


def draw_rows(means: Floats, cholesky: Floats, codes: Codes, rng: np.random.Generator) -> Floats:
    """(n, d) rows x_i = mu_k + L_k z_i with k = codes[i] and z_i standard normal."""
    n_classes, dim = means.shape
    # In one dimension no matrix product is needed, so rows need not be grouped by class.
    if dim == 1:
        x = rng.standard_normal(codes.size)
        x *= np.take(cholesky.ravel(), codes)
        x += np.take(means.ravel(), codes)
        return x.reshape(-1, 1)
    X = np.empty((codes.size, dim))
    factors = np.ascontiguousarray(cholesky.transpose(0, 2, 1))
    size = max(1, _BLOCK_BYTES // (8 * dim))
    normals = np.empty((min(size, codes.size), dim))
    products = np.empty_like(normals)
    for start in range(0, codes.size, size):
        block = codes[start : start + size]
        z, grouped = normals[: block.size], products[: block.size]
        rng.standard_normal(out=z)
        # The z are exchangeable, so each class may take the next contiguous run of them: one product per
        # class, and then a single gather moves every product to the row of its code.
        place = np.empty(block.size, dtype=np.intp)
        stop = 0
        for k, members in _members(block, n_classes):
            run = slice(stop, stop + members.size)
            np.matmul(z[run], factors[k], out=grouped[run])
            place[members] = np.arange(run.start, run.stop)
            stop = run.stop
        rows = X[start : start + block.size]
        np.take(grouped, place, axis=0, out=rows, mode="clip")
        rows += np.take(means, block, axis=0)
    return X


def _members(codes: Codes, n_classes: int) -> Iterator[tuple[int, Codes]]:
    """For every class that occurs, the positions that carry it."""
    if n_classes <= _FEW:
        yield from ((k, np.flatnonzero(codes == k)) for k in range(n_classes))
        return
    small = codes.astype(np.min_scalar_type(n_classes))
    order = np.argsort(small, kind="stable")  # radix sort for narrow integers
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    for k in np.flatnonzero(np.diff(ends, prepend=0)):
        yield int(k), order[ends[k - 1] if k else 0 : ends[k]]
