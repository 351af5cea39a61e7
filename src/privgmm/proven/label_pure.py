"""Labels that follow a clustering: average over clusterings and assignments, release KL-optimally."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from privgmm.model.mixture import Floats
from privgmm.proven.label_cells import MAX_FIT_ROWS, Clustering, PublicView, column_scale
from privgmm.proven.label_gibbs import pure_posterior
from privgmm.proven.label_moments import Moments, class_moments, kl_optimal
from privgmm.statistics.source import CHUNK_ROWS

_DRAWS = 60
_SEED = 1
# A model whose share of the posterior is below this contributes no draw.
_NEGLIGIBLE = 1e-3


def release_pure(
    X: Floats, view: PublicView, table: Floats, sigma: float
) -> tuple[Floats, Floats, Floats]:
    """Weights, means and covariances from noisy counts of labels per cell (cells x classes).

    Draws from the posterior: a clustering by its evidence, an assignment of its components to
    classes by Gibbs sampling, and labels y_n ~ r_n B; each draw is refitted by (eq2).
    """
    rng = np.random.default_rng(_SEED)
    cells = _cells(X, view)
    posteriors = [
        pure_posterior(_overlap(X, cells, view.cells.n_cells, model), table, sigma, rng)
        for model in view.models
    ]
    share = softmax([p.log_evidence for p in posteriors])
    share[share < _NEGLIGIBLE] = 0
    picks = rng.choice(len(posteriors), _DRAWS, p=share / share.sum())
    fits: list[Moments] = []
    for j in np.unique(picks):
        draws = posteriors[j].draws
        chosen = draws[rng.integers(0, len(draws), int((picks == j).sum()))]
        fits += _refits(X, view.models[j], chosen, table.shape[1], rng)
    return kl_optimal(fits, class_moments(X, np.ones((X.shape[0], 1))), column_scale(X))


def _cells(X: Floats, view: PublicView) -> NDArray[np.intp]:
    parts = [view.cells(rows) for rows in _chunks(X)]
    return np.concatenate(parts)


def _chunks(X: Floats) -> Iterator[Floats]:
    for start in range(0, X.shape[0], CHUNK_ROWS):
        yield X[start : start + CHUNK_ROWS]


def _overlap(X: Floats, cells: NDArray[np.intp], n_cells: int, model: Clustering) -> Floats:
    """G = A^T R: (cells, components) expected rows of each component in each cell."""
    G = np.zeros((n_cells, model.size))
    start = 0
    for rows in _chunks(X):
        R = model.responsibilities(rows)
        here = cells[start : start + rows.shape[0]]
        for m in range(model.size):
            G[:, m] += np.bincount(here, R[:, m], minlength=n_cells)
        start += rows.shape[0]
    return G


def _refits(
    X: Floats, model: Clustering, draws: NDArray[np.intp], n_classes: int, rng: np.random.Generator
) -> list[Moments]:
    """Count, mean and covariance of every class, once per drawn assignment (S, M)."""
    if X.shape[0] > MAX_FIT_ROWS:
        # So many rows that drawing labels adds nothing: sums of the components' moments.
        parts = [class_moments(rows, model.responsibilities(rows)) for rows in _chunks(X)]
        whole = Moments.total(parts)
        return [whole.merged(z, n_classes) for z in draws]
    cumulative = model.responsibilities(X).cumsum(axis=1)[:, :-1]
    out = []
    for z in draws:
        component = (rng.random((X.shape[0], 1)) > cumulative).sum(axis=1)
        out.append(class_moments(X, np.eye(n_classes)[z[component]]))
    return out
