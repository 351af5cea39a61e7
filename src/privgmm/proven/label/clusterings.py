"""Public clusterings of the features: candidate label models, and the cells whose labels are counted.

Under Definition 1 neighbours share all x_n, so everything in this file is free: it never sees y.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from privgmm.data.features import Features, as_features, some_rows
from privgmm.proven.em import coefficients, k_means, quadratic
from privgmm.proven.label.statistics import ClassFit, column_scale, moments_under
from privgmm.proven.label.tuning import TUNING, Tuning
from privgmm.proven.mixtures import Fitted, fitted, merged_down
from privgmm.queries.cell_counts import Partition, joint_codes
from privgmm.rowwise import GaussianRule, mixture_rules
from privgmm.types import Codes, Floats, Integers

# The public part is deterministic: the same features always give the same cells.
SEED = 0
# Columns and their products, times rows, whose responsibilities are found at a time.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Clustering:
    """A way to divide the features: responsibilities r_nm, hard (k-means) or soft (mixture)."""

    rule: GaussianRule
    soft: bool

    @property
    def size(self) -> int:
        """The number of components."""
        return int(self.rule.offsets.size)

    def responsibilities(self, X: Floats) -> Floats:
        """(n, M) array with rows on the simplex."""
        if not self.soft:
            return np.asarray(np.eye(self.size)[self.rule(X)])
        # Components in rows, some of the rows X in columns at a time: sums then run along the memory, near the processor.
        origin, whiten = self.rule.centres.mean(axis=0), self.rule.whiten
        means, precisions = self.rule.centres - origin, whiten.mT @ whiten
        weights = coefficients(self.rule.offsets, means, precisions)
        out = np.empty((self.size, X.shape[0]))
        at_once = max(_AT_ONCE // weights.shape[1], 64)
        for start in range(0, X.shape[0], at_once):
            score = out[:, start : start + at_once]
            np.matmul(weights, quadratic(X[start : start + at_once] - origin), out=score)
            score -= score.max(axis=0)
            np.exp(score, out=score)
            score /= score.sum(axis=0)
        return out.T


@dataclass(frozen=True, eq=False)
class PublicView:
    """Everything that the mechanism computes from the public features; keep it to release labels of the same features more than once."""

    features: Features
    n_classes: int
    numbers: Integers  # of some rows, enough to fit shapes to
    rows: Floats  # these rows
    shares: Floats  # how much each of these rows counts; those of one person add up to one
    scale: Floats  # (d,) spreads of the columns
    models: tuple[Clustering, ...]  # candidate explanations of the labels
    cells: Partition  # what the noisy table counts
    sizes: Floats  # (cells,) number of rows in each cell, or of persons where a person may have several rows
    whole: ClassFit  # of all rows together

    @cached_property
    def has_all_rows(self) -> bool:
        """Whether ``rows`` are all rows of the features."""
        return bool(self.rows.shape[0] == self.features.n_rows)

    @cached_property
    def overlaps(self) -> list[tuple[Floats, Floats]]:
        """For every model, G = A^T R (cells, components), the expected number of rows of each component in each cell, and
        (cells,) the variance sum_n 1 - sum_m r_nm^2 of labels drawn from R; rows count by their shares.

        It takes a pass over all rows, unless ``rows`` are all of them, and is computed when models are first compared with a table.
        """
        n_cells, taken = self.sizes.size, self.has_all_rows
        overlaps = [(np.zeros((n_cells, model.size)), np.zeros(n_cells)) for model in self.models]
        for rows, shares in [(self.rows, self.shares)] if taken else self.features.shared_chunks():
            cells = self.row_cells if taken else self.cells(rows)
            found = self.responsibilities if taken else self._responsibilities(rows)
            for (G, unsure), R in zip(overlaps, found, strict=True):
                unsure += np.bincount(
                    cells, shares**2 * (1 - (R**2).sum(axis=1)), minlength=n_cells
                )
                for m in range(R.shape[1]):
                    G[:, m] += np.bincount(cells, shares * R[:, m], minlength=n_cells)
        return overlaps

    @cached_property
    def _places(self) -> tuple[Codes, Codes]:
        codes = self.cells.codes()
        return codes, self.cells(self.rows)

    @property
    def cell_codes(self) -> Codes:
        """(cells, rules) component of every cell by each clustering whose common refinement they are."""
        return self._places[0]

    @property
    def row_cells(self) -> Codes:
        """(n,) the cells that ``rows`` lie in."""
        return self._places[1]

    @cached_property
    def responsibilities(self) -> list[Floats]:
        """The responsibilities of every model for ``rows``, which are few enough to be kept."""
        return list(self._responsibilities(self.rows))

    def _responsibilities(self, rows: Floats) -> Iterator[Floats]:
        soft = [model.responsibilities(rows) for model in self.models if model.soft]
        hard = [model.rule(rows) for model in self.models if not model.soft]
        each = iter(soft), iter(hard)
        for model in self.models:
            if model.soft:
                yield next(each[0])
            else:
                yield np.eye(model.rule.offsets.size)[next(each[1])]


def public_view(X: Floats | Features, n_classes: int, tuning: Tuning = TUNING) -> PublicView:
    """Cluster the features in several ways and cut them into cells.

    Cells are the common refinement of k-means with K cells, the mixture that BIC prefers (at
    least K components) and one with three more components: every one of these is then a union of
    cells, and which of them explains the labels is decided later, from the noisy counts.
    """
    features = as_features(X)
    numbers = some_rows(features.n_rows, tuning.fit_rows, np.random.default_rng(SEED))
    rows, shares = features.shared_at(numbers)
    scale = column_scale(rows)
    distinct = np.unique(rows, axis=0).shape[0]
    few = n_classes <= tuning.few_classes
    k_scale = np.full_like(scale, scale.mean())
    if scale.max() > tuning.comparable * scale.min():
        k_scale = scale
    rough = rows.size * rows.shape[1] * n_classes > tuning.rough
    times = tuning.rough_times if rough else (1, 2, 3) if few else (1, 2)
    # One thread, because so few rows gain nothing from more, and sums are then rounded in the same way everywhere.
    with threadpool_limits(limits=1):
        means = [
            _k_means(rows, k_scale, m, runs=10 if m == n_classes else 3)
            for m in sorted({min(f * n_classes, distinct) for f in times})
        ]
        few &= features.n_rows <= tuning.fit_rows
        sizes = range(n_classes, n_classes + 8, 1 if few else 3)
        origin = rows.mean(axis=0)
        found = [] if rough else _mixtures((rows - origin) / scale, sizes, distinct, tuning)
    mixtures = _clusterings(found, scale, origin)
    if mixtures:
        best = mixtures[int(np.argmin([one.bic for one in found]))]
        further = [m for m in mixtures if m.size >= best.size + 3]
        cuts = [means[0], best, further[0] if further else mixtures[-1]]
    else:
        cuts = means[-1:] if rough else means[:2]
    models = (*mixtures, *means)
    described = _refinement(features, cuts)
    return PublicView(features, n_classes, numbers, rows, shares, scale, models, *described)


def _k_means(X: Floats, scale: Floats, size: int, runs: int) -> Clustering:
    centres, _ = k_means(X / scale, size, runs, np.random.default_rng(SEED))
    whiten = np.tile(np.diag(1 / scale), (size, 1, 1))
    return Clustering(GaussianRule(centres * scale, whiten, np.zeros(size)), False)


def _mixtures(X: Floats, sizes: range, distinct: int, tuning: Tuning) -> list[Fitted]:
    """Full-covariance mixtures of these sizes, as far as there are enough rows for them.

    The list begins with the mixture found by merging down from many components, if it is better.
    """
    n, d = X.shape
    most = distinct // (2 * (d + 1))
    runs = 4 if n * d <= 6000 else 2
    found = [fitted(X, size, runs, SEED) for size in sizes if size <= most]
    if not found:
        return found
    thorough = X.size * sizes.start <= tuning.thorough
    down = (
        merged_down(X, min(sizes.start + more, most), init, sizes, SEED, thorough)
        for more, init in (tuning.starts if thorough else tuning.starts[:1])
    )
    other = min(down, key=lambda one: one.bic)
    better = other.bic < min(one.bic for one in found) - tuning.better
    return [other, *found] if better else found


def _clusterings(found: list[Fitted], scale: Floats, origin: Floats) -> list[Clustering]:
    """Mixtures of standardised rows in the features' own columns."""
    whiten = [np.linalg.inv(np.linalg.cholesky(g.covariances)) / scale for g in found]
    rules = mixture_rules(
        [(g.weights, g.means * scale + origin, w) for g, w in zip(found, whiten, strict=True)]
    )
    return [Clustering(rule, True) for rule in rules]


def _refinement(features: Features, cuts: list[Clustering]) -> tuple[Partition, Floats, ClassFit]:
    """The cells, how many rows each holds, and the moments of all rows, in one pass over them."""
    rules, codes = tuple(c.rule for c in cuts), tuple(c.size for c in cuts)
    held, moments = [], []
    for rows, shares in features.shared_chunks():
        keys, at = np.unique(joint_codes(rows, rules, codes), return_inverse=True)
        held.append((keys, np.bincount(at.ravel(), shares)))
        moments.append(moments_under(rows, shares[:, None]))
    every = np.unique(np.concatenate([keys for keys, _ in held]))
    sizes = np.zeros(every.size)
    for keys, counts in held:
        sizes[np.searchsorted(every, keys)] += counts
    return Partition(rules, codes, every), sizes, ClassFit.total(moments)
