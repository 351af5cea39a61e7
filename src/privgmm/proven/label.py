"""Label level (Definition 1: features public, labels private): cells, then whatever the cells call for.

1. Count labels per public cell with a fifth of the budget (sensitivity sqrt 2).
2. Cells nearly pure: count the same cells again with the rest, and release the posterior over
   clusterings whose components carry one class each (label_pure.py).
   Cells mixed, and rows enough for moments: count labels per coarse cell, then release class
   moments that bend this guess (label_tilt.py).
This file sees features and noisy answers, never labels. Proofs: docs/proofs/label-sums.md.
"""

from __future__ import annotations

import math

import numpy as np

from privgmm.model.mixture import Floats
from privgmm.privacy import Curator
from privgmm.privacy.label_sums import CellCountsQuery
from privgmm.proven.label_cells import MAX_FIT_ROWS, PublicView, column_scale, public_view
from privgmm.proven.label_moments import Moments, class_moments, covariances
from privgmm.proven.label_pure import release_pure
from privgmm.proven.label_tilt import Frames, Tilt, cell_shares, clip_radius, fit_tilt, moment_error
from privgmm.proven.weighting import Weighting
from privgmm.statistics.features import Features, as_features, subsample
from privgmm.statistics.label_sums import CellCounts, Partition

# Shares of mu^2.
_FIRST = 0.2
_COARSE = 0.1
# Moments are asked for when the purity of the cells is below this by two standard errors, ...
_PURE = 0.75
# ... and their noise is expected to cost less than this much KL.
_AFFORDABLE = 0.25
_SEED = 2
# Rounds of correcting a fit to chosen rows by a pass over all rows, and the rows of one step.
_CORRECTIONS = 2
_TILT_ROWS = 1 << 14


def release_label(
    X: Floats | Features,
    curator: Curator,
    n_classes: int,
    weights: Weighting = "kl",
    view: PublicView | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Weights (K,), means (K, d) and covariances (K, d, d); spends all that the curator has left.

    Features larger than memory are passed over a few times, chunk by chunk. Whoever releases labels
    of the same features more than once may hand over their ``public_view``.
    """
    features = as_features(X)
    budget = curator.remaining_mu
    view = view or public_view(features, n_classes)
    sizes = _cell_sizes(features, view.cells)
    first, sigma = _count(curator, view.cells, sizes, n_classes, budget * math.sqrt(_FIRST))
    left = budget * math.sqrt(1 - _FIRST - _COARSE)
    affordable = moment_error(features.n_rows, n_classes, features.dim, left) < _AFFORDABLE
    if affordable and _purity_at_most(first, sizes, sigma) < _PURE:
        return _release_mixed(features, view, curator, n_classes, budget)
    second, noise = _count(curator, view.cells, sizes, n_classes, curator.remaining_mu)
    # Two independent answers to one query: weighted by precision they equal one at full budget.
    precision = sigma**-2 + noise**-2
    table = (first * sigma**-2 + second * noise**-2) / precision
    return release_pure(features, view, table, precision**-0.5, weights)


def _count(
    curator: Curator, cells: Partition, sizes: Floats, n_classes: int, mu: float
) -> tuple[Floats, float]:
    """Noisy (cells, classes) label counts, moved onto the public cell sizes, and their sigma."""
    query = CellCountsQuery(CellCounts(cells, n_classes))
    table = curator.answer(query, mu).reshape(-1, n_classes)
    table += (sizes - table.sum(axis=1))[:, None] / n_classes
    return table, query.sensitivity("label") / mu


def _cell_sizes(features: Features, cells: Partition) -> Floats:
    sizes = np.zeros(cells.n_cells)
    for rows in features.chunks():
        sizes += np.bincount(cells(rows), minlength=cells.n_cells)
    return sizes


def _purity_at_most(table: Floats, sizes: Floats, sigma: float) -> float:
    """Unbiased sum_ak T_ak^2 / sum_a n_a^2 (1 when every cell has one class) plus two standard errors."""
    free: int = table.shape[0] * (table.shape[1] - 1)
    squares = float((table**2).sum()) - sigma**2 * free
    error = math.sqrt(4 * sigma**2 * max(squares, 0.0) + 2 * sigma**4 * free)
    return (squares + 2 * error) / float((sizes**2).sum())


def _release_mixed(
    features: Features, view: PublicView, curator: Curator, n_classes: int, budget: float
) -> tuple[Floats, Floats, Floats]:
    coarse = view.coarse_cells()
    sizes = _cell_sizes(features, coarse)
    table, sigma = _count(curator, coarse, sizes, n_classes, budget * math.sqrt(_COARSE))
    rng = np.random.default_rng(_SEED)
    shares = cell_shares(table, sizes, sigma, rng)
    rows = subsample(features, MAX_FIT_ROWS, rng)
    weight = features.n_rows / rows.shape[0]
    guess, scale = shares[coarse(rows)], column_scale(rows)
    mu = curator.remaining_mu
    radius = clip_radius(features.n_rows, n_classes, features.dim, mu)
    frames = Frames.around(class_moments(rows, guess), scale, radius)
    answer = (curator.answer(frames.query, mu) / frames.query.steps).reshape(n_classes, -1)
    noise = frames.query.sensitivity("label") / mu
    target = answer
    for _ in range(1 if weight == 1.0 else _CORRECTIONS):
        tilt = fit_tilt(frames, rows, guess, target, noise, weight)
        final, totals = _tilted(features, tilt, shares, coarse)
        # What the chosen rows, scaled up, miss of all rows is taken off the next target.
        target = answer - totals + weight * tilt.totals(rows, tilt.labels(rows, guess))
    return final.counts / final.counts.sum(), final.means, covariances(final, scale)


def _tilted(
    features: Features, tilt: Tilt, shares: Floats, coarse: Partition
) -> tuple[Moments, Floats]:
    """Class moments of all rows under the tilted labels, and the totals the query would count."""
    parts, totals = [], np.zeros_like(tilt.slopes)
    for rows in features.chunks(_TILT_ROWS):
        labels = tilt.labels(rows, shares[coarse(rows)])
        totals += tilt.totals(rows, labels)
        parts.append(class_moments(rows, labels))
    return Moments.total(parts), totals
