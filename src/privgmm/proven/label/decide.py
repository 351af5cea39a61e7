"""One Gaussian and one weight per class, from draws of what (eq2) would give."""

from __future__ import annotations

import numpy as np

from privgmm.proven.balanced import balanced
from privgmm.proven.label.statistics import Draws, Moments
from privgmm.proven.label.tuning import Tuning
from privgmm.proven.objective import Objective
from privgmm.types import Floats


def decide(
    draws: Draws, whole: Moments, scale: Floats, objective: Objective, tuning: Tuning
) -> tuple[Floats, Floats, Floats]:
    """Weights (K,), means (K, d) and covariances (K, d, d) that are expected to be closest to (eq2).

    (eq2) refuses classes with fewer than d + 1 rows, so draws with hardly more cannot be the truth; a class
    that no two draws give d + 2 rows is released with the shape of all rows, ``whole``.
    """
    n_classes, d = draws.means.shape[1:]
    able = draws.counts >= d + 2
    known = able.sum(axis=0) >= 2
    means = np.repeat(whole.means, n_classes, axis=0)
    shapes = np.repeat(whole.covariances(scale), n_classes, axis=0)
    if objective == "paper":
        weights = _paper(draws, able, known, means, shapes, tuning)
    else:
        if known.any():
            drawn = draws.means[:, known], draws.covariances[:, known]
            means[known], shapes[known] = balanced(*drawn, able[:, known].astype(np.float64))
        # Never zero: a class without weight would make KL(fitted || released) infinite.
        shares = draws.counts.mean(axis=0) / max(draws.counts.sum(axis=1).mean(), 1e-300)
        weights = np.maximum(shares, 1 / (2 * whole.counts[0]))
    return weights / weights.sum(), means, (shapes + np.swapaxes(shapes, 1, 2)) / 2


def _paper(
    draws: Draws, able: Floats, known: Floats, means: Floats, shapes: Floats, tuning: Tuning
) -> Floats:
    """Weights with the least expected KL(released || fitted); means and shapes are filled in.

        Sigma~ = E[Sigma^-1]^-1,  mu~ = Sigma~ E[Sigma^-1 mu],  pi~_k ~ exp(E ln pi_k - min E KL_k):
    classes whose shape is uncertain (small ones, mostly) are released tighter and with less weight.
    """
    log_weights = np.full(len(means), -np.inf)
    total = max(draws.counts.sum(axis=1).mean(), 1e-300)
    for k in np.flatnonzero(known):
        used = able[:, k]
        sigma, mu = draws.covariances[used, k], draws.means[used, k]
        precision = np.linalg.inv(sigma)
        expected = precision.mean(axis=0)
        expected = (expected + expected.T) / 2
        shapes[k] = np.linalg.inv(expected)
        means[k] = shapes[k] @ np.einsum("sij,sj->i", precision, mu) / used.sum()
        miss = means[k] - mu
        quad = np.einsum("si,sij,sj->s", miss, precision, miss).mean()
        log_det = np.linalg.slogdet(sigma)[1].mean() + np.linalg.slogdet(expected)[1]
        share = np.maximum(draws.counts[:, k], tuning.smallest_count) / total
        spare = float(draws.counts[used, k].mean()) - (mu.shape[1] + 2)
        log_weights[k] = np.log(share).mean() - max(0.5 * (quad + log_det), _scant(spare, tuning))
    if not np.isfinite(log_weights).any():
        log_weights[:] = 0.0
    return np.asarray(np.exp(log_weights - log_weights.max()))


def _scant(spare: float, tuning: Tuning) -> float:
    """The least KL to expect of a class with so many rows more than its shape needs, d + 2.

    One foreign row among so few makes a flat class round, which no draw of labels may show; and
    to leave such a class nearly out costs next to nothing.
    """
    return tuning.scant_kl * max(1 - spare / tuning.scant_rows, 0.0)
