"""The moment round: per class an ellipsoid in which rows are clipped, chosen from what is known already.

Moments are taken in each class's own coordinates u = W_k (x - c_k) / r_k, clipped to the unit ball. X is
public and the guess of the labels is post-processing, so centres, shapes and radii are free choices;
a row of class k adds phi_k(x) = (a, b u, c u u^T) to the totals of its class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.em import quadratic
from privgmm.proven.label.statistics import moments_under
from privgmm.proven.label.tuning import Tuning
from privgmm.queries.class_moments import GRID, ClassMoments, ClassMomentsQuery, Shape, grid_scale
from privgmm.types import Floats

# Up to so many columns their products are fewer than the steps of two matrix products.
_FEW_COLUMNS = 6


@dataclass(frozen=True, eq=False)
class ClipEllipsoids:
    """Centres (K, d), and lower-triangular maps (K, d, d) of the clip ellipsoids onto the unit ball."""

    centres: Floats
    maps: Floats
    shape: Shape

    @cached_property
    def query(self) -> ClassMomentsQuery:
        """The question for class moments inside these ellipsoids."""
        kernel = ClassMoments(self.centres, self.maps)
        return ClassMomentsQuery(kernel, self.shape, "class moments, label level")

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.centres.shape[0])

    @property
    def dim(self) -> int:
        """The number of features."""
        return int(self.centres.shape[1])

    @cached_property
    def _second(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Rows, columns and weights of the upper triangle; an off-diagonal entry stands for two."""
        i, j = np.triu_indices(self.dim)
        return i, j, np.where(i == j, 1.0, math.sqrt(2.0)) * self.shape.second

    @cached_property
    def _fineness(self) -> float:
        """How long the query's integers are, at most, in parts of its grid."""
        return grid_scale(self.dim) / GRID

    @property
    def second_steps(self) -> Floats:
        """Weights of the upper triangle of u u^T in ``contributions``."""
        return self._second[2]

    def clipped(self, X: Floats, k: int) -> Floats:
        """(n, d) coordinates u of the rows in the ellipsoid of class k, as the query's grid has them."""
        u = (X - self.centres[k]) @ self.maps[k].T
        norm = np.sqrt(np.einsum("ij,ij->i", u, u))
        u *= (self._fineness / np.maximum(norm, 1.0))[:, None]
        return np.asarray(u)

    def contributions(self, u: Floats) -> Floats:
        """(n, m) array phi_k: what rows with coordinates u add to the totals of their class."""
        i, j, weight = self._second
        count = np.full((u.shape[0], 1), self.shape.count)
        return np.hstack([count, self.shape.mean * u, u[:, i] * u[:, j] * weight])

    def totals(self, u: Floats, labels: Floats) -> Floats:
        """(m,) sum_n labels_n phi_k(x_n)."""
        i, j, weight = self._second
        weighted = u * labels[:, None]
        second = (weighted.T @ u)[i, j] * weight
        first = self.shape.mean * (labels @ u)
        return np.concatenate([[self.shape.count * labels.sum()], first, second])

    def scores(self, u: Floats, slopes: Floats) -> Floats:
        """(n,) slopes^T phi_k(x_n) for slopes (m,)."""
        i, j, weight = self._second
        d = self.dim
        quadratic = np.zeros((d, d))
        quadratic[i, j] = slopes[1 + d :] * weight
        linear = u @ quadratic
        linear += self.shape.mean * slopes[1 : 1 + d]
        return np.asarray(np.vecdot(linear, u) + self.shape.count * slopes[0])


