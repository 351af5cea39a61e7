"""Labels that mix inside every cell: noisy class moments bend a coarse guess q0 of the soft labels.

The guess is q0_n = B_c(n), B the posterior mean of class shares per coarse cell. Moments are taken
in each class's own whitened coordinates u = W_k (x - mu_k), clipped to a ball (X is public, so the
clip is a public choice): phi_k = (a, b u, c u u^T). The tilted labels
    q_nk ~ q0_nk exp(lambda_k^T phi_k(x_n)),   lambda = argmin  sum_n ln Z_n - lambda^T T
                                                       + sum_k tau_k sigma^2 ||lambda_k||^2 / 2
are the posterior mode of labels drawn from q0 once T = sum_n phi_k(x_n) y_nk + noise is seen;
tau_k < 1 says that q0 itself is uncertain, and is fitted by empirical Bayes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import beta

from privgmm.model.mixture import Floats
from privgmm.privacy.class_moments import ClassMomentsQuery, Shape
from privgmm.proven.label_moments import Moments, covariances
from privgmm.statistics.class_moments import GRID, ClassMoments, grid_scale

# Clip radii in standard deviations of a class; rows further out keep their direction only. The
# smallest is the quietest; a wider one is taken when its noise would still be negligible.
RADII = (2.0, 3.0, 4.0, 6.0, 8.0)
_NEGLIGIBLE_KL = 0.002
# Dirichlet prior of the class shares of a cell: a few classes each.
_ALPHA = 0.3
_QUANTILES = 64
_SWEEPS, _BURN = 400, 100
_TAUS = np.geomspace(1e-3, 30, 40)


def query_shape(dim: int, radius: float) -> Shape:
    """Split of one row's unit norm over count, mean and second moment.

    Expected KL to first order is proportional to 1/a^2 + d/b^2 + d(d+1)/(4 c^2) in class-whitened
    units (b, c at radius R); least at a^2 : b^2 : c^2 = 1 : sqrt(d) R : sqrt(d(d+1)/4) R^2.
    """
    a2, b2, c2 = _costs(dim, radius)
    total = a2 + b2 + c2
    return Shape(math.sqrt(a2 / total), math.sqrt(b2 / total), math.sqrt(c2 / total))


def _costs(dim: int, radius: float) -> tuple[float, float, float]:
    return 1.0, math.sqrt(dim) * radius, math.sqrt(dim * (dim + 1) / 4) * radius**2


def clip_radius(n_rows: int, n_classes: int, dim: int, mu: float) -> float:
    """The widest clip whose noise costs next to nothing, or the narrowest one."""
    cheap = [r for r in RADII if moment_error(n_rows, n_classes, dim, mu, r) < _NEGLIGIBLE_KL]
    return max(cheap, default=RADII[0])


def moment_error(
    n_rows: int, n_classes: int, dim: int, mu: float, radius: float = RADII[0]
) -> float:
    """First-order expected KL that the noise of a moment round costs, classes of equal size."""
    return (sum(_costs(dim, radius)) * n_classes / (n_rows * mu)) ** 2


def cell_shares(table: Floats, sizes: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """(M, K) posterior mean of class shares per cell, given noisy counts and public cell sizes.

    Prior Dirichlet(alpha): of two entries with a given sum, the fraction is Beta(alpha, alpha),
    so disjoint pairs are redrawn exactly on a grid of prior quantiles.
    """
    n_cells, n_classes = table.shape
    quantiles = np.clip((np.arange(_QUANTILES) + 0.5) / _QUANTILES, 0, 1)
    t = beta.ppf(quantiles, _ALPHA, _ALPHA)
    shares = np.full((n_cells, n_classes), 1 / n_classes)
    seen = table / np.maximum(sizes, 1)[:, None]
    weight = ((sizes / sigma) ** 2 / 2)[:, None, None]
    total = np.zeros_like(shares)
    for sweep in range(_BURN + _SWEEPS):
        order = rng.permutation(n_classes)
        half = n_classes // 2
        i, j = order[:half], order[half : 2 * half]
        both = shares[:, i] + shares[:, j]
        left = both[:, :, None] * t
        error = (left - seen[:, i, None]) ** 2 + (both[:, :, None] - left - seen[:, j, None]) ** 2
        pick = np.argmax(rng.gumbel(size=left.shape) - weight * error, axis=2)
        shares[:, i] = np.take_along_axis(left, pick[:, :, None], axis=2)[:, :, 0]
        shares[:, j] = both - shares[:, i]
        if sweep >= _BURN:
            total += shares
    return np.asarray(total / total.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Frames:
    """Per class a centre and a lower-triangular map of its clip ellipsoid onto the unit ball."""

    query: ClassMomentsQuery

    @staticmethod
    def around(guess: Moments, scale: Floats, radius: float = RADII[0]) -> Frames:
        sigma = covariances(guess, scale) + np.diag(1e-3 * scale**2)
        maps = np.stack([np.linalg.inv(np.linalg.cholesky(s)) for s in sigma]) / radius
        kernel = ClassMoments(guess.means, np.tril(maps))
        shape = query_shape(scale.size, radius)
        return Frames(ClassMomentsQuery(kernel, shape, "class moments, label level"))

    def features(self, X: Floats, k: int) -> Floats:
        """(n, m) array phi_k: what a row of class k adds to the query, in noise steps."""
        kernel, shape = self.query.kernel, self.query.shape
        u = (X - kernel.centres[k]) @ kernel.transforms[k].T
        norm = np.sqrt(np.einsum("ij,ij->i", u, u))
        u *= (grid_scale(X.shape[1]) / GRID / np.maximum(norm, 1.0))[:, None]
        i, j = np.triu_indices(X.shape[1])
        second = u[:, i] * u[:, j] * np.where(i == j, 1.0, math.sqrt(2.0)) * shape.second
        return np.hstack([np.full((X.shape[0], 1), shape.count), shape.mean * u, second])


@dataclass(frozen=True, eq=False)
class Tilt:
    """lambda (K, m) with its frames: q_nk ~ q0_nk exp(lambda_k^T phi_k(x_n))."""

    frames: Frames
    slopes: Floats

    def labels(self, X: Floats, guess: Floats) -> Floats:
        bend = [self.frames.features(X, k) @ s for k, s in enumerate(self.slopes)]
        score = np.log(np.maximum(guess, 1e-300)) + np.stack(bend, axis=1)
        return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))

    def totals(self, X: Floats, labels: Floats) -> Floats:
        """(K, m) what the query would count, without noise, if these were the labels."""
        return np.stack([q @ self.frames.features(X, k) for k, q in enumerate(labels.T)])


def fit_tilt(
    frames: Frames, X: Floats, guess: Floats, totals: Floats, sigma: float, weight: float = 1.0
) -> Tilt:
    """Fit the slopes to noisy ``totals`` (K, m), in noise steps; each row stands for ``weight`` rows."""
    phi = [frames.features(X, k) for k in range(guess.shape[1])]
    taus = [_trust(p, g, t, sigma, weight) for p, g, t in zip(phi, guess.T, totals, strict=True)]
    ridge = sigma**2 * np.array(taus)[:, None]
    log_guess = np.log(np.maximum(guess, 1e-300))

    def objective(flat: Floats) -> tuple[float, Floats]:
        slopes = flat.reshape(totals.shape)
        score = log_guess + np.stack([p @ s for p, s in zip(phi, slopes, strict=True)], axis=1)
        log_z = logsumexp(score, axis=1)
        q = np.exp(score - log_z[:, None])
        expected = weight * np.stack([q[:, k] @ p for k, p in enumerate(phi)])
        value = weight * log_z.sum() - (slopes * totals).sum() + 0.5 * (ridge * slopes**2).sum()
        return float(value), (expected - totals + ridge * slopes).ravel()

    start = np.zeros(totals.size)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return Tilt(frames, found.x.reshape(totals.shape))


def _trust(phi: Floats, guess: Floats, total: Floats, sigma: float, weight: float) -> float:
    """tau_k by empirical Bayes: T ~ N(phi^T q0, sigma^2 I + C / tau), C the variance of labels ~ q0."""
    spread, axes = np.linalg.eigh((phi * (weight * guess * (1 - guess))[:, None]).T @ phi)
    gap = axes.T @ (total - weight * (guess @ phi))
    variance = sigma**2 + np.maximum(spread, 0.0)[:, None] / _TAUS
    fit = -0.5 * (gap[:, None] ** 2 / variance + np.log(variance)).sum(axis=0)
    return float(_TAUS[np.argmax(fit - np.log(_TAUS) ** 2 / 18)])
