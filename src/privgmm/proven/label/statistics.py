"""Counts, means and covariances of classes under (soft) labels, draws of them, and from draws one Gaussian and one weight per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.em import quadratic
from privgmm.proven.label.tuning import Tuning
from privgmm.proven.objective import Objective, balanced
from privgmm.types import Floats

# Keeps covariances of duplicated rows or constant columns invertible; far below any real spread.
_JITTER = 1e-8
# Classes times products of two columns up to which all classes are summed in one product: beyond, most of it would be zeros.
_FEW_PRODUCTS = 200


@dataclass(frozen=True, eq=False)
class ClassFit:
    """counts (K,), means (K, d) and centred second moments (K, d, d), not divided by the count."""

    counts: Floats
    means: Floats
    scatter: Floats

    @staticmethod
    def total(parts: Sequence[ClassFit]) -> ClassFit:
        """The moments of several chunks of rows together."""
        counts = np.sum([p.counts for p in parts], axis=0)
        sums = np.sum([p.counts[:, None] * p.means for p in parts], axis=0)
        means = sums / np.maximum(counts, 1e-300)[:, None]
        scatter = np.sum([p.about(means) for p in parts], axis=0)
        return ClassFit(counts, means, scatter)

    def about(self, means: Floats) -> Floats:
        """Second moments about other means."""
        miss = self.means - means
        return self.scatter + self.counts[:, None, None] * miss[:, :, None] * miss[:, None, :]

    def counted_as(self, counts: Floats) -> ClassFit:
        """The same means and covariances of other numbers of rows (K,)."""
        times = counts / np.maximum(self.counts, 1e-300)
        return ClassFit(counts, self.means, self.scatter * times[:, None, None])

    def merged(self, groups: NDArray[np.intp], n_groups: int) -> ClassFit:
        """The moments of classes, where component m is a part of class groups[m]."""
        B = np.eye(n_groups)[groups]
        counts = B.T @ self.counts
        means = B.T @ (self.counts[:, None] * self.means) / np.maximum(counts, 1e-300)[:, None]
        return ClassFit(counts, means, np.tensordot(B.T, self.about(means[groups]), axes=1))

    def covariances(self, scale: Floats) -> Floats:
        """(K, d, d) sample covariances (eq2), jittered by a part of the columns' ``scale`` (d,)."""
        divisor = np.maximum(self.counts - 1, 0.5)[:, None, None]
        return np.asarray(self.scatter / divisor + np.diag(_JITTER * scale**2))


@dataclass(frozen=True, eq=False)
class FitDraws:
    """Equally likely values of what (eq2) would give: counts (S, K), means (S, K, d), covariances (S, K, d, d)."""

    counts: Floats
    means: Floats
    covariances: Floats

    @staticmethod
    def of(fits: Sequence[ClassFit], scale: Floats) -> FitDraws:
        """Several fits as draws; ``scale`` as in ``ClassFit.covariances``."""
        return FitDraws(
            np.stack([f.counts for f in fits]),
            np.stack([f.means for f in fits]),
            np.stack([f.covariances(scale) for f in fits]),
        )

    @staticmethod
    def together(parts: Sequence[FitDraws]) -> FitDraws:
        """The draws of all parts."""
        return FitDraws(
            np.concatenate([p.counts for p in parts]),
            np.concatenate([p.means for p in parts]),
            np.concatenate([p.covariances for p in parts]),
        )

    def moved_as(self, expected: FitDraws, drawn: FitDraws, times: float) -> FitDraws:
        """Draws of ``times`` as many rows as ``drawn`` has, which deviates from ``expected`` by chance."""
        less = 1 / np.sqrt(times)
        return FitDraws(
            self.counts + (drawn.counts - expected.counts) * np.sqrt(times),
            self.means + (drawn.means - expected.means) * less,
            self.covariances + (drawn.covariances - expected.covariances) * less,
        )

    def carried(self, before: FitDraws, after: FitDraws) -> FitDraws:
        """Draws of all rows, changed as those of some rows changed from ``before`` to ``after``: a class moves and stretches alike."""
        grown = after.counts / np.maximum(before.counts, 1e-300)
        old, new = np.linalg.cholesky(before.covariances), np.linalg.cholesky(after.covariances)
        stretch = new @ np.linalg.inv(old)
        off = np.einsum("skij,skj->ski", stretch, self.means - before.means)
        covariances = stretch @ self.covariances @ np.swapaxes(stretch, -1, -2)
        return FitDraws(self.counts * grown, after.means + off, covariances)

    def repeated(self, often: NDArray[np.intp]) -> FitDraws:
        """Draw s as ``often`` (S,) as it says."""
        return FitDraws(
            np.repeat(self.counts, often, axis=0),
            np.repeat(self.means, often, axis=0),
            np.repeat(self.covariances, often, axis=0),
        )

    def with_classes(self, which: NDArray[np.bool_], other: FitDraws) -> FitDraws:
        """These draws, with some classes (K,) as as many others have them."""
        return FitDraws(
            np.where(which, other.counts, self.counts),
            np.where(which[:, None], other.means, self.means),
            np.where(which[:, None, None], other.covariances, self.covariances),
        )

    def of_classes(self, n_classes: int) -> FitDraws:
        """The first classes only."""
        return FitDraws(
            self.counts[:, :n_classes], self.means[:, :n_classes], self.covariances[:, :n_classes]
        )


