"""Labels that follow a clustering: models and assignments by their evidence, and draws of refitted classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from privgmm.proven.label.assignments import Assignments, bell_shaped, pure_posterior, reweighted
from privgmm.proven.label.cell_table import CellTable
from privgmm.proven.label.clusterings import Clustering, PublicView
from privgmm.proven.label.statistics import Draws, Moments, moments_under
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class LabelModel:
    """A clustering, its share of the posterior, and draws (S, M) of the class of each component."""

    clustering: Clustering
    share: float
    draws: Assignments


def label_models(
    view: PublicView, table: CellTable, tuning: Tuning, rng: np.random.Generator
) -> list[LabelModel]:
    """The clusterings that may explain the noisy table, by their evidence (bell-shaped classes being
    likelier); shares add up to one."""
    posteriors, evidence = [], []
    n_labels = table.n_labels
    for (G, unsure), model in zip(_overlaps(view), view.models, strict=True):
        # A model is never quite right: some rows of a cell carry other labels than it says.
        sd = np.sqrt(table.sigma**2 + unsure + tuning.misfit * G.sum(axis=1))[:, None]
        found = pure_posterior(G / sd, table.counts / sd, n_labels, tuning, rng)
        likely = bell_shaped(
            view.rows,
            view.shares,
            model.responsibilities(view.rows),
            n_labels,
            view.scale,
            tuning.belief,
        )
        posteriors.append(reweighted(found, likely, rng))
        volume = (n_labels - 1) * float(np.log(sd).sum())
        evidence.append(posteriors[-1].log_evidence - volume)
    share = softmax(evidence)
    share[share < tuning.negligible_model] = 0
    share /= share.sum()
    return [
        LabelModel(model, float(s), p.draws)
        for model, s, p in zip(view.models, share, posteriors, strict=True)
        if s > 0
    ]


def expected_labels(models: list[LabelModel], rows: Floats, n_labels: int) -> Floats:
    """(n, L) probabilities of the labels of the rows, over models and assignments."""
    out = np.zeros((rows.shape[0], n_labels))
    for model in models:
        carried = np.eye(n_labels)[model.draws].mean(axis=0)
        out += model.share * (model.clustering.responsibilities(rows) @ carried)
    return out


def pure_draws(
    view: PublicView,
    models: list[LabelModel],
    n_labels: int,
    tuning: Tuning,
    rng: np.random.Generator,
) -> Draws:
    """Draws of (eq2): a model by its share, an assignment, labels y_n ~ r_n B, and their fit."""
    picks = rng.choice(len(models), tuning.draws, p=[model.share for model in models])
    few = view.features.n_rows <= tuning.fit_rows
    whole = view.features.shared_at(np.arange(view.features.n_rows)) if few else None
    fits: list[Moments] = []
    for j in np.unique(picks):
        draws, model = models[j].draws, models[j].clustering
        chosen = draws[rng.integers(0, len(draws), int((picks == j).sum()))]
        if whole is None:
            # So many rows that drawing labels adds nothing: sums of the components' moments.
            parts = [
                moments_under(rows, model.responsibilities(rows) * shares[:, None])
                for rows, shares in view.features.shared_chunks()
            ]
            each = Moments.total(parts)
            fits += [each.merged(z, n_labels) for z in chosen]
        else:
            fits += _refits(*whole, model, chosen, n_labels, tuning, rng)
    return Draws.of(fits, view.scale)


def _overlaps(view: PublicView) -> list[tuple[Floats, Floats]]:
    """Of every model G = A^T R, (cells, components) expected rows of each component in each cell,
    and (cells,) the variance sum_n 1 - sum_m r_nm^2 of labels that are drawn from R; rows by their shares."""
    n_cells = view.cells.n_cells
    overlaps = [(np.zeros((n_cells, model.size)), np.zeros(n_cells)) for model in view.models]
    for rows, shares in view.features.shared_chunks():
        cells = view.cells(rows)
        for (G, unsure), model in zip(overlaps, view.models, strict=True):
            R = model.responsibilities(rows)
            unsure += np.bincount(cells, shares**2 * (1 - (R**2).sum(axis=1)), minlength=n_cells)
            for m in range(model.size):
                G[:, m] += np.bincount(cells, shares * R[:, m], minlength=n_cells)
    return overlaps


def _refits(
    X: Floats,
    shares: Floats,
    model: Clustering,
    draws: Assignments,
    n_labels: int,
    tuning: Tuning,
    rng: np.random.Generator,
) -> list[Moments]:
    """Count, mean and covariance of every class, once per drawn assignment (S, M)."""
    cumulative = model.responsibilities(X).cumsum(axis=1)[:, :-1]
    out = []
    for z in draws:
        component = (rng.random((X.shape[0], 1)) > cumulative).sum(axis=1)
        weight = rng.gamma(tuning.bootstrap, 1 / tuning.bootstrap, (X.shape[0], 1))
        weight *= shares[:, None]
        out.append(moments_under(X, np.eye(n_labels)[z[component]] * weight))
    return out
