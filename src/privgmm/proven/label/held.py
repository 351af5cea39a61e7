"""Which classes follow the clusterings, by the noisy table.

Labels of two classes may be mixed where those of the others follow clusters to the row. A class is held to the clusterings if
they tell its counts in all cells up to noise, and better than cells of any mixture would; what they do not tell of a class, others
have too much of, and those are not held either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, logsumexp, ndtri
from scipy.stats import beta

from privgmm.proven.label.cell_table import CellTable
from privgmm.proven.label.clusterings import PublicView
from privgmm.proven.label.pure import LabelModel, expected_labels
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class Fit:
    """How well the clusterings tell the counts of every class.

    excess : (K,) how unlikely noise alone makes the chi-square of a class's counts, as a quantile of the normal law
    gain : (K,) log-likelihood of its counts, less that of cells which are mixed in an unknown way
    blamed : (K, K) the part of what is not told of a class that lies where another one is expected
    """

    excess: Floats
    gain: Floats
    blamed: Floats

    def held(self, tuning: Tuning) -> NDArray[np.bool_]:
        """(K,) whether a class is held to the clusterings."""
        loose = (self.excess > tuning.loose) | (self.gain < tuning.preferred)
        return ~(loose | (self.blamed[loose] > tuning.blamed).any(axis=0))


def fit_of_classes(
    view: PublicView, models: list[LabelModel], table: CellTable, tuning: Tuning
) -> Fit:
    """Of the models together."""
    n_cells, n_classes = table.counts.shape
    cells = view.cells(view.rows)
    seen = np.bincount(cells, view.shares, minlength=n_cells)
    weight = (table.sizes / np.maximum(seen, 1e-300))[cells] * view.shares

    def per_cell(values: Floats) -> Floats:
        return np.stack([np.bincount(cells, weight * v, minlength=n_cells) for v in values.T], 1)

    expected = per_cell(expected_labels(models, table.n_labels)[:, :n_classes])
    noise = table.sigma[:, None] ** 2 * (1 - 1 / n_classes if table.totals_public else 1.0)
    # A model is never quite right; labels are drawn from its responsibilities; models and assignments differ.
    variance = noise + tuning.misfit * table.sizes[:, None]
    for model in models:
        R, each = model.responsibilities, np.eye(table.n_labels)[model.draws][..., :n_classes]
        told = np.einsum("am,smk->sak", per_cell(R), each)
        likely = R @ each.mean(axis=0)
        unsure = per_cell(likely * (1 - likely))
        variance = variance + model.share * (((told - expected) ** 2).mean(axis=0) + unsure)
    miss = (table.counts - expected) ** 2 / variance
    excess = -ndtri(np.maximum(chdtrc(n_cells, miss.sum(axis=0)), 1e-300))
    told = -(miss + np.log(variance)) / 2
    part = expected / np.maximum(table.sizes, 1e-300)[:, None]
    blamed = (miss**2).T @ part / np.maximum((miss**2).sum(axis=0), 1e-300)[:, None]
    return Fit(excess, (told - _mixed_cells(table, noise, tuning)).sum(axis=0), blamed)


def _mixed_cells(table: CellTable, noise: Floats, tuning: Tuning) -> Floats:
    """(cells, K) log-likelihood of the counts if a cell's class shares come from their prior."""
    grid, alpha = tuning.share_grid, tuning.share_alpha
    t = beta.ppf((np.arange(grid) + 0.5) / grid, alpha, (table.n_labels - 1) * alpha)
    far = (table.counts[:, :, None] - table.sizes[:, None, None] * t) ** 2 / noise[:, :, None]
    return np.asarray(logsumexp(-far / 2, axis=2) - np.log(grid) - np.log(noise) / 2)
