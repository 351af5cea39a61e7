"""EM of full-covariance Gaussian mixtures and k-means, for rows that anyone may see.

The same steps, ridge and stopping rule as scikit-learn's GaussianMixture, whose results it gives from the same start, in a form
that small mixtures of few columns gain from: with phi(x) = (1, x, x_i x_j for i <= j) the log-density of every component is linear
in phi and its moments are sums of phi, so that a step of EM is two matrix products and one softmax. scikit-learn takes
several times as long for a thousand rows, and half a second to import.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from privgmm.types import Codes, Floats

# How EM starts: rows of the cells of k-means, or single rows far apart.
Init = Literal["kmeans", "k-means++"]
# Of a unit variance, so that duplicated rows do not make a component collapse.
RIDGE = 1e-4
# EM ends when a step gains less than this, in nats per row.
LITTLE = 1e-3
# Steps of k-means, so many at a time and so often at most; they end when no centre moves by this part of the rows' spread.
_LLOYD, _LLOYDS, _STILL = 4, 6, 1e-3
# Entries of phi that are made at a time: so many stay near the processor.
_AT_ONCE = 1 << 17


class Gaussians(NamedTuple):
    """weights (M,), means (M, d) and covariances (M, d, d)."""

    weights: Floats
    means: Floats
    covariances: Floats


class Run(NamedTuple):
    """A mixture and the mean log-likelihood of a row under it."""

    mixture: Gaussians
    likelihood: float


def em(X: Floats, start: Gaussians, steps: int, little: float = LITTLE) -> Run:
    """At most so many steps of EM on rows X (n, d) with unit variances."""
    # About their mean, where squares lose least.
    origin = X.mean(axis=0)
    rows = _Rows(X - origin)
    mixture = start._replace(means=start.means - origin)
    before = -math.inf
    for _ in range(steps):
        now, sums = rows.step(mixture)
        mixture = _from_sums(sums, X.shape[1])
        if abs(now - before) < little:
            break
        before = now
    return Run(mixture._replace(means=mixture.means + origin), rows.step(mixture)[0])


def from_labels(X: Floats, labels: Codes, size: int) -> Gaussians:
    """One Gaussian for each of the groups of rows."""
    origin = X.mean(axis=0)
    found = _from_sums(_Rows(X - origin).sums_of(labels, size), X.shape[1])
    return found._replace(means=found.means + origin)


def first_guess(X: Floats, size: int, init: Init, rng: np.random.Generator) -> Gaussians:
    """Where EM starts."""
    if init == "kmeans":
        return from_labels(X, k_means(X, size, 1, rng)[1], size)
    narrow = np.tile(RIDGE * np.eye(X.shape[1]), (size, 1, 1))
    return Gaussians(np.full(size, 1 / size), _spread(X, size, rng), narrow)


def k_means(X: Floats, size: int, runs: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
    """Centres (size, d) and the centre (n,) next to each row: the tightest of some runs."""
    from scipy.cluster.vq import kmeans2, vq

    best, found = math.inf, (np.empty(0), np.empty(0, np.intp))
    spread = float(X.std())
    for _ in range(runs):
        with warnings.catch_warnings():
            # A centre that loses all of its rows stays where it is.
            warnings.simplefilter("ignore", UserWarning)
            centres = _spread(X, size, rng)
            for _ in range(_LLOYDS):
                before, centres = centres, kmeans2(X, centres, _LLOYD, minit="matrix")[0]
                if np.abs(centres - before).max() <= _STILL * spread:
                    break
        labels, distance = vq(X, centres)
        if (off := float(distance @ distance)) < best:
            best, found = off, (centres, labels.astype(np.intp))
    return found


def _spread(X: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Rows far apart (k-means++): the best of some, drawn by their squared distance to those chosen before."""
    tried = 2 + int(math.log(size))
    squares = np.einsum("ij,ij->i", X, X)

    def distances(to: Floats) -> Floats:
        """(m, n) squared distances of all rows to the rows ``to`` (m, d)."""
        found = squares - 2 * (to @ X.T) + np.einsum("ij,ij->i", to, to)[:, None]
        return np.asarray(np.maximum(found, 0.0))

    chosen = [int(rng.integers(X.shape[0]))]
    nearest = distances(X[chosen])[0]
    while len(chosen) < size:
        ends = np.cumsum(nearest)
        lots = np.searchsorted(ends, rng.random(tried) * ends[-1], side="right")
        lots = np.minimum(lots, X.shape[0] - 1)
        each = np.minimum(nearest, distances(X[lots]))
        best = int(np.argmin(each.sum(axis=1)))
        chosen.append(int(lots[best]))
        nearest = each[best]
    return X[chosen]


