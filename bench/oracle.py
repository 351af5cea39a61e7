"""How close could a record-level release be? A reference to divide ours by.

The oracle knows the mean and covariance of every class. It spends all of its budget on one Gaussian
mechanism in the classes' own whitened coordinates, clipped at the radius that is best for each class. It pays
for noise and clipping, not for finding its way; where noise is large, a prior can still beat it.
"""

from __future__ import annotations

import numpy as np

from privgmm.privacy.accounting import mu_from_epsilon

# Squared shares of count, mean and second moment in a row's contribution.
_COUNT, _MEAN, _SECOND = np.sqrt([0.2, 0.5, 1.0])
_RADII, _REPEATS, _LEAST = 25, 8, 0.05


def oracle(X: np.ndarray, y: np.ndarray, epsilon: float, delta: float, seed: int = 0) -> float:
    """J = reverse + forward KL of the oracle's release, weights included; y in 0..K-1."""
    rng = np.random.default_rng(seed)
    sigma = np.sqrt(2 * (_COUNT**2 + _MEAN**2 + _SECOND**2)) / mu_from_epsilon(epsilon, delta)
    counts = np.bincount(y).astype(float)
    shares = counts / counts.sum()
    total = 0.0
    for k, share in enumerate(shares):
        rows = X[y == k] - X[y == k].mean(axis=0)
        u = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(rows.T))), rows.T).T
        length = np.linalg.norm(u, axis=1)
        radii = np.geomspace(0.7 * np.sqrt(u.shape[1]), max(length.max(), 1.0), _RADII)
        costs = [_shape_cost(u, length, r, sigma, rng) for r in radii]
        total += share * _shape_cost(u, length, radii[int(np.argmin(costs))], sigma, rng)
    for _ in range(_REPEATS):
        q = np.maximum(counts + rng.standard_normal(counts.size) * sigma / _COUNT, 0.5)
        q /= q.sum()
        total += float(((q - shares) * np.log(q / shares)).sum()) / _REPEATS
    return float(total)


def _shape_cost(
    u: np.ndarray, length: np.ndarray, r: float, sigma: float, rng: np.random.Generator
) -> float:
    """Mean J of a noisy class whose truth is N(0, I), rows u clipped at r."""
    n, d = u.shape
    v = u * np.minimum(1.0, r / np.maximum(length, 1e-12))[:, None]
    first, second, cost = v.sum(axis=0), v.T @ v, 0.0
    for _ in range(_REPEATS):
        E = rng.standard_normal((d, d))
        count = max(n + rng.standard_normal() * sigma / _COUNT, d + 2)
        m = (first + rng.standard_normal(d) * sigma * r / _MEAN) / count
        noisy = (second + (E + E.T) / 2 * sigma * r * r / _SECOND) / count - np.outer(m, m)
        w, axes = np.linalg.eigh(noisy)
        w = np.maximum(w, _LEAST)
        miss = (axes.T @ m) ** 2
        cost += 0.5 * float((w + 1 / w - 2 + miss * (1 + 1 / w)).sum())
    return cost / _REPEATS