class RowProducts:
    """Rows X (n, d), for their moments under many labels.

    Where classes and columns are few, moments are one product with the columns and their products, about the mean of all rows;
    else one product for each class.
    """

    def __init__(self, X: Floats) -> None:
        self.X = X
        self.origin = X.mean(axis=0) if len(X) else np.zeros(X.shape[1])
        self.upper = np.triu_indices(X.shape[1])

    @cached_property
    def _columns(self) -> Floats:
        return quadratic(self.X - self.origin)

    def under(self, labels: Floats) -> ClassFit:
        """Their moments under soft labels (n, K)."""
        (n_classes, d), (i, j) = (labels.shape[1], self.X.shape[1]), self.upper
        if n_classes * i.size > _FEW_PRODUCTS:
            return self._class_by_class(labels)
        sums = (self._columns @ labels).T
        counts, divisor = sums[:, 0], np.maximum(sums[:, 0], 1e-300)[:, None]
        off = sums[:, 1 : 1 + d] / divisor
        scatter = np.empty((n_classes, d, d))
        scatter[:, i, j] = scatter[:, j, i] = sums[:, 1 + d :]
        scatter -= counts[:, None, None] * off[:, :, None] * off[:, None, :]
        return ClassFit(counts, off + self.origin, scatter)

    def _class_by_class(self, labels: Floats) -> ClassFit:
        X = self.X
        counts = labels.sum(axis=0)
        means = labels.T @ X / np.maximum(counts, 1e-300)[:, None]
        scatter = np.empty((counts.size, X.shape[1], X.shape[1]))
        for k in range(counts.size):
            used = labels[:, k] > 0
            centred = X[used] - means[k]
            scatter[k] = (centred * labels[used, k : k + 1]).T @ centred
        return ClassFit(counts, means, scatter)


def moments_under(X: Floats, labels: Floats) -> ClassFit:
    """Class moments of rows X (n, d) with soft labels (n, K)."""
    return RowProducts(X).under(labels)


def softmax_rows(score: Floats) -> tuple[Floats, Floats]:
    """Rows on the simplex, and ln of the sums of their exponentials."""
    top = score.max(axis=1)
    q = np.exp(score - top[:, None])
    z = q.sum(axis=1)
    q /= z[:, None]
    return q, top + np.log(z)


def column_scale(X: Floats) -> Floats:
    """(d,) standard deviations; a constant column gets the smallest of the others."""
    scale = X.std(axis=0)
    varying = scale > 1e-12 * np.abs(X).max(axis=0)
    scale[~varying] = scale[varying].min() if varying.any() else 1.0
    return np.asarray(scale, dtype=np.float64)


def decide(
    draws: FitDraws, whole: ClassFit, scale: Floats, objective: Objective, tuning: Tuning
) -> tuple[Floats, Floats, Floats]:
    """Weights (K,), means (K, d) and covariances (K, d, d) that are expected to be closest to (eq2).

    (eq2) refuses classes with fewer than d + 1 rows, so a draw that gives a class hardly more is not believed: in it the class
    may lie anywhere and gets the shape of all rows, ``whole``. So does a class that fewer than two draws give d + 2 rows.
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
            often = np.vstack([able, (~able).sum(axis=0)]).astype(np.float64)
            means[known], shapes[known] = balanced(
                np.concatenate([draws.means, means[None]])[:, known],
                np.concatenate([draws.covariances, shapes[None]])[:, known],
                often[:, known],
            )
        # No weight is zero, because a class without weight would make KL(fitted || released) infinite.
        shares = draws.counts.mean(axis=0) / max(draws.counts.sum(axis=1).mean(), 1e-300)
        weights = np.maximum(shares, 1 / (2 * whole.counts[0]))
    return weights / weights.sum(), means, (shapes + np.swapaxes(shapes, 1, 2)) / 2


def _paper(
    draws: FitDraws, able: Floats, known: Floats, means: Floats, shapes: Floats, tuning: Tuning
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
    """The least KL to expect of a class that has ``spare`` rows more than the d + 2 that its shape needs.

    One foreign row among so few makes a flat class round, and perhaps no draw of labels shows it. Giving such
    a class next to no weight costs almost nothing.
    """
    return tuning.scant_kl * max(1 - spare / tuning.scant_rows, 0.0)
