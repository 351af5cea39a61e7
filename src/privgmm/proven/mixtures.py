"""Gaussian mixtures of public or synthetic rows, merged from many components down to few, and several Gaussians inside a released class.

EM converges to a mixture near its start, and k-means starts miss clusters that are flat or lie inside one another.
A mixture with many components finds them, and merging keeps them: of all pairs of components the one whose union costs
the least likelihood is merged, EM runs again, and so on until few components are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from privgmm.proven.em import LITTLE, Gaussians, Init, Run, em, first_guess
from privgmm.types import Codes, Floats

# Steps of EM at sizes that are only passed through.
_PASSING = 10
_ALL = 100
# The last run of EM ends when a step gains less than this, in nats per row, or after so many steps.
_PATIENT, _VERY_LITTLE = 300, 1e-5
# A number for every class, or "auto": as many as rows and noise can carry.
Wanted = int | Literal["auto"]
# Numbers of components that "auto" chooses from, ascending. A class of 5,000 rows of 20 columns still gains from eight (MNIST,
# held-out log-likelihood per row at 1, 4 and 8 components: -24.3, -20.6 and -19.4).
LADDER = (1, 2, 4, 8)
MOST = 64
# "auto" takes more components only if they gain this many nats per row: less can be noise of the soft labels (seen with 4,000 rows
# of one Gaussian), or too little to matter to a user.
GAIN = 0.05
# Weights (C,), means (C, d) and covariances (C, d, d) of the components of one class.
Parts = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted mixture: weights (M,), means (M, d), covariances (M, d, d), and its BIC on the rows."""

    weights: Floats
    means: Floats
    covariances: Floats
    bic: float

    @property
    def size(self) -> int:
        """The number of components."""
        return int(self.weights.size)

    @property
    def parts(self) -> Parts:
        """Weights, means and covariances, without the BIC."""
        return self.weights, self.means, self.covariances


def fitted(X: Floats, size: int, runs: int, seed: int) -> Fitted:
    """The best of some runs of EM from k-means, for rows with unit variances."""
    rng = np.random.default_rng(seed)
    found = [em(X, first_guess(X, size, "kmeans", rng), _ALL) for _ in range(runs)]
    return _with_bic(max(found, key=lambda run: run.likelihood), X)


def merged_down(
    X: Floats, top: int, init: Init, sizes: range, seed: int, thorough: bool = True
) -> Fitted:
    """The mixture with the best BIC among the ``sizes``, found by merging down from ``top`` components.

    Unless ``thorough``, EM runs to its end for the chosen mixture only.
    """
    steps = _ALL if thorough else _PASSING
    start = first_guess(X, top, init, np.random.default_rng(seed))
    at = _with_bic(em(X, start, steps), X)
    found = [at] if top in sizes else []
    for size in range(top - 1, sizes.start - 1, -1):
        at = _em(X, joined(at), steps if size in sizes else _PASSING)
        found += [at] if size in sizes else []
    best = min(found, key=lambda mixture: mixture.bic)
    if thorough:
        return best
    return _em(X, best.parts, _ALL)


def merged(X: Floats, mixture: Fitted, size: int) -> Fitted:
    """A larger mixture merged pair by pair down to ``size`` components, with EM on the rows at the end."""
    while mixture.size > size:
        mixture = Fitted(*joined(mixture), math.nan)
    return _em(X, mixture.parts, _ALL)


def polished(X: Floats, mixture: Fitted) -> Fitted:
    """The mixture after many more steps of EM: where components overlap, each step gains little and many gain much."""
    return _em(X, mixture.parts, _PATIENT, _VERY_LITTLE)


