"""Baseline noise on weights and means: i.i.d. Laplace and Gaussian, min-MSE coloured, rank-1 (R1SMG)."""

from __future__ import annotations

from functools import partial

import numpy as np

from privgmm.model.mixture import Floats
from privgmm.published.baseline_facts import (
    TUNING_SEED,
    Facts,
    Part,
    gaussian_scale,
    iid,
    r1smg_variance,
)
from privgmm.published.neighbours import mean_shifts
from privgmm.solver import min_trace_ellipsoid


def draw_weights(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator, times: int = 1
) -> Floats:
    """(times, K) noisy weights: noise, clip at zero, renormalise."""
    pi = facts.fitted.weights
    noise = iid(kind, facts.sensitivities()[0], eps, delta, rng, (times, pi.size))
    clipped = np.maximum(pi + noise, 0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1), 1 / pi.size)


def expected_weights(
    kind: str, facts: Facts, eps: float, delta: float, draws: int
) -> tuple[Floats, float]:
    """E[pi~] and E[sum_k pi~_k ln(pi~_k / pi_k)] over ``draws`` draws, the same ones every time."""
    q = draw_weights(kind, facts, eps, delta, np.random.default_rng(TUNING_SEED), draws)
    ratio = np.where(q > 0, q, 1) / facts.fitted.weights
    return q.mean(axis=0), float((q * np.log(ratio)).sum(axis=1).mean())


def _draw_iid_means(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator
) -> Floats:
    mu = facts.fitted.means
    return mu + iid(kind, facts.sensitivities()[1], eps, delta, rng, mu.shape)


def _iid_means_kl(kind: str, facts: Facts, eps: float, delta: float, _: int) -> Floats:
    s = facts.sensitivities()[1]
    variance = 2 * (s / eps) ** 2 if kind == "laplace" else gaussian_scale(s, eps, delta) ** 2
    return _isotropic_kl(facts, variance)


def _isotropic_kl(facts: Facts, variance: float) -> Floats:
    """tr(Sigma_k^-1) variance / 2 per class."""
    return np.asarray(0.5 * np.trace(facts.precisions, axis1=1, axis2=2) * variance)


def _colored_shapes(facts: Facts) -> Floats:
    """(K, d, d) minimum-MSE noise at eps^2 = 2 ln(2/delta): the ellipsoid of the flips, weight I."""
    if "colored" not in facts.cache:
        facts.cache["colored"] = np.stack(
            [
                min_trace_ellipsoid(mean_shifts(facts.X, facts.codes, k, mu, "label")).shape
                for k, mu in enumerate(facts.fitted.means)
            ]
        )
    return facts.cache["colored"]


def _draw_colored_means(facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    mu = facts.fitted.means
    factors = np.linalg.cholesky(_colored_shapes(facts))
    noise = (factors @ rng.standard_normal((*mu.shape, 1)))[:, :, 0]
    return np.asarray(mu + gaussian_scale(1.0, eps, delta) * noise)


def _colored_means_kl(facts: Facts, eps: float, delta: float, _: int) -> Floats:
    cost = np.einsum("kij,kij->k", facts.precisions, _colored_shapes(facts))
    return np.asarray(0.5 * gaussian_scale(1.0, eps, delta) ** 2 * cost)


def _r1smg_variance(facts: Facts, eps: float, delta: float) -> float:
    return r1smg_variance(facts.rank_one_sensitivity(), eps, delta, facts.fitted.dim)


def _draw_r1smg_means(facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    """mu + z u: u uniform on the sphere, z ~ N(0, sigma*)."""
    mu = facts.fitted.means
    u = rng.standard_normal(mu.shape)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    z = rng.standard_normal(mu.shape[0]) * np.sqrt(_r1smg_variance(facts, eps, delta))
    return np.asarray(mu + z[:, None] * u)


def _r1smg_means_kl(facts: Facts, eps: float, delta: float, _: int) -> Floats:
    return _isotropic_kl(facts, _r1smg_variance(facts, eps, delta) / facts.fitted.dim)


MEAN_PARTS = {
    kind: Part(partial(_draw_iid_means, kind), partial(_iid_means_kl, kind))
    for kind in ("laplace", "gaussian")
} | {
    "colored-gaussian": Part(_draw_colored_means, _colored_means_kl),
    "r1smg": Part(_draw_r1smg_means, _r1smg_means_kl),
}