class Coordinates:
    """Coordinates u (n, d) of some rows in the ellipsoid of a class, for scores and totals of the same rows.

    Few columns are multiplied with one another once, which both then read.
    """

    def __init__(self, frames: ClipEllipsoids, u: Floats) -> None:
        self.frames, self.u = frames, u
        self.products = quadratic(u) if frames.dim <= _FEW_COLUMNS else None

    @cached_property
    def _steps(self) -> Floats:
        """(m,) what a row adds for each of the products."""
        shape = self.frames.shape
        first = np.full(self.frames.dim, shape.mean)
        return np.concatenate([[shape.count], first, self.frames.second_steps])

    def scores(self, slopes: Floats) -> Floats:
        """``ClipEllipsoids.scores`` of these rows."""
        if self.products is None:
            return self.frames.scores(self.u, slopes)
        return np.asarray((slopes * self._steps) @ self.products)

    def totals(self, labels: Floats) -> Floats:
        """``ClipEllipsoids.totals`` of these rows."""
        if self.products is None:
            return self.frames.totals(self.u, labels)
        return np.asarray(self._steps * (self.products @ labels))


def choose_frames(
    rows: Floats, guess: Floats, scale: Floats, weight: float, mu: float, tuning: Tuning
) -> ClipEllipsoids:
    """Ellipsoids around the guessed classes, with the radii that balance noise against clipping.

    rows (n, d) represent ``weight`` times as many rows, guess (n, K) are their soft labels times shares, scale (d,) the spreads of the columns.
    """
    d = rows.shape[1]
    found = moments_under(rows, guess)
    shapes = found.covariances(scale) + np.diag(tuning.flattest * scale**2)
    whiten = np.tril([np.linalg.inv(np.linalg.cholesky(s)) for s in shapes])
    radii = np.empty(len(whiten))
    for k, W in enumerate(whiten):
        u = (rows - found.means[k]) @ W.T
        squares = np.einsum("ij,ij->i", u, u)
        effective = max(found.counts[k] * weight, 1.0) * mu
        radii[k] = _radius(squares, guess[:, k], effective, d, tuning)
    shape = query_shape(d, float(np.median(radii)))
    return ClipEllipsoids(found.means, whiten / radii[:, None, None], shape)


def _radius(squares: Floats, labels: Floats, effective: float, dim: int, tuning: Tuning) -> float:
    """The radius with the least noise and clipping, or a wider one whose noise is negligible."""
    widest = math.sqrt(float(squares.max()))
    radii = [math.sqrt(dim) * tuning.radius_ratio**tuning.narrowest]
    while radii[-1] < widest and len(radii) < 60:
        radii.append(radii[-1] * tuning.radius_ratio)
    noise = np.array([moment_error(effective, dim, r) for r in radii])
    total = max(float(labels @ squares), 1e-300)
    kept = np.array([float(labels @ np.minimum(squares, r * r)) / total for r in radii])
    # A class whose second moment is cut to a share s of it is off by d (s + 1/s - 2) / 2 in both directions.
    clipping = tuning.clip_cost * dim / 2 * (kept + 1 / np.maximum(kept, 1e-9) - 2)
    best = int(np.argmin(noise + clipping))
    quiet = np.flatnonzero(noise <= tuning.negligible_noise)
    return radii[max(best, int(quiet[-1]) if quiet.size else 0)]


def query_shape(dim: int, radius: float) -> Shape:
    """Split of one row's unit norm over count, mean and second moment.

    Expected KL to first order is proportional to 1/a^2 + d/b^2 + d(d+1)/(4 c^2) in class-whitened
    units (b, c at radius R); least at a^2 : b^2 : c^2 = 1 : sqrt(d) R : sqrt(d(d+1)/4) R^2.
    """
    a2, b2, c2 = _costs(dim, radius)
    total = a2 + b2 + c2
    return Shape(math.sqrt(a2 / total), math.sqrt(b2 / total), math.sqrt(c2 / total))


def _costs(dim: int, radius: float) -> tuple[float, float, float]:
    return 1.0, math.sqrt(dim) * radius, math.sqrt(dim * (dim + 1) / 4) * radius**2


def moment_error(effective: float, dim: int, radius: float) -> float:
    """First-order expected KL that the noise of the round costs a class, ``effective`` = n_k mu."""
    return (sum(_costs(dim, radius)) / effective) ** 2
