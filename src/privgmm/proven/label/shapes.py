"""Label level: the shapes of columns and several Gaussians per class, from public features and the soft labels of the release.

No further query is asked: the soft labels are post-processing of the noisy table and moments, and features are public.
Margins are the distributions of the columns weighted by soft labels. For several Gaussians per class, labels are drawn
once, with a fixed public seed, and EM is run on the rows of each class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from privgmm.data.features import EncodedFeatures, Features
from privgmm.model.columns import ABSENT, Column, Encoding, n_levels, own_levels
from privgmm.model.margins import (
    SCORES,
    ClassScores,
    Margins,
    latent_correlations,
    mixed_margins,
)
from privgmm.model.uncertainty import Errors, split
from privgmm.proven import mixtures
from privgmm.proven.margins import row_quantiles
from privgmm.proven.mixtures import GAIN, Components, Fitted, Parts, Wanted
from privgmm.types import Floats, Integers

_SEED = 2
# A component needs this many rows times d + 1, the same bound as for public clusterings.
_ROWS_PER_COLUMN = 2
# Margins are computed from about this many rows, so that the sampling error of a share is below 0.2 %.
_MARGIN_ROWS = 100_000
# A level with this part of the rows has a column of its own. Less noise than at record level pays for more of them (HMEQ,
# epsilon 1, 3 seeds: LR / HGB 0.826 / 0.875 at 0.03 and 0.817 / 0.863 at 0.06).
_COMMON = 0.03
# The share of a rare level that no row of a class has, as a part of its share among all rows.
_UNSEEN = 1e-3


class SoftLabelled(NamedTuple):
    """Some rows: their numbers (n,), features (n, d), how much each counts (n,), and soft labels (n, L), L >= K."""

    numbers: Integers
    rows: Floats
    shares: Floats
    labels: Floats


def public_encoding(cells: Features, columns: tuple[Column, ...]) -> Encoding:
    """The encoding of public categories and missing cells: missing numbers become the mean, and frequent levels get 0/1 columns."""
    counts = [np.zeros(n_levels(column)) for column in columns]
    sums, present = np.zeros(len(columns)), np.zeros(len(columns))
    for X, shares in cells.shared_chunks():
        for j, column in enumerate(columns):
            there = X[:, j] != ABSENT
            if column.type == "category":
                level = np.where(there, X[:, j], len(column.levels)).astype(np.intp)
                counts[j] += np.bincount(level, shares, minlength=n_levels(column))
            else:
                sums[j] += shares[there] @ X[there, j]
                present[j] += shares[there].sum()
    fills = sums / np.maximum(present, 1e-300)
    own = tuple(own_levels(count, _COMMON * cells.n_units) for count in counts)
    return Encoding(columns, tuple(fills.tolist()), own)


def label_margins(
    features: Features,
    labelled: SoftLabelled,
    released: tuple[Floats, Floats, Floats],
    errors: Errors,
    steps: tuple[float | None, ...],
) -> Margins:
    """Margins of the released classes; ``steps`` are the distances between values of each stated column, None: any."""
    some = slice(None, None, max(1, -(-labelled.rows.shape[0] // _MARGIN_ROWS)))
    rows = labelled.rows[some]
    weights = labelled.labels[some, : len(released[0])] * labelled.shares[some, None]
    if isinstance(features, EncodedFeatures):
        cells = features.cells.at(labelled.numbers[some])
        return _mixed(features.encoding, cells, rows, weights, released, errors, steps)
    deviations = np.sqrt(np.diagonal(released[2], axis1=1, axis2=2))
    bells = np.stack([released[1], deviations, errors.means, errors.deviations])
    told = np.stack(
        [row_quantiles(x, weights, bells[:, :, j], steps[j]) for j, x in enumerate(rows.T)], axis=1
    )
    latent = [latent_correlations(q, r) for q, r in zip(told, split(released[2])[1], strict=True)]
    return Margins(told, np.stack(latent))


def _mixed(
    encoding: Encoding,
    cells: Floats,
    rows: Floats,
    weights: Floats,
    released: tuple[Floats, Floats, Floats],
    errors: Errors,
    steps: tuple[float | None, ...],
) -> Margins:
    """Margins of a table with categories or missing cells; those of a number come from the rows in which it is not missing."""
    scores = [ClassScores(encoding, m, S) for m, S in zip(*released[1:], strict=True)]
    told = np.stack([s.switches() for s in scores])
    for j in encoding.numbers:
        a = encoding.places[j].start
        mean = np.array([s.means[a] for s in scores])
        deviation = np.array([s.deviations[a] for s in scores])
        there = cells[:, j] != ABSENT
        if not there.any():
            told[:, a] = np.broadcast_to(mean[:, None], (mean.size, SCORES.size))
            continue
        bells = np.stack([mean, deviation, errors.means[:, a], errors.deviations[:, a]])
        told[:, a] = row_quantiles(rows[there, a], weights[there], bells, steps[j])
    rare = []
    for j, (_, rest) in encoding.choices.items():
        level = np.where(cells[:, j] == ABSENT, len(encoding.columns[j].levels), cells[:, j])
        counts = weights.T @ (level[:, None] == np.array(rest))
        overall = counts.sum(axis=0) + 1e-9
        rare.append(counts + _UNSEEN * overall / overall.sum())
    return mixed_margins(encoding, told, scores, rare)


def label_components(
    labelled: SoftLabelled,
    released: tuple[Floats, Floats, Floats],
    wanted: Wanted,
) -> Components:
    """Components of the released classes from rows under soft labels.

    Each class has ``wanted`` components if there are 2 (d + 1) drawn rows for each. "auto" takes the number of LADDER after which
    BIC gains less than GAIN nats per row. A row is drawn with a probability proportional to its share.
    """
    _, rows, shares, labels = labelled
    rng = np.random.default_rng(_SEED)
    lots = rng.random((rows.shape[0], 1))
    kept = rng.random(rows.shape[0]) * shares.max(initial=0.0) <= shares
    drawn = np.where(kept, (lots > labels.cumsum(axis=1)[:, :-1]).sum(axis=1), -1)
    fits = []
    with threadpool_limits(limits=1):
        for k, (mu, sigma) in enumerate(zip(*released[1:], strict=True)):
            u = np.linalg.solve(np.linalg.cholesky(sigma), (rows[drawn == k] - mu).T).T
            fits.append(_best(u, wanted))
    return mixtures.into_classes(released, fits)


def _best(u: Floats, wanted: Wanted) -> Parts:
    """The mixture of whitened rows of one class that BIC prefers, on the way up the ladder."""
    d = u.shape[1]
    distinct = np.unique(u, axis=0).shape[0]
    best: Fitted | None = None
    for size in mixtures.ladder(wanted, distinct // (_ROWS_PER_COLUMN * (d + 1))):
        if size == 1 and (wanted != "auto" or distinct < _ROWS_PER_COLUMN * (d + 1)):
            break
        found = mixtures.fitted(u, size, 1, _SEED)
        if best is not None and found.bic >= best.bic - 2 * GAIN * u.shape[0]:
            break
        best = found
    if best is None:
        return mixtures.bell(d)
    return best.weights, best.means, best.covariances
