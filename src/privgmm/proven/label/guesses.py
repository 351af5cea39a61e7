"""Guesses of the labels of any rows by the noisy table alone, which moments choose from and bend (tilt.py).

The table gives class shares of the cells, of every clustering whose common refinement they are, and, if clusterings may explain it,
labels that follow these and agree with its counts. A class may be held to the clusterings; the others are doubted: any row of
theirs may carry any of them, so that moments can say so. To doubt a class that follows its cluster would ruin it if it is flat:
a part of a row from far away makes it wide, and its clipped moments do not show that.

Labels of two classes may be mixed where those of the others follow clusters to the row, so every class is asked for itself how much
better the clusterings tell its counts than mixed cells do (``class_gains``). The guess that the noisy table and the noisy moments
make likeliest together is taken (``choose``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, logsumexp

from privgmm.proven.label.cell_table import CellTable, class_shares, fit_bend
from privgmm.proven.label.clusterings import PublicView
from privgmm.proven.label.pure import LabelModel, expected_labels
from privgmm.proven.label.tilt import Answer, Guess, weigh
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
        groups = [np.arange(view.cells.n_cells), *view.cell_codes.T]
        self._shares = [class_shares(table.grouped(g), tuning, rng)[g] for g in groups]
        total = np.maximum(table.counts.sum(axis=0), 1.0)
        rest = [] if table.totals_public else [max(table.sizes.sum() - total.sum(), 1.0)]
        self._overall = np.append(total, rest) / (total.sum() + sum(rest))
        self.gains = np.zeros(table.n_labels)
        if models:
            likely = expected_labels(models, table.n_labels)
            self._bend = fit_bend(likely, view.row_cells, view.shares, table, tuning)
            self.gains[: total.size] = class_gains(view, models, table, tuning)

    def bases(self, rows: Floats, shares: Floats) -> list[Floats]:
        """(n, L) labels of rows of these shares by cells and by clusterings, and last, if there are models, labels that follow them."""
        known = np.array_equal(rows, self.view.rows)
        cells = self.view.row_cells if known else self.view.cells(rows)
        found = [each[cells] for each in self._shares]
        if self.models:
            likely = expected_labels(self.models, self.table.n_labels, None if known else rows)
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


def choose(
    guesses: Guesses,
    bases: list[Floats],
    shares: Floats,
    coordinates: Sequence[Floats],
    answer: Answer,
    weight: float,
    tuning: Tuning,
) -> tuple[Way, Guess]:
    """The likeliest way, and its guess of the rows that ``bases``, ``shares`` and ``coordinates`` are of.

    Every base is tried with all classes doubted. If clusterings may explain the table, labels that follow them are tried as
    well: all classes held to them, and all but the two, three, ... that this explains worst.
    """
    n_labels, last = guesses.gains.size, len(bases) - 1
    follows = last if guesses.models else -1

    def tried(way: Way) -> tuple[Floats, Way, Guess]:
        """The evidence of every class, for the table first: nothing is gained by mixed cells."""
        labels = guesses.labels(bases, way)
        guess = weigh(labels, way.held, shares, coordinates, answer, weight, tuning)
        told = np.maximum(guesses.gains, 0.0) if way.base == follows else np.zeros(n_labels)
        told = np.where(way.held, guesses.gains, told)
        return told[: guess.log_evidence.size] + guess.log_evidence, way, guess

    def total(found: tuple[Floats, Way, Guess]) -> float:
        return float(found[0].sum()) - tuning.doubted * int((~found[1].held).sum())

    nothing = np.zeros(n_labels, dtype=bool)
    found = [tried(Way(base, nothing)) for base in range(len(bases))]
    if guesses.models:
        sharp = tried(Way(last, ~nothing))
        for loose in (found[last], max(found[:last], key=total)):
            order = np.argsort(sharp[0] - loose[0])
            least = 2 - (n_labels - order.size)
            for n_loose in range(least, order.size):
                held = ~nothing
                held[order[:n_loose]] = False
                held[order.size :] = False
                found.append(tried(Way(loose[1].base, held)))
        found.append(sharp)
    _, way, guess = max(found, key=total)
    return way, guess


def class_gains(
    view: PublicView, models: list[LabelModel], table: CellTable, tuning: Tuning
) -> Floats:
    """(K,) log-likelihood of a class's counts if labels follow the models, less that of cells mixed in an unknown way."""
    n_cells, n_classes = table.counts.shape
    cells = view.row_cells
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
    t = betaincinv(alpha, (table.n_labels - 1) * alpha, (np.arange(grid) + 0.5) / grid)
    far = (table.counts[:, :, None] - table.sizes[:, None, None] * t) ** 2 / noise[:, :, None]
    return np.asarray(logsumexp(-far / 2, axis=2) - np.log(grid) - np.log(noise) / 2)
