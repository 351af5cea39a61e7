"""Draws of the class moments around the tilted labels: what noise, clipping and the guess leave open.

Totals T (clipped moments, noisy) and theta (what (eq2) needs: count, sum and second moment, not clipped) are
both linear in the labels. Under the prior of the tilt, labels vary 1/tau times as much as independent draws
from q; (T, theta) is then jointly normal, and a draw from theta given T is (Matheron's rule)
    theta^ + d_theta - C_theta,T (C_T,T + sigma^2 I)^-1 (d_T + sigma z),
(d_T, d_theta) what labels drawn from q move, z standard normal. Where no row is clipped theta is a linear
function of T and only noise is left; where rows are clipped the cells' uncertainty about them stays in.
"""

from __future__ import annotations

import math

import numpy as np

from privgmm.proven.label.statistics import Draws, Moments
from privgmm.proven.label.tilt import Answer, label_covariance
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


def posterior_draws(
    centre: Moments,
    scale: Floats,
    rows: Floats,
    shares: Floats,
    labels: Floats,
    trust: Floats,
    answer: Answer,
    weight: float,
    tuning: Tuning,
    rng: np.random.Generator,
) -> Draws:
    """Draws around ``centre``, the moments of all rows under the tilted labels.

    rows (n, d) of these shares (n,) with tilted labels (n, L) stand for ``weight`` as many; trust is tau (K,).
    """
    n_classes, d = centre.means.shape
    S = tuning.posterior_draws
    shapes = centre.covariances(scale)
    factors = np.asarray(np.linalg.cholesky(shapes), dtype=np.float64)
    swing = _label_swings(labels, S, rng)
    clipped, whole = [], []
    for k in range(n_classes):
        phi_k = answer.frames.contributions(answer.frames.clipped(rows, k))
        clipped.append(phi_k * shares[:, None])
        z = np.linalg.solve(factors[k], (rows - centre.means[k]).T).T
        whole.append(_statistics(z) * shares[:, None])
    size = 1 / np.sqrt(trust)
    coupled = n_classes * clipped[0].shape[1] <= tuning.most_coupled
    groups = [list(range(n_classes))] if coupled else [[k] for k in range(n_classes)]
    moved = [np.empty(0)] * n_classes
    for group in groups:
        phi = [clipped[k] * (math.sqrt(weight) * size[k]) for k in group]
        psi = [whole[k] * (math.sqrt(weight) * size[k]) for k in group]
        d_T = np.hstack([swing[k] @ p for k, p in zip(group, phi, strict=True)])
        d_theta = np.hstack([swing[k] @ p for k, p in zip(group, psi, strict=True)])
        q = labels[:, group]
        C = label_covariance(phi, phi, q) + answer.sigma**2 * np.eye(d_T.shape[1])
        seen = d_T + answer.sigma * rng.standard_normal(d_T.shape)
        d_theta -= np.linalg.solve(C, seen.T).T @ label_covariance(psi, phi, q).T
        for k, part in zip(group, np.split(d_theta, len(group), axis=1), strict=True):
            moved[k] = part
    return _as_draws(centre, factors, np.stack(moved, axis=1), d, tuning)


def _label_swings(labels: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """(L, draws, n) one-hot labels drawn from (n, L), minus their expectation."""
    n, n_labels = labels.shape
    cumulative = labels.cumsum(axis=1)[:, :-1]
    code = np.zeros((draws, n), dtype=np.int16)
    lot = rng.random((draws, n))
    for edge in cumulative.T:
        code += lot > edge
    return np.stack([(code == k) - labels[:, k] for k in range(n_labels)])


def _statistics(z: Floats) -> Floats:
    """(n, 1 + d + d(d+1)/2): 1, z and the upper triangle of z z^T."""
    i, j = np.triu_indices(z.shape[1])
    return np.hstack([np.ones((z.shape[0], 1)), z, z[:, i] * z[:, j]])


def _as_draws(centre: Moments, factors: Floats, moved: Floats, d: int, tuning: Tuning) -> Draws:
    """Counts, means and covariances of classes whose statistics, in whitened coordinates, moved (S, K, m)."""
    n = centre.counts
    counts = np.maximum(n + moved[..., 0], 0.1 * n)
    mean = moved[..., 1 : 1 + d] / counts[..., None]
    i, j = np.triu_indices(d)
    second = np.zeros((*counts.shape, d, d))
    second[..., i, j] = second[..., j, i] = moved[..., 1 + d :]
    second += n[:, None, None] * np.eye(d)
    second /= counts[..., None, None]
    second -= mean[..., :, None] * mean[..., None, :]
    values, axes = np.linalg.eigh(second)
    low = tuning.bend
    values = np.where(values > low, values, low * np.exp(np.clip(values / low - 1, -3.0, 0.0)))
    second = (axes * values[..., None, :]) @ np.swapaxes(axes, -1, -2)
    means = centre.means + np.einsum("kij,skj->ski", factors, mean)
    return Draws(counts, means, factors @ second @ np.swapaxes(factors, -1, -2))