def quadratic(X: Floats) -> Floats:
    """(1 + d + d (d + 1) / 2, n) array phi of rows X (n, d): 1, x and the products x_i x_j, i <= j."""
    n, d = X.shape
    out = np.empty((1 + d + d * (d + 1) // 2, n))
    out[0] = 1.0
    x = out[1 : 1 + d]
    x[:] = X.T
    at = 1 + d
    for i in range(d):
        np.multiply(x[i], x[i:], out=out[at : at + d - i])
        at += d - i
    return out


class _Rows:
    """Rows for many steps: their phi at once if it is small, else made again in every step."""

    def __init__(self, X: Floats) -> None:
        self.X = X
        n, d = X.shape
        self.at_once = max(_AT_ONCE // (1 + d + d * (d + 1) // 2), 1)
        self.held = [quadratic(X)] if n <= self.at_once else None

    def _blocks(self) -> Iterator[Floats]:
        if self.held is not None:
            return iter(self.held)
        starts = range(0, self.X.shape[0], self.at_once)
        return (quadratic(self.X[i : i + self.at_once]) for i in starts)

    def sums_of(self, labels: Codes, size: int) -> Floats:
        """(size, 1 + d + ...) sums of phi over groups of rows."""
        starts = range(0, self.X.shape[0], self.at_once)
        groups = (np.eye(size)[:, labels[i : i + self.at_once]] for i in starts)
        parts = (group @ phi.T for group, phi in zip(groups, self._blocks(), strict=True))
        return np.asarray(sum(parts))

    def step(self, mixture: Gaussians) -> tuple[float, Floats]:
        """The mean log-likelihood of a row, and sums (M, 1 + d + ...) of phi by responsibilities."""
        weights = _as_weights(mixture)
        sums, total = np.zeros_like(weights), 0.0
        for phi in self._blocks():
            score = weights @ phi
            top = score.max(axis=0)
            score -= top
            np.exp(score, out=score)
            z = score.sum(axis=0)
            score /= z
            total += float(top.sum() + np.log(z).sum())
            sums += score @ phi.T
        return total / self.X.shape[0], sums


def coefficients(offsets: Floats, means: Floats, precisions: Floats) -> Floats:
    """(M, 1 + d + ...) those of phi in offset_m - (x - mean_m)^T P_m (x - mean_m) / 2."""
    i, j = np.triu_indices(means.shape[1])
    linear = np.einsum("kij,kj->ki", precisions, means)
    constant = offsets - (linear * means).sum(axis=1) / 2
    products = precisions[:, i, j] * np.where(i == j, -0.5, -1.0)
    return np.hstack([constant[:, None], linear, products])


def _as_weights(mixture: Gaussians) -> Floats:
    """(M, 1 + d + ...) the coefficients of phi in ln w_m N(x | m, S)."""
    w, m, S = mixture
    volume = np.log(np.diagonal(np.linalg.cholesky(S), axis1=1, axis2=2)).sum(axis=1)
    offsets = np.log(w) - volume - m.shape[1] * math.log(2 * math.pi) / 2
    return coefficients(offsets, m, np.asarray(np.linalg.inv(S), dtype=np.float64))


def _from_sums(sums: Floats, d: int) -> Gaussians:
    """The Gaussians with these sums of phi."""
    counts = sums[:, 0] + 10 * np.finfo(np.float64).eps
    means = sums[:, 1 : 1 + d] / counts[:, None]
    i, j = np.triu_indices(d)
    second = np.empty((counts.size, d, d))
    second[:, i, j] = second[:, j, i] = sums[:, 1 + d :] / counts[:, None]
    second -= means[:, :, None] * means[:, None, :]
    second[:, range(d), range(d)] += RIDGE
    return Gaussians(counts / counts.sum(), means, second)
