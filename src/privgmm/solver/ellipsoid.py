"""(eq23) without its budget: the minimum-trace ellipsoid around 0 that contains given points.

(eq23) is: minimise tr(Sigma^-1 X) s.t. X >= D_n D_n^T / c for all n, with c = eps_k^2 / (2 ln(2/delta)).
So X = Y / c, and Y does not depend on eps_k: solve once per class, then every budget is a scalar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.errors import InputError
from privgmm.model.mixture import Floats
from privgmm.solver.working_set import quadratic_forms, solve_all

# Below this ratio of eigenvalues of X^T X a direction counts as one that no point reaches; what
# the points do reach there is still covered, see _cover_flat_directions.
_FLAT = 1e-14
_ROUNDING = 1e-12
_FINEST_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{x : x^T shape^-1 x <= 1}, feasible always, optimal up to ``gap``.

    shape : (d, d) positive definite matrix; every point satisfies x^T shape^-1 x <= 1
    value : tr(weight @ shape), the objective reached
    gap : value / lower - 1, where lower <= optimum <= value is a dual bound computed for this very
        answer; so (value - optimum) / optimum <= gap. A certificate, not an estimate.
    iterations : multiplicative and Newton steps, all rounds together
    support, multipliers : rows that carry dual weight and their weights (sum one)
    """

    shape: Floats
    value: float
    gap: float
    iterations: int
    support: NDArray[np.intp]
    multipliers: Floats


def min_trace_ellipsoid(
    points: ArrayLike, weight: ArrayLike | None = None, tol: float = 1e-4
) -> Ellipsoid:
    """Minimise tr(weight @ shape) over ellipsoids around 0 that contain all points.

    Parameters
    ----------
    points : (N, d) array. Zero rows and duplicates are allowed; all-zero input is refused. When the
        points do not span R^d, the missing axes get a relative length of about 1e-6 (rounding in
        the trace), so that ``shape`` is always invertible. A cloud of relative width below 1e-7 is
        covered the same way, and then certified to about 1e-6 only, which ``gap`` says.
    weight : (d, d) symmetric positive definite matrix, identity when omitted
    tol : the relative duality gap at which to stop, at least 1e-9
    """
    X = _finite_points(points)
    d = X.shape[1]
    L = _weight_factor(weight, d)
    if not tol > 0:
        raise InputError(f"The tolerance of the ellipsoid must be positive, got tol={tol}.")
    tol = max(float(tol), _FINEST_TOL)
    scale = float(np.abs(X).max())
    if scale == 0:
        raise InputError("All points are zero, so no ellipsoid is needed; remove this problem.")
    # Powers of two change no digit, and keep squares of extreme inputs inside the float range.
    unit = float(2.0 ** np.round(np.log2(scale)))
    X = X / unit
    reached, flat = _directions(X, L)
    dual = solve_all(X, L @ reached, tol)
    shape = reached @ dual.root @ reached.T
    if flat.shape[1]:
        shape = _cover_flat_directions(X, L, shape, dual.scores.max(), flat)
    # Back from z = L^T x to x, then inflate to touch the worst point: feasible by construction.
    L_inv = np.linalg.inv(L)
    shape = L_inv.T @ shape @ L_inv
    shape = (shape + shape.T) / 2
    shape *= _largest_form(X, shape, dual.scores) * (1 + _ROUNDING)
    value = float(np.sum(shape * (L @ L.T)))
    gap = max(value / dual.lower - 1, 0.0)
    return Ellipsoid(
        shape * unit**2, value * unit**2, gap, dual.iterations, dual.support, dual.multipliers
    )


def _finite_points(points: ArrayLike) -> Floats:
    try:
        X = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Points must be a numeric (N, d) array.") from None
    if X.ndim != 2 or X.shape[0] < 1 or X.shape[1] < 1:
        raise InputError(f"Points must be a (N, d) array with N, d >= 1, got shape {X.shape}.")
    # One sum is finite unless an entry is not, or the sum overflows: only then look closer.
    if not np.isfinite(X.sum()) and not np.isfinite(X).all():
        raise InputError("Points must be finite; remove or impute the missing values first.")
    return X


def _weight_factor(weight: ArrayLike | None, d: int) -> Floats:
    """L with weight = L L^T, so that tr(weight Y) = tr(L^T Y L) and z = L^T x whitens."""
    if weight is None:
        return np.eye(d)
    W = np.asarray(weight, dtype=np.float64)
    symmetric = W.shape == (d, d) and np.abs(W - W.T).max() <= 1e-6 * np.abs(W).max()
    if not symmetric:  # also when an entry is not finite: no comparison with NaN holds
        raise InputError(f"The weight must be a finite symmetric {d} x {d} matrix.")
    try:
        return np.asarray(np.linalg.cholesky((W + W.T) / 2), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError("The weight of the ellipsoid must be positive definite.") from None


def _directions(X: Floats, L: Floats) -> tuple[Floats, Floats]:
    """Orthonormal bases (in whitened space) of what the points span and of the rest."""
    eigenvalues, U = np.linalg.eigh(L.T @ (X.T @ X) @ L)
    spanned = eigenvalues > _FLAT * eigenvalues[-1]
    if spanned.all():
        return np.eye(X.shape[1]), np.empty((X.shape[1], 0))
    return U[:, spanned], U[:, ~spanned]


def _cover_flat_directions(
    X: Floats, L: Floats, shape: Floats, worst: float, flat: Floats
) -> Floats:
    """Add (1 + 1/theta) rho^2 on the flat directions, where no point exceeds rho.

    (a + b)(a + b)^T <= (1 + theta) a a^T + (1 + 1/theta) b b^T, so with theta = rho / size the
    trace grows by a factor of about 1 + d theta, and theta is of the order of 1e-7 or below.
    """
    rho = np.sqrt(quadratic_forms(X, L @ flat).max())
    size = np.sqrt(np.trace(shape) * worst)
    theta = max(rho / size, _ROUNDING)
    return np.asarray(shape * (1 + theta) + (theta * (1 + theta) * size**2 / worst) * flat @ flat.T)


def _largest_form(X: Floats, shape: Floats, scores: Floats) -> float:
    """max_n x_n^T shape^-1 x_n through a fresh Cholesky factor, over the points that may attain it."""
    near = X[scores >= 0.9 * scores.max()]
    factor = np.linalg.cholesky(shape)
    return float(quadratic_forms(near, np.linalg.inv(factor).T).max())
