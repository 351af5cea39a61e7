"""Draws from the posterior of every class: directly where noise hardly matters, else by Hamiltonian Monte Carlo.

Monte Carlo runs over many small problems at once. Post-processing: a fixed public seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.objective import geometric_mean
from privgmm.proven.record.few_columns import MOST_COLUMNS, FewColumns
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.posterior import (
    Posterior,
    fewest,
    prior_exponent,
    prior_floor,
    row_count,
    unpack,
)
from privgmm.proven.record.rounds import Answers, classwise
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Floats

# x (K, C, D) -> log-density (K, C) and gradient (K, C, D), for K problems with C chains each.
LogDensity = Callable[[Floats], tuple[Floats, Floats]]

_CHAIN_SEED = 20240501
# Of six posteriors (bench.tables, epsilon 0.5 to 16) six leaps give 12 % more effective draws a turn than eight, at three quarters of the time.
_LEAPS = 6
_TARGET = 0.75
_SEED = 20240503


def sample(
    log_density: LogDensity, start: Floats, scale: Floats, chains: int, warm: int, keep: int
) -> Floats:
    """(keep, K, chains, D) draws; step sizes adapt per problem during ``warm`` to 75 % acceptance.

    start, scale : (K, D) a central point and the expected posterior standard deviations.
    All problems see the same random numbers, so that the draws of one do not depend on the others.
    """
    rng = np.random.default_rng(_CHAIN_SEED)
    one = chains, start.shape[1]
    spread = scale[:, None, :]
    x = start[:, None, :] + 0.3 * spread * rng.standard_normal(one)
    value, slope = log_density(x)
    log_step = np.full(start.shape[0], np.log(0.2))
    draws = np.empty((keep, *x.shape))
    for turn in range(warm + keep):
        step = np.exp(log_step)[:, None, None] * spread * rng.uniform(0.7, 1.3)
        # As large as x: NumPy takes its time to stretch small arrays.
        step = np.broadcast_to(step, x.shape).copy()
        momentum = np.broadcast_to(rng.standard_normal(one), x.shape)
        new = _leapfrog(log_density, x, slope, momentum, step)
        with np.errstate(invalid="ignore", over="ignore"):
            gain = new[1] - value - 0.5 * (new[3] ** 2 - momentum**2).sum(axis=-1)
        gain = np.where(np.isfinite(gain), gain, -np.inf)
        accept = np.log(rng.random(chains)) < gain
        x = np.where(accept[..., None], new[0], x)
        value = np.where(accept, new[1], value)
        slope = np.where(accept[..., None], new[2], slope)
        if turn < warm:
            rate = np.exp(np.minimum(gain, 0)).mean(axis=1)
            log_step = log_step + (0.3 if turn < warm * 3 // 4 else 0.1) * (rate - _TARGET)
        else:
            draws[turn - warm] = x
    return draws


def _leapfrog(
    log_density: LogDensity,
    x: Floats,
    slope: Floats,
    momentum: Floats,
    step: NDArray[np.float64],
) -> tuple[Floats, Floats, Floats, Floats]:
    """End point, its log-density and gradient, and the momentum there."""
    # A diverging path overflows and is then rejected: its warnings mean nothing.
    with np.errstate(all="ignore"):
        half = 0.5 * step
        momentum = momentum + half * slope
        for leap in range(_LEAPS):
            x = x + step * momentum
            value, slope = log_density(x)
            momentum = momentum + (step if leap < _LEAPS - 1 else half) * slope
    return x, value, slope, momentum


@dataclass(frozen=True)
class Effort:
    """How long the Monte Carlo runs: turns thrown away, turns kept, and chains at most."""

    warm: int
    keep: int
    chains: int


# Half as many effective draws as with 80 and 60 turns would add less than a hundredth of J; these give four fifths of them.
RELEASE = Effort(warm=50, keep=40, chains=12)
# The frames of the next round need no more than a rough mean.
FRAMES = Effort(warm=30, keep=12, chains=8)


@dataclass(frozen=True, eq=False)
class Draws:
    """Counts (S, K), means (S, K, d) and factors L (S, K, d, d) of covariances that divide by n."""

    counts: Floats
    means: Floats
    factors: Floats

    @property
    def covariances(self) -> Floats:
        """(S, K, d, d) as (eq2) has them, divided by n - 1."""
        n = np.maximum(self.counts, fewest(self.means.shape[-1]))
        wide = self.factors @ np.swapaxes(self.factors, -1, -2)
        return np.asarray(wide * (n / (n - 1))[..., None, None])


def posterior_draws(answers: Answers, effort: Effort | None = None) -> Draws:
    """Draws of all classes given the answers, in the coordinates of the last round."""
    effort = effort or RELEASE
    n_classes, d = answers.frames.centres.shape
    n_draws = effort.keep * _chains(effort, d)
    n, m = np.empty((n_draws, n_classes)), np.empty((n_draws, n_classes, d))
    L = np.empty((n_draws, n_classes, d, d))
    sharp = _sharp(answers.rounds[-1], answers.counts)
    for chosen, draw in ((sharp, _direct), (~sharp, _monte_carlo)):
        if chosen.any():
            some = classwise(lambda array, at=chosen: array[at], answers)
            part = draw(some, effort)
            n[:, chosen], m[:, chosen], L[:, chosen] = part.counts, part.means, part.factors
    return Draws(n, m, L)


def posterior_frames(answers: Answers) -> Frames:
    """Ellipsoids for the next round, around the posterior mean of each mean: see ``narrowed``."""
    draws = posterior_draws(answers, FRAMES)
    back = answers.frames.inverse
    mean = draws.means.mean(axis=0)
    off = draws.means - mean
    mean_var = np.einsum("ski,skj->kij", off, off) / len(off)
    wide = narrowed(draws.factors @ np.swapaxes(draws.factors, -1, -2)) + mean_var
    whiten = np.linalg.inv(np.linalg.cholesky((wide + np.swapaxes(wide, 1, 2)) / 2))
    return Frames(
        answers.frames.centres + np.einsum("kij,kj->ki", back, mean),
        whiten @ answers.frames.maps,
        whiten @ mean_var @ np.swapaxes(whiten, 1, 2),
    )


def narrowed(covariances: Floats) -> Floats:
    """(K, d, d) covariances for the next frames, from draws (S, K, d, d): as wide as their mean, but narrow where a class may be flat.

    Where noise hides a direction, its variance may be anything between zero and the noise. A frame as wide as the mean of
    these would hide it again, while one that is too narrow only clips. So the shape is the geometric mean of E[S^-1]^-1 and E[S]
    (too wide costs in reverse KL what too narrow costs in forward KL), with the size of E[S] where the two differ least.
    """
    wide = covariances.mean(axis=0)
    middle = geometric_mean(np.linalg.inv(np.linalg.inv(covariances).mean(axis=0)), wide)
    root = np.linalg.inv(np.linalg.cholesky(middle))
    ratio = np.linalg.eigvalsh(root @ wide @ np.swapaxes(root, 1, 2))[:, 0]
    return np.asarray(middle * ratio[:, None, None])


def _chains(effort: Effort, dim: int) -> int:
    """Monte Carlo chains per class: beyond twelve columns fewer, as each costs d^3."""
    return max(2, min(effort.chains, round(12 * (12 / dim) ** 2)))


def _sharp(last: Moments, counts: Floats) -> NDArray[np.bool_]:
    m = last.total / counts[:, None]
    covariance = last.second / counts[:, None, None] - m[:, :, None] * m[:, None, :]
    least = np.linalg.eigvalsh(covariance)[:, 0]
    return np.asarray(last.second_sd / counts < TUNING.prior.sharp * least)


def _direct(answers: Answers, effort: Effort) -> Draws:
    """The last answer, less a draw of its noise: its posterior under a flat prior."""
    last = answers.rounds[-1]
    d = last.total.shape[1]
    rng = np.random.default_rng(_SEED)

    def noise(sd: Floats, *shape: int) -> Floats:
        # As in the sampler, all classes see the same random numbers.
        z = rng.standard_normal((effort.keep * _chains(effort, d), 1, *shape))
        return np.asarray(z * sd.reshape(-1, *(1 for _ in shape)))

    n = np.maximum(answers.counts + noise(last.count_sd), fewest(d))
    m = (last.total + noise(last.total_sd, d)) / n[..., None]
    wild = noise(last.second_sd, d, d)
    # (E + E^T) / 2 has sd 1 on the diagonal and 1 / sqrt 2 off it, as the query's noise has.
    second = last.second + (wild + wild.swapaxes(-1, -2)) / 2
    covariance = second / n[..., None, None] - m[..., :, None] * m[..., None, :]
    return Draws(n, m, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64))


def _monte_carlo(answers: Answers, effort: Effort) -> Draws:
    """Hamiltonian Monte Carlo on everything that is known."""
    last, counts = answers.rounds[-1], answers.counts
    n_classes, d = last.total.shape
    posterior = Posterior(
        answers.rounds, answers.located, answers.shared, prior_exponent(d), prior_floor(d)
    )
    size = 1 + d + d * (d + 1) // 2
    start, scale = np.zeros((n_classes, size)), np.empty((n_classes, size))
    start[:, 0] = np.log(np.maximum(counts - fewest(d), 1.0))
    start[:, 1 : 1 + d], start[:, 1 + d :] = _near_the_answer(last, np.maximum(counts, fewest(d)))
    # The posterior standard deviations that noise alone would give; the sampler adapts one factor per class.
    scale[:, 0] = np.clip(last.count_sd / np.exp(start[:, 0]), 1e-4, 0.7)
    seen = np.maximum(counts, fewest(d))
    scale[:, 1 : 1 + d] = np.clip(last.total_sd / seen, 1e-7, 1.0)[:, None]
    scale[:, 1 + d :] = _factor_scale(start[:, 1 + d :], 0.7 * last.second_sd / seen, d)
    chains = _chains(effort, d)
    density = FewColumns(posterior, chains) if d <= MOST_COLUMNS else posterior
    theta = sample(density, start, scale, chains, effort.warm, effort.keep)
    # (keep, K, chains, D) -> (draws, K, D)
    log_excess, m, L, _ = unpack(theta.transpose(0, 2, 1, 3).reshape(-1, n_classes, size), d)
    return Draws(row_count(log_excess, d), m, L)


def _factor_scale(start: Floats, noise: Floats, d: int) -> Floats:
    """(K, d (d + 1) / 2) deviations of L's entries and of the ln of its diagonal if Sigma = L L^T has errors ``noise`` (K,).

    dSigma is about L dL, so an entry of column j has the error noise / L_jj, the ln of L_jj has noise / L_jj^2.
    """
    rows, cols = np.tril_indices(d)
    L = np.zeros((len(start), d, d))
    L[:, rows, cols] = start
    diagonal = np.exp(np.diagonal(L, axis1=1, axis2=2))
    L[:, np.arange(d), np.arange(d)] = diagonal
    size = np.where(rows == cols, 1.0, np.linalg.norm(L, axis=2)[:, rows])
    of = diagonal[:, cols] * np.where(rows == cols, diagonal[:, cols], 1.0)
    return np.asarray(np.clip(noise[:, None] / of, 1e-7 * size, 0.4 * size))


def _near_the_answer(last: Moments, n: Floats) -> tuple[Floats, Floats]:
    """Means (K, d) and factors (K, d (d + 1) / 2) to start from: the last answer, shrunk by its noise.

    A class with heavier tails than its frame was made for lies partly outside it, and chains that start at the frame
    do not converge (rows of Zipf lengths: 450 nats away, and variances a fifth too small).
    """
    d = last.total.shape[1]
    m = last.total * (n / (n**2 + last.total_sd**2))[:, None]
    seen = last.second / n[:, None, None] - m[:, :, None] * m[:, None, :]
    values, vectors = np.linalg.eigh(seen)
    # The noise of an eigenvalue (frames.spectrum); those that it hides have a prior N(1, 1), in the frame's units.
    error = (last.second_sd / n * np.sqrt(d / 2))[:, None]
    hidden = (np.maximum(values, 0.0) + error**2) / (1 + error**2)
    values = np.where(values > 2 * error, values, hidden)
    values = np.maximum(values, 1e-3)
    L = np.linalg.cholesky((vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2))
    diag = np.arange(d)
    L[:, diag, diag] = np.log(L[:, diag, diag])
    return m, L[(slice(None), *np.tril_indices(d))]
