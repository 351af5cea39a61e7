"""Counts, means and covariances of classes under (soft) labels, and draws of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.types import Floats

# Keeps covariances of duplicated rows or constant columns invertible; far below any real spread.
_JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class Moments:
    """counts (K,), means (K, d) and centred second moments (K, d, d), not divided by the count."""

    counts: Floats
    means: Floats
    scatter: Floats

    @staticmethod
    def total(parts: Sequence[Moments]) -> Moments:
        """Of several chunks of rows together."""
        counts = np.sum([p.counts for p in parts], axis=0)
        sums = np.sum([p.counts[:, None] * p.means for p in parts], axis=0)
        means = sums / np.maximum(counts, 1e-300)[:, None]
        scatter = np.sum([p.about(means) for p in parts], axis=0)
        return Moments(counts, means, scatter)

    def about(self, means: Floats) -> Floats:
        """Second moments about other means."""
        miss = self.means - means
        return self.scatter + self.counts[:, None, None] * miss[:, :, None] * miss[:, None, :]

    def merged(self, groups: NDArray[np.intp], n_groups: int) -> Moments:
        """Component m becomes part of class groups[m]."""
        B = np.eye(n_groups)[groups]
        counts = B.T @ self.counts
        means = B.T @ (self.counts[:, None] * self.means) / np.maximum(counts, 1e-300)[:, None]
        return Moments(counts, means, np.tensordot(B.T, self.about(means[groups]), axes=1))

    def covariances(self, scale: Floats) -> Floats:
        """(K, d, d) sample covariances (eq2), jittered by a part of the columns' ``scale`` (d,)."""
        divisor = np.maximum(self.counts - 1, 0.5)[:, None, None]
        return np.asarray(self.scatter / divisor + np.diag(_JITTER * scale**2))


@dataclass(frozen=True, eq=False)
class Draws:
    """Equally likely values of what (eq2) would give: counts (S, K), means (S, K, d), covariances (S, K, d, d)."""

    counts: Floats
    means: Floats
    covariances: Floats

    @staticmethod
    def of(fits: Sequence[Moments], scale: Floats) -> Draws:
        """Several fits as draws; ``scale`` as in ``Moments.covariances``."""
        return Draws(
            np.stack([f.counts for f in fits]),
            np.stack([f.means for f in fits]),
            np.stack([f.covariances(scale) for f in fits]),
        )

    def of_classes(self, n_classes: int) -> Draws:
        """The first classes only."""
        return Draws(
            self.counts[:, :n_classes], self.means[:, :n_classes], self.covariances[:, :n_classes]
        )


def moments_under(X: Floats, labels: Floats) -> Moments:
    """Of rows X (n, d) under soft labels (n, K)."""
    counts = labels.sum(axis=0)
    means = labels.T @ X / np.maximum(counts, 1e-300)[:, None]
    scatter = np.empty((counts.size, X.shape[1], X.shape[1]))
    for k in range(counts.size):
        used = labels[:, k] > 0
        centred = X[used] - means[k]
        scatter[k] = (centred * labels[used, k : k + 1]).T @ centred
    return Moments(counts, means, scatter)


def column_scale(X: Floats) -> Floats:
    """(d,) standard deviations; a constant column counts as the smallest of the others."""
    scale = X.std(axis=0)
    varying = scale > 1e-12 * np.abs(X).max(axis=0)
    scale[~varying] = scale[varying].min() if varying.any() else 1.0
    return np.asarray(scale, dtype=np.float64)