def joined(mixture: Fitted) -> Parts:
    """Weights, means and covariances after the cheapest pair of components was merged into one Gaussian.

    If every row belongs to one component, merging i and j costs, in nats per row,
    (w ln det S - w_i ln det S_i - w_j ln det S_j) / 2 - (w ln w - w_i ln w_i - w_j ln w_j),
    w = w_i + w_j, S the covariance of both together.
    """
    w, m, S = mixture.weights, mixture.means, mixture.covariances
    i, j = np.array(list(combinations(range(mixture.size), 2))).T
    both = w[i] + w[j]
    centre = (w[i, None] * m[i] + w[j, None] * m[j]) / both[:, None]
    gap = m[i] - m[j]
    apart = (w[i] * w[j] / both)[:, None, None] * gap[:, :, None] * gap[:, None, :]
    spread = (w[i, None, None] * S[i] + w[j, None, None] * S[j] + apart) / both[:, None, None]
    volume, entropy = w * np.linalg.slogdet(S)[1] / 2, w * np.log(w)
    cost = both * np.linalg.slogdet(spread)[1] / 2 - volume[i] - volume[j]
    cost -= both * np.log(both) - entropy[i] - entropy[j]
    best = int(np.argmin(cost))
    kept = np.delete(np.arange(mixture.size), (i[best], j[best]))
    return (
        np.append(w[kept], both[best]),
        np.concatenate([m[kept], centre[best : best + 1]]),
        np.concatenate([S[kept], spread[best : best + 1]]),
    )


def _em(X: Floats, start: Parts, steps: int, little: float = LITTLE) -> Fitted:
    weights, means, covariances = start
    return _with_bic(
        em(X, Gaussians(weights / weights.sum(), means, covariances), steps, little), X
    )


def _with_bic(run: Run, X: Floats) -> Fitted:
    n, d = X.shape
    size = run.mixture.weights.size
    free = size * (1 + d + d * (d + 1) // 2) - 1
    return Fitted(*run.mixture, free * math.log(n) - 2 * n * run.likelihood)


class Components(NamedTuple):
    """The components of all classes: weights (M,) in the whole model, means (M, d), covariances (M, d, d) and classes (M,)."""

    weights: Floats
    means: Floats
    covariances: Floats
    owners: Codes


def ladder(wanted: Wanted, most: float) -> tuple[int, ...]:
    """The numbers of components to choose from where a class can have at most ``most``; at least one."""
    if wanted == "auto":
        return tuple(size for size in LADDER if size <= max(most, 1))
    return (max(int(min(wanted, most)), 1),)


def standardised(parts: Parts) -> Parts:
    """The components after x -> T^(-1/2) (x - m), m and T the mean and covariance of the whole mixture.

    Together they then have mean 0 and covariance I, and the symmetric root moves them as little as possible.
    """
    w, m, S = parts
    w = w / w.sum()
    off = m - w @ m
    T = np.tensordot(w, S + off[:, :, None] * off[:, None, :], axes=1)
    values, axes = np.linalg.eigh((T + T.T) / 2)
    A = (axes / np.sqrt(values)) @ axes.T
    moved = A @ S @ A
    return w, off @ A, (moved + np.swapaxes(moved, 1, 2)) / 2


def into_classes(released: tuple[Floats, Floats, Floats], fits: Sequence[Parts]) -> Components:
    """Turn the components of each class, given in its whitened coordinates, into parts of the released classes.

    They are standardised first, so that every class keeps exactly the released weight, mean and covariance: with Sigma = L L^T,
    mu_kc = mu_k + L u_kc and Sigma_kc = L S_kc L^T.
    """
    weights, means, covariances, owners = [], [], [], []
    for k, (pi, mu, sigma) in enumerate(zip(*released, strict=True)):
        w, m, S = standardised(fits[k])
        L = np.linalg.cholesky(sigma)
        wide = L @ S @ L.T
        weights.append(pi * w)
        means.append(mu + m @ L.T)
        covariances.append((wide + np.swapaxes(wide, 1, 2)) / 2)
        owners.append(np.full(w.size, k))
    return Components(*(np.concatenate(part) for part in (weights, means, covariances, owners)))


def bell(dim: int) -> Parts:
    """One component: the Gaussian itself."""
    return np.ones(1), np.zeros((1, dim)), np.eye(dim)[None]
