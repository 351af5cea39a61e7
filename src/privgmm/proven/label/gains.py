"""How much better than mixed cells the clusterings tell the noisy counts of each class.

Labels of two classes may be mixed where those of the others follow clusters to the row, so every class is asked for itself.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import beta

from privgmm.proven.label.cell_table import CellTable
from privgmm.proven.label.clusterings import PublicView
from privgmm.proven.label.pure import LabelModel, expected_labels
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


def class_gains(
    view: PublicView, models: list[LabelModel], table: CellTable, tuning: Tuning
) -> Floats:
    """(K,) log-likelihood of a class's counts if labels follow the models, less that of cells mixed in an unknown way."""
    n_cells, n_classes = table.counts.shape
    cells = view.cells(view.rows)
    seen = np.bincount(cells, view.shares, minlength=n_cells)
    weight = (table.sizes / np.maximum(seen, 1e-300))[cells] * view.shares

    def per_cell(values: Floats) -> Floats:
        return np.stack([np.bincount(cells, weight * v, minlength=n_cells) for v in values.T], 1)

    expected = per_cell(expected_labels(models, table.n_labels)[:, :n_classes])
    noise = table.sigma[:, None] ** 2 * (1 - 1 / n_classes if table.totals_public else 1.0)
    # A model is never quite right, models and assignments differ, and labels are drawn from responsibilities.
    variance = noise + tuning.misfit * table.sizes[:, None]
    for model in models:
        R, each = model.responsibilities, np.eye(table.n_labels)[model.draws][..., :n_classes]
        told = np.einsum("am,smk->sak", per_cell(R), each)
        likely = R @ each.mean(axis=0)
        unsure = ((told - expected) ** 2).mean(axis=0) + per_cell(likely * (1 - likely))
        variance = variance + model.share * unsure
    follow = -((table.counts - expected) ** 2 / variance + np.log(variance)) / 2
    gains = (follow - _mixed_cells(table, noise, tuning)).sum(axis=0)
    # Counts that add up to public sizes tell one class less than there are.
    return np.asarray(gains * (1 - 1 / n_classes) if table.totals_public else gains)


def _mixed_cells(table: CellTable, noise: Floats, tuning: Tuning) -> Floats:
    """(cells, K) log-likelihood of the counts if a cell's class shares come from their prior."""
    grid, alpha = tuning.share_grid, tuning.share_alpha
    t = beta.ppf((np.arange(grid) + 0.5) / grid, alpha, (table.n_labels - 1) * alpha)
    far = (table.counts[:, :, None] - table.sizes[:, None, None] * t) ** 2 / noise[:, :, None]
    return np.asarray(logsumexp(-far / 2, axis=2) - np.log(grid) - np.log(noise) / 2)
