"""Draws from the posterior of every class: directly where noise hardly matters, else by Monte Carlo."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Floats
from privgmm.proven.record_budget import chain_count, prior_exponent, prior_floor
from privgmm.proven.record_frames import Moments
from privgmm.proven.record_posterior import Posterior, fewest, row_count, unpack
from privgmm.proven.record_rounds import Answers, classwise
from privgmm.proven.record_sampler import sample

# Counts (draws, K), means (draws, K, d) and factors L of the covariances (draws, K, d, d).
Draws = tuple[Floats, Floats, Floats]

_SEED = 20240503
_WARM, _KEEP = 80, 60
# Noise of the last second moment, relative to the class's least variance, below which neither a prior
# nor an earlier round (a few percent of the information by then) makes a difference.
_SHARP = 0.005


def posterior_draws(answers: Answers) -> Draws:
    """(n, m, L) of all classes, in the coordinates of the last round."""
    n_classes, d = answers.frames.centres.shape
    n_draws = _KEEP * chain_count(d)
    n, m = np.empty((n_draws, n_classes)), np.empty((n_draws, n_classes, d))
    L = np.empty((n_draws, n_classes, d, d))
    sharp = _sharp(answers.rounds[-1], answers.counts)
    for chosen, draw in ((sharp, _direct), (~sharp, _monte_carlo)):
        if chosen.any():
            some = classwise(lambda array, at=chosen: array[at], answers)
            n[:, chosen], m[:, chosen], L[:, chosen] = draw(some)
    return n, m, L


def _sharp(last: Moments, counts: Floats) -> NDArray[np.bool_]:
    m = last.total / counts[:, None]
    covariance = last.second / counts[:, None, None] - m[:, :, None] * m[:, None, :]
    least = np.linalg.eigvalsh(covariance)[:, 0]
    return np.asarray(last.second_sd / counts < _SHARP * least)


def _direct(answers: Answers) -> Draws:
    """The last answer, less a draw of its noise: its posterior under a flat prior."""
    last = answers.rounds[-1]
    d = last.total.shape[1]
    rng = np.random.default_rng(_SEED)

    def noise(sd: Floats, *shape: int) -> Floats:
        # As in the sampler, all classes see the same random numbers.
        z = rng.standard_normal((_KEEP * chain_count(d), 1, *shape))
        return np.asarray(z * sd.reshape(-1, *(1 for _ in shape)))

    n = np.maximum(answers.counts + noise(last.count_sd), fewest(d))
    m = (last.total + noise(last.total_sd, d)) / n[..., None]
    wild = noise(last.second_sd, d, d)
    # (E + E^T) / 2 has sd 1 on the diagonal and 1 / sqrt 2 off it, as the query's noise has.
    second = last.second + (wild + wild.swapaxes(-1, -2)) / 2
    covariance = second / n[..., None, None] - m[..., :, None] * m[..., None, :]
    return n, m, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _monte_carlo(answers: Answers) -> Draws:
    """Hamiltonian Monte Carlo on everything that is known."""
    last, counts = answers.rounds[-1], answers.counts
    n_classes, d = last.total.shape
    posterior = Posterior(answers.rounds, answers.located, prior_exponent(d), prior_floor(d))
    size = 1 + d + d * (d + 1) // 2
    start, scale = np.zeros((n_classes, size)), np.empty((n_classes, size))
    start[:, 0] = np.log(np.maximum(counts - fewest(d), 1.0))
    # Posterior scales if noise were all: the sampler adapts one factor per class.
    scale[:, 0] = np.clip(last.count_sd / np.exp(start[:, 0]), 1e-4, 0.7)
    seen = np.maximum(counts, fewest(d))
    scale[:, 1 : 1 + d] = np.clip(last.total_sd / seen, 1e-7, 1.0)[:, None]
    scale[:, 1 + d :] = np.clip(0.7 * last.second_sd / seen, 1e-7, 0.4)[:, None]
    theta = sample(posterior, start, scale, chain_count(d), _WARM, _KEEP)
    # (keep, K, chains, D) -> (draws, K, D)
    log_excess, m, L, _ = unpack(theta.transpose(0, 2, 1, 3).reshape(-1, n_classes, size), d)
    return row_count(log_excess, d), m, L
