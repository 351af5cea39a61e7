"""Soft labels from the cells, tilted until they agree with noisy class moments.

Given a guess q0 of the labels, the tilted labels
    q_nk ~ q0_nk exp(w_n lambda_k^T phi_k(x_n)),   lambda = argmin  sum_n ln Z_n - lambda^T T
                                                       + sum_k tau_k sigma^2 ||lambda_k||^2 / 2
are the posterior mode of labels drawn from q0 once T = sum_n w_n phi_k(x_n) y_nk + noise is seen; w_n is the
share of row n, 1 unless its person has others. tau < 1
says that q0 itself is uncertain: labels vary 1/tau times as much as independent draws from q0 would.
It is fitted by empirical Bayes; draws for the errors have every tau that is likely. When noise vanishes beside the number of rows, the tilted labels have
exactly the moments T, whatever q0 was (as long as it is nowhere zero).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from privgmm.proven.label.frames import ClipEllipsoids, Coordinates
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats

_TAUS = np.geomspace(1e-4, 30, 50)
# Prior of ln tau: normal with this standard deviation around 0.
_TAU_SD = 3.0
# Rows whose labels are tilted at a time.
_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Guess:
    """Soft labels (n, L) of some rows, and what the answer says about them.

    shares : (n,) w_n, how much each row counts
    trust : (K,) tau
    gaps : (K, m) what the totals of the guess miss of the answer
    curvature : (K, m, m) variance of the totals of labels drawn from the guess
    held : (K,) whether the labels of a class follow clusters
    log_evidence : (K,) of the answer under this guess, by class
    """

    labels: Floats
    shares: Floats
    trust: Floats
    gaps: Floats
    curvature: Floats
    held: NDArray[np.bool_]
    log_evidence: Floats


@dataclass(frozen=True, eq=False)
class Answer:
    """Noisy totals (K, m) in noise steps, and the standard deviation of their noise."""

    frames: ClipEllipsoids
    totals: Floats
    sigma: float


def weigh(
    labels: Floats,
    held: NDArray[np.bool_],
    shares: Floats,
    coordinates: Sequence[Floats],
    answer: Answer,
    weight: float,
    tuning: Tuning,
) -> Guess:
    """tau and evidence of a guess: T ~ N(phi^T q0, sigma^2 I + C / tau), C the variance of labels ~ q0.

    labels (n, L), shares (n,) and coordinates (K arrays (n, d)) are of rows that stand for ``weight`` rows each;
    ``held`` (L,) says which labels follow clusters.
    """
    n = labels.shape[0]
    probe = slice(None, None, max(1, -(-n // tuning.probe_rows)))
    trust, evidence = np.empty((2, len(coordinates)))
    gaps, curvature = [], []
    for k, u in enumerate(coordinates):
        q = labels[probe, k]
        phi = answer.frames.contributions(u[probe])
        spread = weight * n / q.size * q * (1 - q) * shares[probe] ** 2
        C = (phi * spread[:, None]).T @ phi
        gap = answer.totals[k] - weight * answer.frames.totals(u, labels[:, k] * shares)
        trust[k], evidence[k] = _trust(gap, C, answer.sigma, tuning.trust_sd[int(held[k])])
        gaps.append(gap)
        curvature.append(C)
    known = held[: len(coordinates)]
    return Guess(labels, shares, trust, np.array(gaps), np.array(curvature), known, evidence)


def _trust(gap: Floats, C: Floats, sigma: float, sd: float) -> tuple[float, float]:
    """The tau of gap ~ N(0, sigma^2 I + C / tau) with the largest posterior, and its log; ln tau is N(0, sd^2)."""
    fit = _trust_posterior(gap, C, sigma, 0.0, sd)
    best = int(np.argmax(fit))
    return float(_TAUS[best]), float(fit[best])


def _trust_posterior(gap: Floats, C: Floats, sigma: float, mean: float, sd: float) -> Floats:
    """Log posterior, up to a constant, of every tau of _TAUS, if ln tau is N(mean, sd^2)."""
    spread, axes = np.linalg.eigh(C)
    variance = sigma**2 + np.maximum(spread, 0.0)[:, None] / _TAUS
    fit = -0.5 * ((axes.T @ gap)[:, None] ** 2 / variance + np.log(variance)).sum(axis=0)
    return np.asarray(fit - 0.5 * ((np.log(_TAUS) - mean) / sd) ** 2)


def likely_trusts(guess: Guess, answer: Answer, wrong: float, tuning: Tuning) -> Floats:
    """(2, K, Q) equally likely values of tau by what the guess misses of counts and sums, and of second moments.

    One answer says little about tau, so that its likeliest value alone would tell errors too small. Guesses are usually worse at counts
    and sums than at second moments. Labels of classes held to clusterings are ``wrong`` times as far off as these say.
    """
    first = 1 + answer.frames.dim
    levels = (np.arange(tuning.trusts) + 0.5) / tuning.trusts
    out = np.empty((2, len(guess.gaps), tuning.trusts))
    for order, part in enumerate((slice(0, first), slice(first, None))):
        for k, (gap, C, held) in enumerate(
            zip(guess.gaps, guess.curvature, guess.held, strict=True)
        ):
            mean, sd = tuning.trust_prior[order][int(held)]
            mean -= 2 * math.log(wrong) if held else 0.0
            fit = _trust_posterior(gap[part], C[part, part], answer.sigma, mean, sd)
            likely = np.exp(fit - fit.max())
            below = (likely.cumsum() - likely / 2) / likely.sum()
            out[order, k] = np.exp(np.interp(levels, below, np.log(_TAUS)))
    return out


@dataclass(frozen=True, eq=False)
class Tilt:
    """lambda (K, m) with its frames: q_nk ~ q0_nk exp(w_n lambda_k^T phi_k(x_n))."""

    frames: ClipEllipsoids
    slopes: Floats

    def labels(self, coordinates: Sequence[Floats], guess: Floats, shares: Floats) -> Floats:
        """(n, L) tilted labels; the label "none of the K classes" is not tilted."""
        n, n_labels = guess.shape
        out = np.empty((n_labels, n))
        for some in _blocks(n):
            us = [Coordinates(self.frames, u[some]) for u in coordinates]
            score = np.log(np.maximum(guess[some].T, 1e-300))
            out[:, some] = _tilted(self.slopes, us, score, shares[some])[0]
        return out.T


def _blocks(n: int) -> Iterator[slice]:
    """All of n rows, so many at a time as stay near the processor."""
    return (slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE))


def _tilted(
    slopes: Floats, coordinates: Sequence[Coordinates], score: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    """Tilted labels (L, n) and ln Z (n,), from the logarithms (L, n) of the guess, which are overwritten."""
    for k, u in enumerate(coordinates):
        score[k] += shares * u.scores(slopes[k])
    top = score.max(axis=0)
    score -= top
    np.exp(score, out=score)
    z = score.sum(axis=0)
    score /= z
    return score, top + np.log(z)


def label_covariance(left: Sequence[Floats], right: Sequence[Floats], q: Floats) -> Floats:
    """sum_n (delta_kl q_nk - q_nk q_nl) left_k right_l^T, in blocks: labels drawn from q add up to one."""
    blocks: list[list[Floats]] = []
    for k, a in enumerate(left):
        # With itself a list has a symmetric covariance: blocks below the diagonal are there already.
        row = [blocks[j][k].T for j in range(k)] if left is right else []
        for j in range(len(row), len(right)):
            row.append((a * (q[:, k] * ((k == j) - q[:, j]))[:, None]).T @ right[j])
        blocks.append(row)
    return np.vstack([np.hstack(row) for row in blocks])


def fit_tilt(
    answer: Answer,
    guess: Guess,
    coordinates: Sequence[Floats],
    weight: float,
    tuning: Tuning,
    start: Tilt | None = None,
) -> Tilt:
    """Fit the slopes to the noisy totals; each row stands for ``weight`` rows."""
    problem = _Problem(answer, guess, coordinates, weight)
    slopes = np.zeros_like(answer.totals) if start is None else start.slopes
    fit = _newton if answer.totals.size <= tuning.most_coupled else _quasi_newton
    return Tilt(answer.frames, fit(problem, slopes, tuning))


@dataclass(frozen=True, eq=False)
class _Problem:
    answer: Answer
    guess: Guess
    coordinates: Sequence[Floats]
    weight: float

    @property
    def ridge(self) -> Floats:
        return np.repeat(
            self.answer.sigma**2 * self.guess.trust[:, None], self.answer.totals.shape[1], 1
        )

    @cached_property
    def log_guess(self) -> Floats:
        """(L, n) logarithms of the guess."""
        return np.log(np.maximum(self.guess.labels.T, 1e-300, order="C"))

    def objective(self, slopes: Floats) -> tuple[float, Floats, Floats]:
        """Its value, its gradient (K, m), and the tilted labels."""
        frames, totals = self.answer.frames, self.answer.totals
        q, found, log_z = np.empty(self.log_guess.shape), np.zeros_like(totals), 0.0
        for some in _blocks(self.guess.shares.size):
            us = [Coordinates(frames, u[some]) for u in self.coordinates]
            shares = self.guess.shares[some]
            part, z = _tilted(slopes, us, self.log_guess[:, some].copy(), shares)
            found += np.stack([u.totals(q_k * shares) for u, q_k in zip(us, part, strict=False)])
            log_z += float(z.sum())
            q[:, some] = part
        value = self.weight * log_z - float((slopes * totals).sum())
        value += 0.5 * float((self.ridge * slopes**2).sum())
        return value, self.weight * found - totals + self.ridge * slopes, q.T


def _newton(problem: _Problem, slopes: Floats, tuning: Tuning) -> Floats:
    """Damped Newton steps, the curvature taken from some of the rows."""
    answer, n = problem.answer, problem.guess.labels.shape[0]
    rows = max(tuning.probe_rows, tuning.newton_rows * slopes.size)
    probe = slice(None, None, max(1, -(-n // rows)))
    shares = problem.guess.shares[probe, None]
    phi = [answer.frames.contributions(u[probe]) * shares for u in problem.coordinates]
    weight = problem.weight * n / phi[0].shape[0]
    ridge = problem.ridge.ravel()
    value, gradient, q = problem.objective(slopes)
    for _ in range(tuning.newton_steps):
        if np.abs(gradient).max() <= tuning.tilt_close * answer.sigma:
            break
        H = weight * label_covariance(phi, phi, q[probe])
        H[np.diag_indices_from(H)] += ridge + 1e-12 * np.trace(H) / len(H)
        step = -np.linalg.solve(H, gradient.ravel()).reshape(slopes.shape)
        slope, size = float((step * gradient).sum()), 1.0
        while True:
            found = problem.objective(slopes + size * step)
            if found[0] <= value + 1e-4 * size * slope or size < 1e-6:
                break
            size /= 2
        slopes = slopes + size * step
        value, gradient, q = found
    return slopes


def _quasi_newton(problem: _Problem, slopes: Floats, tuning: Tuning) -> Floats:
    """L-BFGS in coordinates nu = L^T lambda, L L^T the curvature of each class at the guess."""
    shape = slopes.shape
    factors = [
        np.linalg.cholesky(C + np.diag(r + 1e-9 * np.trace(C) / len(C)))
        for C, r in zip(problem.guess.curvature, problem.ridge, strict=True)
    ]

    def slopes_of(nu: Floats) -> Floats:
        each = zip(factors, nu.reshape(shape), strict=True)
        return np.stack([solve_triangular(L, v, lower=True, trans="T") for L, v in each])

    def objective(nu: Floats) -> tuple[float, Floats]:
        value, gradient, _ = problem.objective(slopes_of(nu))
        each = zip(factors, gradient, strict=True)
        return value, np.concatenate([solve_triangular(L, g, lower=True) for L, g in each])

    low, high = tuning.tilt_steps
    steps = tuning.tilt_work / (problem.coordinates[0].size * shape[1])
    # A gradient g in nu is an error L g of the totals, which must be small compared with their noise.
    largest = max(float(np.linalg.norm(L, 2)) for L in factors)
    close = tuning.tilt_close * min(1.0, problem.answer.sigma / largest)
    # Imported here: it takes a tenth of a second, and few releases tilt labels.
    from scipy.optimize import minimize

    found = minimize(
        objective,
        np.concatenate([L.T @ s for L, s in zip(factors, slopes, strict=True)]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": min(max(int(steps), low), high), "gtol": close, "ftol": 1e-13},
    )
    return slopes_of(found.x)
