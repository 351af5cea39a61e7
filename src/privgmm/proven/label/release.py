"""The label-level release: a table of label counts, then moments or a second table, then one Gaussian per class.

1. Count labels per public cell with a part of the budget.
2. ClassFit, if their noise costs little (less than what mixed cells or refuted clusterings leave open): ellipsoids around the
   classes as the table shows them, noisy class moments in them (frames.py), a guess of the labels that table and moments together choose, class
   by class (guesses.py), and labels bent to agree (tilt.py).
   Else the same cells are counted again, and labels follow a clustering and the counts, or the cells if those are mixed (pure.py).
3. Posterior draws of (eq2)'s values become a release (statistics.py) and its uncertainty.
4. The rows under their soft labels tell the shape of every column, or several Gaussians per class (shapes.py).
As rows and budget grow, moments are always asked for, in ever wider ellipsoids, so that the release converges to
the fit (eq2) on any table. This file sees features and noisy answers, never labels.
"""

from __future__ import annotations

import math

import numpy as np

from privgmm.data.features import Features, some_rows
from privgmm.privacy import Curator
from privgmm.proven.label.cell_table import CellTable, count_cells
from privgmm.proven.label.clusterings import PublicView, public_view
from privgmm.proven.label.frames import choose_frames, moment_error
from privgmm.proven.label.guesses import Guesses, Way, choose, class_gains
from privgmm.proven.label.pure import (
    how_wrong,
    label_models,
    missed_total,
    mixed_draws,
    pure_draws,
)
from privgmm.proven.label.shapes import SoftLabelled, label_components, label_margins
from privgmm.proven.label.statistics import ClassFit, FitDraws, decide, moments_under
from privgmm.proven.label.tilt import (
    Answer,
    Guess,
    Tilt,
    fit_tilt,
    likely_trusts,
)
from privgmm.proven.label.tilt_draws import posterior_draws
from privgmm.proven.label.tuning import TUNING, Tuning
from privgmm.proven.mixtures import Wanted
from privgmm.proven.objective import Objective
from privgmm.proven.uncertainty import NOT_WIDER, Estimate, uncertainty
from privgmm.queries.cell_counts import CellCounts, CellCountsQuery
from privgmm.types import Floats

# Post-processing has a fixed public seed, so that it is a deterministic function of the noisy answers.
_SEED = 1
# Rows of one step of a pass over all rows.
_PASS_ROWS = 1 << 14


def release_label(
    X: Floats | Features,
    curator: Curator,
    n_classes: int,
    objective: Objective = "balanced",
    totals_public: bool = True,
    components: Wanted = 1,
    steps: tuple[float | None, ...] | None = None,
) -> Estimate:
    """Weights (K,), means (K, d), covariances (K, d, d) and their uncertainty; spends all that is left.

    X are the public features of all rows, passed over a few times chunk by chunk if they are larger
    than memory. Use ``totals_public=False`` where some rows have no listed label: the number of rows
    with one of the classes is then private, in every cell and as a whole. With ``steps``, the distances between
    values of each stated column (None: any value), margins are released too, if each class is one Gaussian.
    """
    view = public_view(X, n_classes, TUNING)
    return release_view(view, curator, objective, totals_public, TUNING, components, steps)


def release_view(
    view: PublicView,
    curator: Curator,
    objective: Objective = "balanced",
    totals_public: bool = True,
    tuning: Tuning = TUNING,
    components: Wanted = 1,
    steps: tuple[float | None, ...] | None = None,
) -> Estimate:
    """``release_label`` for whoever releases labels of the same features more than once."""
    n_classes = view.n_classes
    left = curator.remaining_mu
    rng = np.random.default_rng(_SEED)

    query = CellCountsQuery(CellCounts(view.cells, n_classes))
    sensitivity = query.sensitivity("label")

    def count(mu: float) -> CellTable:
        nonlocal left
        found = count_cells(curator, query, view.sizes, sensitivity, mu, totals_public)
        left = curator.remaining_mu
        return found

    table = count(left * math.sqrt(tuning.first_share))
    cost = _moments_cost(view, left, tuning)
    pays = cost < tuning.affordable_once or _mixed_pay(view, table, cost, tuning, rng)
    if not pays and cost < tuning.affordable_mixed:
        # Moments would pay if cells were mixed, and the first table is so noisy that it cannot show whether they are: count again.
        table = table.with_another(count(left * math.sqrt(tuning.second_share)))
        pays = _moments_pay(view, table, left, tuning, rng)
    if pays:
        draws, told, labelled = _moment_draws(view, table, curator, left, tuning, rng)
        widen = tuning.widen_moments
    else:
        table = table.with_another(count(left))
        draws, told, soft, widen = _counted_draws(view, table, tuning, rng)
        labelled = SoftLabelled(view.numbers, view.rows, view.shares, soft)
    draws, told = draws.of_classes(n_classes), told.of_classes(n_classes)
    released = decide(draws, view.whole, view.scale, objective, tuning)
    found = uncertainty(
        told.counts, told.means, told.covariances, released, widen, tuning.widen_unsure
    )
    parts = None if components == 1 else label_components(labelled, released, components)
    if steps is None or (parts is not None and parts.owners.size > n_classes):
        # No margins here: they describe one Gaussian per class, and several components have shapes of their own.
        return Estimate(*released, found, parts)
    margins = label_margins(view.features, labelled, released, found, steps)
    return Estimate(*released, found, parts, margins)


