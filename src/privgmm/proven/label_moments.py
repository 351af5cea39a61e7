"""Counts, means and covariances of classes under (soft) labels, and the KL-optimal average of many.

For draws (pi, mu, Sigma) of what (eq2) would give, E KL(released || fitted) is least at
    Sigma~ = E[Sigma^-1]^-1,  mu~ = Sigma~ E[Sigma^-1 mu],  pi~_k ~ exp(E ln pi_k - min E KL_k):
classes whose shape is uncertain (small ones, mostly) are released tighter and with less weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Floats

# Keeps covariances of duplicated rows or constant columns invertible; far below any real spread.
_JITTER = 1e-8
_SMALLEST_COUNT = 0.5
# See _scant: nats, and rows.
_SCANT_KL, _SCANT_ROWS = 12.0, 10.0


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


def class_moments(X: Floats, labels: Floats) -> Moments:
    """Of rows X (n, d) under soft labels (n, K)."""
    counts = labels.sum(axis=0)
    means = labels.T @ X / np.maximum(counts, 1e-300)[:, None]
    scatter = np.empty((counts.size, X.shape[1], X.shape[1]))
    for k in range(counts.size):
        used = labels[:, k] > 0
        centred = X[used] - means[k]
        scatter[k] = (centred * labels[used, k : k + 1]).T @ centred
    return Moments(counts, means, scatter)


def covariances(moments: Moments, scale: Floats) -> Floats:
    """(K, d, d) sample covariances (eq2), jittered by a part of the columns' ``scale``."""
    divisor = np.maximum(moments.counts - 1, 0.5)[:, None, None]
    return np.asarray(moments.scatter / divisor + np.diag(_JITTER * scale**2))


def _scant(spare: float) -> float:
    """The least KL to expect of a class with so many rows more than its shape needs, d + 2.

    One foreign row among so few makes a flat class round, which no draw of labels may show; and
    to leave such a class nearly out costs next to nothing.
    """
    return _SCANT_KL * max(1 - spare / _SCANT_ROWS, 0.0)


def kl_optimal(
    fits: Sequence[Moments], whole: Moments, scale: Floats
) -> tuple[Floats, Floats, Floats]:
    """The release that minimises the expected KL(released || fitted) over the drawn fits.

    A class that no draw gives d + 2 rows is released with weight zero and the shape of all rows.
    """
    n_classes, d = fits[0].means.shape
    counts = np.stack([f.counts for f in fits])
    mus = np.stack([f.means for f in fits])
    sigmas = np.stack([covariances(f, scale) for f in fits])
    means = np.repeat(whole.means, n_classes, axis=0)
    shapes = np.repeat(covariances(whole, scale), n_classes, axis=0)
    log_weights = np.full(n_classes, -np.inf)
    for k in range(n_classes):
        # (eq2) refuses classes with fewer rows, so draws without them cannot be the truth.
        able = counts[:, k] >= d + 2
        if able.sum() < 2:
            continue
        sigma, mu = sigmas[able, k], mus[able, k]
        precision = np.linalg.inv(sigma)
        expected = precision.mean(axis=0)
        expected = (expected + expected.T) / 2
        shapes[k] = np.linalg.inv(expected)
        means[k] = shapes[k] @ np.einsum("sij,sj->i", precision, mu) / able.sum()
        miss = means[k] - mu
        quad = np.einsum("si,sij,sj->s", miss, precision, miss).mean()
        log_det = np.linalg.slogdet(sigma)[1].mean() + np.linalg.slogdet(expected)[1]
        share = np.maximum(counts[:, k], _SMALLEST_COUNT) / counts[0].sum()
        expected_kl = max(0.5 * (quad + log_det), _scant(counts[able, k].mean() - (d + 2)))
        log_weights[k] = np.log(share).mean() - expected_kl
    if not np.isfinite(log_weights).any():
        log_weights[:] = 0.0
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum(), means, (shapes + np.swapaxes(shapes, 1, 2)) / 2
