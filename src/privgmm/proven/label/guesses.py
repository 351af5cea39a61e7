"""Guesses of the labels of any rows by the noisy table alone, which moments choose from (choice.py) and bend (tilt.py).

The table gives class shares of the cells, of every clustering whose common refinement they are, and, if clusterings may explain it,
labels that follow these and agree with its counts. A class may be held to the clusterings; the others are doubted: any row of
theirs may carry any of them, so that moments can say so. To doubt a class that follows its cluster would ruin it if it is flat:
a part of a row from far away makes it wide, and its clipped moments do not show that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.label.cell_table import CellTable, class_shares
from privgmm.proven.label.clusterings import PublicView
from privgmm.proven.label.counted import fit_bend
from privgmm.proven.label.gains import class_gains
from privgmm.proven.label.pure import LabelModel, expected_labels
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class Way:
    """A way to guess: labels that are held (L,) follow the clusterings, the others are divided as base number ``base`` says."""

    base: int
    held: NDArray[np.bool_]


class Guesses:
    """Soft labels of any rows in several ways."""

    def __init__(
        self,
        view: PublicView,
        models: list[LabelModel],
        table: CellTable,
        tuning: Tuning,
        rng: np.random.Generator,
    ) -> None:
        self.view, self.models, self.table, self.tuning = view, models, table, tuning
        groups = [np.arange(view.cells.n_cells), *view.cells.codes().T]
        self._shares = [class_shares(table.grouped(g), tuning, rng)[g] for g in groups]
        total = np.maximum(table.counts.sum(axis=0), 1.0)
        rest = [] if table.totals_public else [max(table.sizes.sum() - total.sum(), 1.0)]
        self._overall = np.append(total, rest) / (total.sum() + sum(rest))
        self.gains = np.zeros(table.n_labels)
        if models:
            likely = expected_labels(models, table.n_labels)
            self._bend = fit_bend(likely, view.cells(view.rows), view.shares, table, tuning)
            self.gains[: total.size] = class_gains(view, models, table, tuning)

    def bases(self, rows: Floats, shares: Floats) -> list[Floats]:
        """(n, L) labels of rows of these shares by cells and by clusterings, and last, if there are models, labels that follow them."""
        cells = self.view.cells(rows)
        found = [each[cells] for each in self._shares]
        if self.models:
            likely = expected_labels(self.models, self.table.n_labels, rows)
            found.append(self._bend.labels(likely, cells, shares))
        return found

    def labels(self, bases: list[Floats], way: Way) -> Floats:
        """(n, L) labels of the rows of ``bases``, guessed in this way."""
        out, held = bases[-1].copy(), way.held
        if held.all():
            return out
        loose = bases[way.base][:, ~held]
        rest = 1 - out[:, held].sum(axis=1, keepdims=True)
        part = loose / np.maximum(loose.sum(axis=1, keepdims=True), 1e-300)
        other = self._overall[~held] / self._overall[~held].sum()
        out[:, ~held] = rest * ((1 - self.tuning.doubt) * part + self.tuning.doubt * other)
        return out

    def each_class(self, bases: list[Floats]) -> Floats:
        """(n, L) labels to frame every class by itself: as the clusterings have it where they tell its counts better than mixed cells do."""
        nothing = np.zeros(self.table.n_labels, dtype=bool)
        doubted = self.labels(bases, Way(len(bases) - 1, nothing))
        if not self.models:
            return doubted
        enough = self.table.sizes.sum() * bases[-1].mean(axis=0) >= self.view.scale.size + 2
        return np.where((self.gains > 0) & enough, bases[-1], doubted)
