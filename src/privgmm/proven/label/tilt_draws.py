"""Draws of class moments around tilted labels (tilt.py): what noise, clipping and the guess leave open.

Totals T (clipped moments, noisy) and theta (what (eq2) needs: count, sum and second moment, not clipped) are
both linear in the labels. Under the prior of the tilt, labels vary 1/tau times as much as independent draws
from q; (T, theta) is then jointly normal, and a draw from theta given T is (Matheron's rule)
    theta^ + d_theta - C_theta,T (C_T,T + sigma^2 I)^-1 (d_T + sigma z),
(d_T, d_theta) what labels drawn from q move, z standard normal. Where no row is clipped theta is a linear
function of T and only noise is left; where rows are clipped the cells' uncertainty about them stays in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.proven.label.statistics import ClassFit, FitDraws
from privgmm.proven.label.tilt import Answer, label_covariance
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


def posterior_draws(
    centre: ClassFit,
    scale: Floats,
    rows: Floats,
    shares: Floats,
    labels: Floats,
    trust: Floats,
    trusts: Floats,
    answer: Answer,
    weight: float,
    tuning: Tuning,
    rng: np.random.Generator,
) -> tuple[FitDraws, FitDraws]:
    """Draws around ``centre``, the moments of all rows under the tilted labels, for the release and for its errors.

    rows (n, d) with shares (n,) and tilted labels (n, L) represent ``weight`` times as many rows. FitDraws for the release have the likeliest
    tau, trust (K,); those for the errors have all the likely ones, trusts (2, K, Q), since labels often vary more than the likeliest one says.
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
    # How much more labels vary for the errors: batches of draws have one of the likely values for every class, in another order.
    doubts = np.sqrt(trust[:, None] / trusts)
    doubts = np.stack([np.roll(doubts[:, k], k, axis=1) for k in range(n_classes)], axis=1)
    coupled = n_classes * clipped[0].shape[1] <= tuning.most_coupled
    groups = [list(range(n_classes))] if coupled else [[k] for k in range(n_classes)]
    moved, told = [np.empty(0)] * n_classes, [np.empty(0)] * n_classes
    for group in groups:
        phi = [clipped[k] * (math.sqrt(weight) * size[k]) for k in group]
        psi = [whole[k] * (math.sqrt(weight) * size[k]) for k in group]
        d_T = np.hstack([swing[k] @ p for k, p in zip(group, phi, strict=True)])
        d_theta = np.hstack([swing[k] @ p for k, p in zip(group, psi, strict=True)])
        q, noise = labels[:, group], answer.sigma * rng.standard_normal(d_T.shape)
        joint = _Joint(
            label_covariance(phi, phi, q),
            label_covariance(psi, phi, q),
            d_T,
            d_theta,
            noise,
            answer.sigma,
        )
        once = joint.given_answer(np.ones(len(group)), slice(None))
        each = np.empty((2, *once.shape))
        for order, batch in np.ndindex(trusts.shape[::2]):
            some = slice(batch, None, trusts.shape[2])
            each[order, some] = joint.given_answer(doubts[order, group, batch], some)
        second = np.tile(np.arange(once.shape[1] // len(group)) > d, len(group))
        for out, found in ((moved, once), (told, np.where(second, each[1], each[0]))):
            for k, part in zip(group, np.split(found, len(group), axis=1), strict=True):
                out[k] = part
    draws, errors = (
        _as_draws(centre, factors, np.stack(m, axis=1), d, tuning) for m in (moved, told)
    )
    return draws, errors


@dataclass(frozen=True, eq=False)
class _Joint:
    """Totals T and theta of some classes, jointly normal: covariances C_TT and C_theta,T, and draws of labels and of noise."""

    of_totals: Floats
    across: Floats
    totals: Floats
    theta: Floats
    noise: Floats
    sigma: float

    def given_answer(self, times: Floats, some: slice) -> Floats:
        """What some of the draws move theta once the answer is seen, if labels of the classes vary by ``times`` (classes,) as much."""
        t = np.repeat(times, len(self.of_totals) // times.size)
        s = np.repeat(times, len(self.across) // times.size)
        C = self.of_totals * np.outer(t, t) + self.sigma**2 * np.eye(t.size)
        seen = self.totals[some] * t + self.noise[some]
        known = np.linalg.solve(C, seen.T).T @ (self.across * np.outer(s, t)).T
        return np.asarray(self.theta[some] * s - known)


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


def _as_draws(centre: ClassFit, factors: Floats, moved: Floats, d: int, tuning: Tuning) -> FitDraws:
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
    return FitDraws(counts, means, factors @ second @ np.swapaxes(factors, -1, -2))
