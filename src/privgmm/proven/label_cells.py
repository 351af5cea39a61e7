"""Public clusterings of the features: candidate label models, and the cells whose labels are counted.

Under Definition 1 neighbours share all x_n, so everything in this file is free: it never sees y.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from privgmm.model.mixture import Floats
from privgmm.proven.mixtures import Fitted, fitted, merged_down
from privgmm.statistics.assignment import GaussianRule, mixture_rule
from privgmm.statistics.features import Features, as_features, subsample
from privgmm.statistics.label_sums import Partition, joint_codes

# The public part is deterministic: the same features always give the same cells.
SEED = 0
# Clusterings are fitted to at most this many rows (chosen by the seed) and applied to all.
MAX_FIT_ROWS = 10_000
# K-means sees raw columns, as footnote 1 has it, unless their spreads differ by more than this.
_COMPARABLE = 10.0
# With more classes or rows than this, fewer clusterings are tried: each costs time.
_FEW = 12
# Mixtures are sought from so many components more than classes, by these first guesses.
_STARTS = ((10, "kmeans"), (15, "k-means++"))
# Up to so many rows times columns times classes there is time for all of that.
_THOROUGH = 100_000
# Less BIC than this between two mixtures is rounding, and they are one.
_BETTER = 2.0


@dataclass(frozen=True, eq=False)
class Clustering:
    """A way to divide the features: responsibilities r_nm, hard (k-means) or soft (mixture)."""

    rule: GaussianRule
    soft: bool

    @property
    def size(self) -> int:
        return int(self.rule.offsets.size)

    def responsibilities(self, X: Floats) -> Floats:
        """(n, M) array with rows on the simplex."""
        if not self.soft:
            return np.asarray(np.eye(self.size)[self.rule(X)])
        score = np.empty((X.shape[0], self.size))
        for m in range(self.size):
            z = (X - self.rule.centres[m]) @ self.rule.whiten[m].T
            score[:, m] = self.rule.offsets[m] - np.einsum("ij,ij->i", z, z) / 2
        return np.asarray(softmax(score, axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PublicView:
    """All that the mechanism takes from the features."""

    models: tuple[Clustering, ...]  # candidate explanations of the labels
    coarse: Clustering  # k-means with as many cells as classes
    cells: Partition  # what the noisy table counts

    def coarse_cells(self) -> Partition:
        return Partition((self.coarse.rule,), (self.coarse.size,), np.arange(self.coarse.size))


def public_view(X: Floats | Features, n_classes: int) -> PublicView:
    """Cluster the features in several ways and cut them into cells.

    The views of the last few tables are remembered: who tries several budgets on one table waits once.
    """
    features = as_features(X)
    if features.n_rows > MAX_FIT_ROWS:
        return _view(features, n_classes)
    digest = hashlib.blake2b(str(n_classes).encode())
    for rows in features.chunks():
        digest.update(f"{rows.shape}".encode())
        digest.update(rows.tobytes())
    key = digest.digest()
    if key not in _SEEN:
        while len(_SEEN) >= _REMEMBERED:
            _SEEN.pop(next(iter(_SEEN)), None)
        _SEEN[key] = _view(features, n_classes)
    return _SEEN[key]


def _view(features: Features, n_classes: int) -> PublicView:
    """Cells are the common refinement of k-means with K cells, the mixture that BIC prefers (at
    least K components) and one with three more components: every one of these is then a union of
    cells, and which of them explains the labels is decided later, from the noisy counts.
    """
    rows = subsample(features, MAX_FIT_ROWS, np.random.default_rng(SEED))
    scale = column_scale(rows)
    distinct = np.unique(rows, axis=0).shape[0]
    few = n_classes <= _FEW
    k_scale = np.full_like(scale, scale.mean())
    if scale.max() > _COMPARABLE * scale.min():
        k_scale = scale
    # One thread: so few rows gain nothing from more, and sums then round the same everywhere.
    with threadpool_limits(limits=1):
        means = [
            _k_means(rows, k_scale, m, runs=10 if m == n_classes else 3)
            for m in sorted({min(f * n_classes, distinct) for f in (1, 2, 3 if few else 2)})
        ]
        few &= features.n_rows <= MAX_FIT_ROWS
        sizes = range(n_classes, n_classes + 8, 1 if few else 3)
        origin = rows.mean(axis=0)
        found = _mixtures((rows - origin) / scale, sizes, distinct)
    mixtures = [_clustering(one, scale, origin) for one in found]
    cuts = [means[0]]
    if mixtures:
        best = mixtures[int(np.argmin([one.bic for one in found]))]
        further = [m for m in mixtures if m.size >= best.size + 3]
        cuts += [best, further[0] if further else mixtures[-1]]
    else:
        cuts += means[1:2]
    return PublicView((*mixtures, *means), means[0], _refinement(features, cuts))


_SEEN: dict[bytes, PublicView] = {}
_REMEMBERED = 4


def column_scale(X: Floats) -> Floats:
    """(d,) standard deviations; a constant column counts as the smallest of the others."""
    scale = X.std(axis=0)
    varying = scale > 1e-12 * np.abs(X).max(axis=0)
    scale[~varying] = scale[varying].min() if varying.any() else 1.0
    return np.asarray(scale, dtype=np.float64)


def _k_means(X: Floats, scale: Floats, size: int, runs: int) -> Clustering:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(size, n_init=runs, random_state=SEED).fit(X / scale)
    whiten = np.tile(np.diag(1 / scale), (size, 1, 1))
    return Clustering(GaussianRule(fitted.cluster_centers_ * scale, whiten, np.zeros(size)), False)


def _mixtures(X: Floats, sizes: range, distinct: int) -> list[Fitted]:
    """Full-covariance mixtures of these sizes, as far as the rows can carry them.

    Before them stands the mixture found by coming down from many components, if it is a better one.
    """
    n, d = X.shape
    most = distinct // (2 * (d + 1))
    runs = 2 if n * d <= 6000 else 1
    found = [fitted(X, size, runs, SEED) for size in sizes if size <= most]
    if not found:
        return found
    thorough = X.size * sizes.start <= _THOROUGH
    down = (
        merged_down(X, min(sizes.start + more, most), init, sizes, SEED, thorough)
        for more, init in (_STARTS if thorough else _STARTS[:1])
    )
    other = min(down, key=lambda one: one.bic)
    better = other.bic < min(one.bic for one in found) - _BETTER
    return [other, *found] if better else found


def _clustering(g: Fitted, scale: Floats, origin: Floats) -> Clustering:
    whiten = np.linalg.inv(np.linalg.cholesky(g.covariances))
    return Clustering(mixture_rule(g.weights, g.means * scale + origin, whiten / scale), True)


def _refinement(features: Features, cuts: list[Clustering]) -> Partition:
    rules, sizes = tuple(c.rule for c in cuts), tuple(c.size for c in cuts)
    keys = [np.unique(joint_codes(rows, rules, sizes)) for rows in features.chunks()]
    return Partition(rules, sizes, np.unique(np.concatenate(keys)))
