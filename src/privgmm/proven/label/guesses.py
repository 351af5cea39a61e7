"""Guesses of the labels of any rows by the noisy table alone, for the moments to choose from and to bend.

The table gives class shares of the cells, of every clustering whose common refinement they are, and, if clusterings may explain it,
labels that follow these and agree with its counts. Where moments may say that any row carries any label, a guess is nowhere zero;
classes that are held (held.py) are left as the clusterings have them: a flat class is ruined by a part of a row from far away,
which its clipped moments do not show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.label.cell_table import CellTable, class_shares
from privgmm.proven.label.clusterings import PublicView
from privgmm.proven.label.counted import fit_bend
from privgmm.proven.label.held import fit_of_classes
from privgmm.proven.label.pure import LabelModel, expected_labels
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


class Guesses:
    """Soft labels (n, L) of any rows in several ways; the last is the one that the table prefers."""

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
        self.shares = [class_shares(table.grouped(g), tuning, rng)[g] for g in groups]
        total = np.maximum(table.counts.sum(axis=0), 1.0)
        rest = [] if table.totals_public else [max(table.sizes.sum() - total.sum(), 1.0)]
        self.overall = np.append(total, rest) / (total.sum() + sum(rest))
        self.kinds = [(False, np.zeros(table.n_labels, dtype=bool))]
        self.gain = np.zeros(table.n_labels)
        if models:
            likely = expected_labels(models, table.n_labels)
            self.bend = fit_bend(likely, view.cells(view.rows), view.shares, table, tuning)
            fit = fit_of_classes(view, models, table, tuning)
            self.gain[: fit.gain.size] = fit.gain
            held = np.zeros(table.n_labels, dtype=bool)
            held[: fit.gain.size] = fit.held(tuning)
            self.kinds += [(True, self.kinds[0][1])]
            if held.any() and not held.all():
                self.kinds += [(False, held), (True, held)]
            self.kinds += [(True, np.ones_like(held))]

    def __call__(self, rows: Floats, shares: Floats) -> list[tuple[Floats, float]]:
        """Of rows of these shares, each with its log-evidence by the table."""
        cells = self.view.cells(rows)
        found = [each[cells] for each in self.shares]
        follow = found[0]
        if self.models:
            likely = expected_labels(self.models, self.table.n_labels, rows)
            follow = self.bend.labels(likely, cells, shares)
        out = []
        for follows, held in self.kinds:
            evidence = float(self.gain[held | follows].sum()) - self.tuning.doubted * (~held).any()
            for one in [follow] if follows else found:
                out.append((self._doubted(one, follow, held), evidence))
        return out

    def _doubted(self, loose: Floats, follow: Floats, held: NDArray[np.bool_]) -> Floats:
        """Held classes as ``follow`` has them; the rest of every row is divided as ``loose`` says, with some doubt."""
        out = follow.copy()
        if held.all():
            return out
        rest = 1 - follow[:, held].sum(axis=1, keepdims=True)
        part = loose[:, ~held] / np.maximum(loose[:, ~held].sum(axis=1, keepdims=True), 1e-300)
        any_label = self.overall[~held] / self.overall[~held].sum()
        share = self.tuning.doubt
        out[:, ~held] = rest * ((1 - share) * part + share * any_label)
        return out
