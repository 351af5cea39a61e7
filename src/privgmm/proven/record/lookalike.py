"""Where EM starts: public cells, and a mixture fitted to rows that look like their noisy counts.

Nothing here sees private rows: cells are fixed in advance, and all else is made of noisy answers.
Coordinates are those of the pooled frame, in which all rows together have mean 0 and covariance I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from privgmm.model.mixture import Mixture
from privgmm.proven.mixtures import Fitted, Parts, fitted, merged, merged_down, polished
from privgmm.types import Floats

if TYPE_CHECKING:
    # ``record`` imports this module for its components.
    from privgmm.proven.record.frames import Moments

_SEED = 20240502
_SPREAD = 1.5  # variance of the cells' centres: where the rows are, and a little beyond
# The average cell holds this many standard deviations of its noise, as far as these bounds on the number of cells allow.
_SEEN = 6.0
_LEAST_PER_CLASS, _MOST_CELLS = 4, 512
# Public points that describe the shape of the cells, rows made from them, and the fewest rows for each class.
_POINTS = 1 << 15
_ROWS, _ROWS_PER_CLASS = 6000, 20
# Rows drawn from a rich mixture, enough to contain also rows far out, one in a thousand.
_DRAWN = 20_000
# A mixture is also sought from so many components more than classes, unless there are many classes.
_MORE, _FEW = 10, 40


@dataclass(frozen=True, eq=False)
class Cells:
    """centres (M, d), widths (M,) (root mean square per axis), and public points with their cell."""

    centres: Floats
    widths: Floats
    points: Floats
    cell: NDArray[np.intp]


def public_cells(dim: int, n_classes: int, signal: float, most: int = _MOST_CELLS) -> Cells:
    """Cells around low-discrepancy points; ``signal`` is all rows, in standard deviations of a cell's count."""
    size = max(min(signal / _SEEN, most), _LEAST_PER_CLASS * n_classes)
    # Imported here: they take half a second, and most releases have no cells.
    from scipy.spatial import cKDTree
    from scipy.stats import qmc

    normal = qmc.MultivariateNormalQMC(np.zeros(dim), _SPREAD * np.eye(dim), rng=_SEED)
    centres = normal.random(2 ** math.ceil(math.log2(size)))
    rng = np.random.default_rng(_SEED)
    points = math.sqrt(_SPREAD) * rng.standard_normal((_POINTS, dim))
    # Every cell has its centre as a point, however few others fall into it.
    points = np.concatenate([centres, points])
    cell = np.asarray(cKDTree(centres).query(points)[1])
    return Cells(centres, _widths(points, cell, centres), points, cell)


def lookalike(cells: Cells, answer: Moments, n_classes: int) -> Floats:
    """Rows that fill the cells as their noisy counts and means say."""
    # Below two standard deviations of noise a cell counts as empty.
    count = np.where(answer.count > 2 * answer.count_sd, answer.count, 0.0)
    if not count.any():
        count = np.maximum(answer.count, 1.0)
    # Posterior mean of the cell's own mean, a priori N(0, I) in the cell's coordinates.
    n = np.maximum(count, 1.0)
    inside = answer.total * (n / (n * n + answer.total_sd**2))[:, None]
    at = cells.centres + cells.widths[:, None] * inside
    rng = np.random.default_rng(_SEED)
    size = max(_ROWS, _ROWS_PER_CLASS * n_classes)
    cell = rng.choice(count.size, size, p=count / count.sum())
    # A public point of the same cell, any of them equally likely. Cells are filled evenly: a mixture that is too
    # wide is soon narrowed by EM, while one that is too narrow loses its rows.
    order, members = np.argsort(cells.cell, kind="stable"), np.bincount(cells.cell)
    first = np.cumsum(members) - members
    point = order[first[cell] + rng.integers(0, members[cell])]
    return np.asarray(at[cell] + cells.points[point] - cells.centres[cell])


def start_mixture(X: Floats, n_classes: int) -> Parts:
    """The likelier of two mixtures: from k-means, and from many components down."""
    with threadpool_limits(limits=1):
        found = [fitted(X, n_classes, 3, _SEED)]
        if n_classes <= _FEW:
            only = range(n_classes, n_classes + 1)
            top = n_classes + _MORE
            found.append(merged_down(X, top, "kmeans", only, _SEED, thorough=False))
    return min(found, key=lambda one: one.bic).parts


def rich_mixture(X: Floats, size: int) -> Parts:
    """A mixture with so many components that one start of EM is as good as another."""
    with threadpool_limits(limits=1):
        return fitted(X, size, 1, _SEED).parts


def fewer(parts: Parts, n_classes: int) -> Parts:
    """The mixture of ``n_classes`` components that is likeliest for rows drawn from a richer one.

    From two starts: k-means, and the richer one's components joined.
    """
    weights, means, covariances = parts
    # In coordinates in which the rows have mean 0 and covariance I, as fits of mixtures want them.
    mean = weights @ means
    off = means - mean
    L = np.linalg.cholesky(
        np.einsum("k,kij->ij", weights, covariances + off[:, :, None] * off[:, None, :])
    )
    W = np.linalg.inv(L)
    rich = Fitted(weights, off @ W.T, _symmetric(W @ covariances @ W.T), math.nan)
    X = Mixture(rich.weights, rich.means, rich.covariances).sample(_DRAWN, _SEED)[0]
    with threadpool_limits(limits=1):
        found = [fitted(X, n_classes, 3, _SEED), merged(X, rich, n_classes)]
        best = polished(X, min(found, key=lambda one: one.bic))
    weights, means, covariances = best.parts
    return weights, mean + means @ L.T, _symmetric(L @ covariances @ L.T)


def _symmetric(S: Floats) -> Floats:
    return np.asarray((S + np.swapaxes(S, 1, 2)) / 2)


def _widths(points: Floats, cell: NDArray[np.intp], centres: Floats) -> Floats:
    squared = ((points - centres[cell]) ** 2).mean(axis=1)
    count = np.bincount(cell, minlength=centres.shape[0])
    mean = np.bincount(cell, squared, minlength=centres.shape[0]) / count
    # A cell with hardly a point is as wide as the others are.
    usual = math.sqrt(float(np.median(mean[count > 1])))
    return np.where(count > 10, np.sqrt(mean), usual)
