"""What makes an ellipsoid right, computed again from the definition: feasible, and within its gap."""

import numpy as np


def forms(points, shape):
    """x^T shape^-1 x of every point."""
    return np.einsum("ij,ji->i", points, np.linalg.solve(shape, points.T))


def dual_bound(points, weight, ellipsoid):
    """(tr (W^1/2 M W^1/2)^1/2)^2 from the returned multipliers: a lower bound by weak duality."""
    z = points[ellipsoid.support] @ np.linalg.cholesky(weight)
    singular_values = np.linalg.svd(np.sqrt(ellipsoid.multipliers)[:, None] * z, compute_uv=False)
    return singular_values.sum() ** 2


def check(points, weight, found, tol):
    """Neither the shape nor the gap is taken on trust."""
    assert forms(points, found.shape).max() <= 1 + 1e-8
    assert np.isclose(found.value, np.trace(weight @ found.shape), rtol=1e-9, atol=0)
    assert found.gap <= tol * (1 + 1e-6) + 1e-9
    assert found.multipliers.min() >= 0
    assert np.isclose(found.multipliers.sum(), 1)
    assert found.value <= dual_bound(points, weight, found) * (1 + found.gap) * (1 + 1e-7)