def _moments_pay(
    view: PublicView, table: CellTable, mu: float, tuning: Tuning, rng: np.random.Generator
) -> bool:
    """Whether a moment round is expected to tell more than another table."""
    cost = _moments_cost(view, mu, tuning)
    if cost < tuning.affordable_pure or _mixed_pay(view, table, cost, tuning, rng):
        return True
    if cost >= tuning.affordable_mixed:
        return False
    # Even if cells are nearly pure, their counts may refute that labels follow any of the clusterings.
    models = label_models(view, table, tuning, rng)
    return (
        min(model.excess for model in models) > tuning.refuted
        or missed_total(view, models, table, tuning) > tuning.missed
    )


def _mixed_pay(
    view: PublicView, table: CellTable, cost: float, tuning: Tuning, rng: np.random.Generator
) -> bool:
    """Whether cells are so mixed that moments pay at this cost."""
    mixed = _mixed(table, tuning)
    if cost >= mixed * tuning.affordable_mixed:
        return False
    # Noise alone makes cells look mixed now and then, which only matters where moments are dear: unless they certainly are, clusterings that
    # tell the counts better than mixed cells contradict it. (MNIST, 5 components, epsilon 0.5: cells are certainly mixed, and
    # clusterings tell their counts better all the same.)
    return cost < tuning.affordable_pure or mixed >= 1 or not _followed(view, table, tuning, rng)


def _followed(view: PublicView, table: CellTable, tuning: Tuning, rng: np.random.Generator) -> bool:
    """Whether labels that follow clusterings tell the counts of all classes together better than mixed cells."""
    models = label_models(view, table, tuning, rng)
    return float(class_gains(view, models, table, tuning).sum()) > 0


def _moments_cost(view: PublicView, mu: float, tuning: Tuning) -> float:
    """The KL that the noise of a moment round is expected to cost if classes have equal sizes; infinite if there are too many moments."""
    d = view.scale.size
    if 1 + d + d * (d + 1) // 2 > tuning.most_statistics:
        return math.inf
    effective = float(view.sizes.sum()) / view.n_classes * mu
    return moment_error(effective, d, max(2.0, 0.5 * math.sqrt(d)))


def _mixed(table: CellTable, tuning: Tuning) -> float:
    """0 when cells are as good as pure, 1 when they are certainly mixed."""
    impure = 1 - table.purity_at_most()
    return min(max((impure - tuning.impure[0]) / (tuning.impure[1] - tuning.impure[0]), 0.0), 1.0)


def _counted_draws(
    view: PublicView, table: CellTable, tuning: Tuning, rng: np.random.Generator
) -> tuple[FitDraws, FitDraws, Floats, tuple[float, ...]]:
    """Draws for the release and for its errors, the expected labels of the view's rows, and how much wider errors are told."""
    models = label_models(view, table, tuning, rng)
    draws, told, soft = pure_draws(view, models, table, tuning, rng)
    # Signs that labels do not follow the clusters: where all show, classes whose counts mixed cells tell better are made of these, and
    # errors are told more widely where one does.
    gains = class_gains(view, models, table, tuning)
    signs = _mixed(table, tuning) > 0, min(m.excess for m in models) > tuning.excess
    if not any(signs):
        return draws, told, soft, NOT_WIDER
    cells, shares = mixed_draws(view, table, tuning, rng)
    if not all(signs) or gains.sum() > 0:
        return draws, FitDraws.together([told, cells]), soft, NOT_WIDER
    mixed = np.append(gains <= 0, [True] * (table.n_labels - gains.size))
    soft = np.where(mixed, shares, soft)
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), 1e-300)
    return (
        draws.with_classes(mixed, cells),
        told.with_classes(mixed, cells),
        soft,
        tuning.widen_cells,
    )


