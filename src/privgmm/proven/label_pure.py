"""Labels that follow a clustering: average over clusterings and assignments, release KL-optimally."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from privgmm.model.mixture import Floats
from privgmm.proven.label_bells import bell_shaped, reweighted
from privgmm.proven.label_cells import MAX_FIT_ROWS, Clustering, PublicView, column_scale
from privgmm.proven.label_gibbs import pure_posterior
from privgmm.proven.label_moments import Moments, class_moments, kl_optimal
from privgmm.proven.weighting import Weighting
from privgmm.statistics.features import Features, subsample

_DRAWS = 60
_SEED = 1
# A model whose share of the posterior is below this contributes no draw.
_NEGLIGIBLE = 1e-3
# Share of a cell's rows whose labels no model explains.
_MISFIT = 0.01
# Rows weigh a random Gamma(a, 1/a) in every draw (a Bayesian bootstrap, tamed), so that a class whose
# shape hangs on few rows, some of which may not be its own, is known to be uncertain.
_BOOTSTRAP = 2.0


def release_pure(
    features: Features, view: PublicView, table: Floats, sigma: float, weights: Weighting
) -> tuple[Floats, Floats, Floats]:
    """Weights, means and covariances from noisy counts of labels per cell (cells x classes).

    Draws from the posterior: a clustering by its evidence, an assignment of its components to
    classes by Gibbs sampling (bell-shaped classes being likelier), and labels y_n ~ r_n B; each draw
    is refitted by (eq2).
    """
    rng = np.random.default_rng(_SEED)
    posteriors, evidence = [], []
    # A sample of the rows is enough for what shapes say, and for a scale that only jitters.
    rows = subsample(features, MAX_FIT_ROWS, np.random.default_rng(_SEED))
    scale = column_scale(rows)
    for (G, unsure), model in zip(_overlaps(features, view), view.models, strict=True):
        # A model is never quite right: some rows of a cell carry other labels than it says.
        sd = np.sqrt(sigma**2 + unsure + _MISFIT * G.sum(axis=1))[:, None]
        found = pure_posterior(G / sd, table / sd, 1.0, rng)
        likely = bell_shaped(rows, model.responsibilities(rows), table.shape[1], scale)
        posteriors.append(reweighted(found, likely, rng))
        volume = (table.shape[1] - 1) * float(np.log(sd).sum())
        evidence.append(posteriors[-1].log_evidence - volume)
    share = softmax(evidence)
    share[share < _NEGLIGIBLE] = 0
    picks = rng.choice(len(posteriors), _DRAWS, p=share / share.sum())
    fits: list[Moments] = []
    for j in np.unique(picks):
        draws = posteriors[j].draws
        chosen = draws[rng.integers(0, len(draws), int((picks == j).sum()))]
        fits += _refits(features, view.models[j], chosen, table.shape[1], rng)
    whole = Moments.total([class_moments(X, np.ones((len(X), 1))) for X in features.chunks()])
    best = kl_optimal(fits, whole, scale)
    if weights == "kl":
        return best
    counts = np.mean([fit.counts for fit in fits], axis=0)
    return counts / counts.sum(), *best[1:]


def _overlaps(features: Features, view: PublicView) -> list[tuple[Floats, Floats]]:
    """Of every model G = A^T R, (cells, components) expected rows of each component in each cell,
    and (cells,) the variance sum_n 1 - sum_m r_nm^2 of labels that are drawn from R."""
    n_cells = view.cells.n_cells
    overlaps = [(np.zeros((n_cells, model.size)), np.zeros(n_cells)) for model in view.models]
    for rows in features.chunks():
        cells = view.cells(rows)
        for (G, unsure), model in zip(overlaps, view.models, strict=True):
            R = model.responsibilities(rows)
            unsure += np.bincount(cells, 1 - (R**2).sum(axis=1), minlength=n_cells)
            for m in range(model.size):
                G[:, m] += np.bincount(cells, R[:, m], minlength=n_cells)
    return overlaps


def _refits(
    features: Features,
    model: Clustering,
    draws: NDArray[np.intp],
    n_classes: int,
    rng: np.random.Generator,
) -> list[Moments]:
    """Count, mean and covariance of every class, once per drawn assignment (S, M)."""
    if features.n_rows > MAX_FIT_ROWS:
        # So many rows that drawing labels adds nothing: sums of the components' moments.
        parts = [class_moments(rows, model.responsibilities(rows)) for rows in features.chunks()]
        whole = Moments.total(parts)
        return [whole.merged(z, n_classes) for z in draws]
    X = np.concatenate(list(features.chunks()))
    cumulative = model.responsibilities(X).cumsum(axis=1)[:, :-1]
    out = []
    for z in draws:
        component = (rng.random((X.shape[0], 1)) > cumulative).sum(axis=1)
        weight = rng.gamma(_BOOTSTRAP, 1 / _BOOTSTRAP, (X.shape[0], 1))
        out.append(class_moments(X, np.eye(n_classes)[z[component]] * weight))
    return out
