"""Baseline noise on covariances: i.i.d. symmetric noise projected to the cone, or Wishart (eq6)."""

from __future__ import annotations

from functools import partial

import numpy as np

from privgmm.model.mixture import Floats
from privgmm.published.baseline_facts import TUNING_SEED, Facts, Part, iid

# Eigenvalues of a projected covariance are at least this share of R^2.
_EIGENVALUE_FLOOR = 1e-6


def _draw(kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    return np.asarray(_noisy(kind, facts, eps, delta, rng, 1)[0])


def _noisy(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator, times: int
) -> Floats:
    """(times, K, d, d) releases of all covariances."""
    sigma = facts.fitted.covariances
    K, d, _ = sigma.shape
    if kind == "wishart":
        # Lemma 2 with equality: gamma_k = 2 N_k eps / 3.
        gamma = 2 * facts.counts * eps / 3
        G = rng.standard_normal((times, K, d + 1, d))
        return np.asarray(sigma + G.swapaxes(-1, -2) @ G / gamma[:, None, None])
    rows, cols = np.triu_indices(d)
    noise = np.zeros((times, K, d, d))
    noise[..., rows, cols] = iid(
        kind, facts.sensitivities()[2], eps, delta, rng, (times, K, rows.size)
    )
    noise[..., cols, rows] = noise[..., rows, cols]
    eigenvalues, U = np.linalg.eigh(sigma + noise)
    floored = np.maximum(eigenvalues, _EIGENVALUE_FLOOR * facts.bound**2)
    return np.asarray((U * floored[..., None, :]) @ U.swapaxes(-1, -2))


def _class_kl(kind: str, facts: Facts, eps: float, delta: float, draws: int) -> Floats:
    """The covariance part of KL(N~_k || N_k), averaged over ``draws`` draws."""
    rng = np.random.default_rng(TUNING_SEED)
    released = _noisy(kind, facts, eps, delta, rng, draws)
    trace = np.einsum("kij,tkij->tk", facts.precisions, released)
    _, log_det = np.linalg.slogdet(released)
    _, own = np.linalg.slogdet(facts.fitted.covariances)
    return np.asarray(0.5 * (trace - facts.fitted.dim - log_det + own).mean(axis=0))


COVARIANCE_PARTS = {
    kind: Part(partial(_draw, kind), partial(_class_kl, kind))
    for kind in ("laplace", "gaussian", "wishart")
}