def _moment_draws(
    view: PublicView,
    table: CellTable,
    curator: Curator,
    mu: float,
    tuning: Tuning,
    rng: np.random.Generator,
) -> tuple[FitDraws, FitDraws, SoftLabelled]:
    """FitDraws of (eq2)'s values for the release and for its errors, and rows under the soft labels that agree with the noisy moments, which cost mu."""
    n_units, n_classes = float(view.sizes.sum()), view.n_classes
    most = max(tuning.tilt_cells // (n_classes * view.scale.size), tuning.probe_rows)
    numbers, rows, shares = view.numbers, view.rows, view.shares
    all_rows = view.has_all_rows and rows.shape[0] <= most
    if not all_rows:
        numbers = some_rows(view.features.n_rows, most, rng)
        rows, shares = view.features.shared_at(numbers)
        all_rows = rows.shape[0] == view.features.n_rows
    weight = 1.0 if all_rows else n_units / float(shares.sum())
    models = label_models(view, table, tuning, rng) if _mixed(table, tuning) < 1 else []
    guesses = Guesses(view, models, table, tuning, rng)
    bases = guesses.bases(rows, shares)
    framed = guesses.each_class(bases)[:, :n_classes] * shares[:, None]
    frames = choose_frames(rows, framed, view.scale, weight, mu, tuning)
    totals = (curator.answer(frames.query, mu) / frames.query.steps).reshape(n_classes, -1)
    answer = Answer(frames, totals, frames.query.sensitivity("label") / mu)
    coordinates = [frames.clipped(rows, k) for k in range(n_classes)]
    way, guess = choose(guesses, bases, shares, coordinates, answer, weight, tuning)
    tilt = fit_tilt(answer, guess, coordinates, weight, tuning)
    if all_rows:
        tilted = tilt.labels(coordinates, guess.labels, shares)
        centre = moments_under(rows, tilted[:, :n_classes] * shares[:, None])
    else:
        tilt, centre = _corrected(
            view, answer, guess, coordinates, tilt, guesses, way, weight, tuning
        )
        tilted = tilt.labels(coordinates, guess.labels, shares)
    probe = slice(None, None, max(1, -(-rows.shape[0] // tuning.probe_rows)))
    draws, told = posterior_draws(
        centre,
        view.scale,
        rows[probe],
        shares[probe],
        tilted[probe],
        guess.trust,
        likely_trusts(guess, answer, how_wrong(models, tuning), tuning),
        answer,
        n_units / float(shares[probe].sum()),
        tuning,
        rng,
    )
    return draws, told, SoftLabelled(numbers, rows, shares, tilted)


def _corrected(
    view: PublicView,
    answer: Answer,
    guess: Guess,
    coordinates: list[Floats],
    tilt: Tilt,
    guesses: Guesses,
    way: Way,
    weight: float,
    tuning: Tuning,
) -> tuple[Tilt, ClassFit]:
    """Correct a tilt of chosen rows by passes over all rows, and the class moments of all rows."""
    frames = answer.frames
    for turn in range(tuning.corrections + 1):
        parts, totals = [], np.zeros_like(answer.totals)
        for X, shares in view.features.shared_chunks(_PASS_ROWS):
            u = [frames.clipped(X, k) for k in range(frames.n_classes)]
            likely = guesses.labels(guesses.bases(X, shares), way)
            labels = tilt.labels(u, likely, shares) * shares[:, None]
            totals += np.stack([frames.totals(u[k], labels[:, k]) for k in range(len(u))])
            parts.append(moments_under(X, labels[:, : frames.n_classes]))
        if turn == tuning.corrections:
            break
        # The totals of the chosen rows, scaled up, differ from those of all rows; the difference is subtracted from the next target.
        chosen = tilt.labels(coordinates, guess.labels, guess.shares) * guess.shares[:, None]
        seen = np.stack([frames.totals(u, chosen[:, k]) for k, u in enumerate(coordinates)])
        target = Answer(frames, answer.totals - totals + weight * seen, answer.sigma)
        tilt = fit_tilt(target, guess, coordinates, weight, tuning, start=tilt)
    return tilt, ClassFit.total(parts)
