"""Coordinates in which the weight is the identity and the points span the space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.solver.points import Survey, farthest
from privgmm.types import Floats

# Below this ratio of eigenvalues of X^T X a direction counts as one that no point reaches; what
# the points do reach there is still covered, see ``shape``.
_FLAT = 1e-14
# Floor of theta in ``shape``: where no point reaches, the ellipsoid stays at least this thick.
_THINNEST = 1e-12
# Products of weights and coordinates must be numbers.
_LARGEST, _SMALLEST = 1e150, 1e-150


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
    if not _SMALLEST < np.abs(W).max() < _LARGEST:
        raise InputError(
            f"The weight must lie between {_SMALLEST:g} and {_LARGEST:g} in size; rescale it."
        )
    try:
        return np.asarray(np.linalg.cholesky((W + W.T) / 2), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError("The weight of the ellipsoid must be positive definite.") from None
