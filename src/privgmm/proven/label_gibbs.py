"""Which class does each component carry? Posterior of pure label models, given noisy cell counts.

Model j says that all rows of component m carry one class k(m): q_n = r_n B with one-hot rows
B_m = e_k(m). Cell counts then have mean G B, G = A^T R (cells x components, public), and
    T ~ N(G B, sigma^2) ,   ln p(T | B) = -||T - G B||^2 / (2 sigma^2) + const.
With a uniform prior on the K^M assignments the conditional of one row is a softmax, so Gibbs
sampling is exact; chains run side by side. Draws that leave classes out are then reweighted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from privgmm.model.mixture import Floats

Assignments = NDArray[np.intp]

_CHAINS = 16
_ANNEAL = 50
_KEEP = 20
# Chains this many nats below the best one are stuck in a worse mode and are replaced.
_STUCK = 12.0
# The class list is public and its classes are expected to occur: prior nats lost per absent class.
_ABSENT = 3.0


@dataclass(frozen=True, eq=False)
class PurePosterior:
    """Draws of k(.) (S, M) and the log evidence of the model."""

    draws: Assignments
    log_evidence: float


def pure_posterior(G: Floats, T: Floats, sigma: float, rng: np.random.Generator) -> PurePosterior:
    """Anneal, sample and score the assignments of components to classes."""
    n_components, n_classes = G.shape[1], T.shape[1]
    z = rng.integers(0, n_classes, (_CHAINS, n_components))
    z[0] = np.argmax(G.T @ T, axis=1)
    E = T - np.einsum("am,cmk->cak", G, np.eye(n_classes)[z])
    hottest = max(20.0, float((G**2).sum(axis=0).max()) / sigma**2 / 5)
    for temperature in np.geomspace(hottest, 1.0, _ANNEAL):
        _sweep(G, z, E, sigma**2 * temperature, rng)
    error = (E**2).sum(axis=(1, 2)) / (2 * sigma**2)
    alive = np.flatnonzero(error <= error.min() + _STUCK)
    chosen = alive[np.arange(_CHAINS) % alive.size]
    z, E = z[chosen], E[chosen]
    draws = np.empty((_KEEP, *z.shape), dtype=np.intp)
    for t in range(_KEEP):
        _sweep(G, z, E, sigma**2, rng)
        draws[t] = z
    flat = draws.reshape(-1, n_components)
    missing = n_classes - np.array([np.unique(one).size for one in flat])
    least = int(missing.min())
    weight = np.exp(-_ABSENT * (missing - least))
    kept = flat[rng.choice(len(flat), len(flat), p=weight / weight.sum())]
    return PurePosterior(kept, _log_evidence(G, T, sigma, z, E) - _ABSENT * least)


def _sweep(G: Floats, z: Assignments, E: Floats, variance: float, rng: np.random.Generator) -> None:
    """One Gibbs pass over the components of every chain; z and the residuals E change in place."""
    chains = np.arange(z.shape[0])
    gumbel = rng.gumbel(size=(z.shape[1], z.shape[0], E.shape[2]))
    for m in rng.permutation(z.shape[1]):
        g = G[:, m]
        E[chains, :, z[:, m]] += g
        z[:, m] = np.argmax(np.tensordot(E, g, axes=(1, 0)) / variance + gumbel[m], axis=1)
        E[chains, :, z[:, m]] -= g


def _log_evidence(G: Floats, T: Floats, sigma: float, z: Assignments, E: Floats) -> float:
    """ln of the mean likelihood over the K^M assignments, up to a constant shared by all models.

    The sum over assignments is taken as the best one times, per component, the sum over its
    alternatives: exact when components share no cell.
    """
    best = int(np.argmin((E**2).sum(axis=(1, 2))))
    mode, n_classes = z[best].copy(), T.shape[1]
    residual = T - G @ np.eye(n_classes)[mode]
    for _ in range(5):
        for m in range(mode.size):
            residual[:, mode[m]] += G[:, m]
            mode[m] = int(np.argmax(G[:, m] @ residual))
            residual[:, mode[m]] -= G[:, m]
    gain = G.T @ residual  # moving row m to class k gains (gain_mk - gain_m,k(m) - ||g_m||^2)
    weight = gain.copy()
    weight[np.arange(mode.size), mode] += (G**2).sum(axis=0)
    weight -= weight[np.arange(mode.size), mode][:, None]
    alternatives = float(logsumexp(np.minimum(weight / sigma**2, 0.0), axis=1).sum())
    fit = -float((residual**2).sum()) / (2 * sigma**2)
    prior: float = -mode.size * math.log(n_classes)
    return fit + alternatives + prior
