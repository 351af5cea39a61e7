"""FitDraws of labels where no moments were asked for: labels that follow a clustering, or that follow the cells if these are mixed.

If every component of a clustering has one class, clusterings and assignments are weighted by their evidence.
If the table shows that cells hold several classes, labels are drawn cell by cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri, softmax

from privgmm.proven.label.assignments import Assignments, bell_shaped, pure_posteriors, reweighted
from privgmm.proven.label.cell_table import CellTable, fit_bend, share_draws
from privgmm.proven.label.clusterings import Clustering, PublicView
from privgmm.proven.label.statistics import (
    ClassFit,
    FitDraws,
    RowProducts,
    column_scale,
    moments_under,
    softmax_rows,
)
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Codes, Floats

# Rows with a label as likely as this carry it.
_SURE = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class LabelModel:
    """A clustering, its share of the posterior, draws (S, M) of the class of each component, and how badly it fits.

    responsibilities : (n, M) of the view's rows
    excess : how improbable the chi-square of the table is under the best draw if there were noise alone, as a normal quantile
    """

    clustering: Clustering
    responsibilities: Floats
    share: float
    draws: Assignments
    excess: float


def label_models(
    view: PublicView, table: CellTable, tuning: Tuning, rng: np.random.Generator
) -> list[LabelModel]:
    """The clusterings that may explain the noisy table, by their evidence (bell-shaped classes being
    likelier); shares add up to one."""
    posteriors, evidence, excess = [], [], []
    n_labels = table.n_labels
    # A model is never quite right: some rows of a cell carry other labels than it says.
    sds = [
        np.sqrt(table.sigma**2 + unsure + tuning.misfit * G.sum(axis=1))[:, None]
        for G, unsure in view.overlaps
    ]
    scaled = [(G / sd, table.counts / sd) for (G, _), sd in zip(view.overlaps, sds, strict=True)]
    every = pure_posteriors(scaled, n_labels, tuning, rng)
    for (G, T), sd, found, R in zip(scaled, sds, every, view.responsibilities, strict=True):
        likely = bell_shaped(view.rows, view.shares, R, n_labels, view.scale, tuning.belief)
        posteriors.append(reweighted(found, likely, rng))
        volume = (n_labels - 1) * float(np.log(sd).sum())
        evidence.append(posteriors[-1].log_evidence - volume)
        excess.append(_excess(G, T, posteriors[-1].draws, table.totals_public))
    share = softmax(evidence)
    share[share < tuning.negligible_model] = 0
    share /= share.sum()
    return [
        LabelModel(model, R, float(s), p.draws, e)
        for model, R, s, p, e in zip(
            view.models, view.responsibilities, share, posteriors, excess, strict=True
        )
        if s > 0
    ]


def _excess(G: Floats, T: Floats, draws: Assignments, totals_public: bool) -> float:
    """``LabelModel.excess`` of the assignment that explains T best; the noise has unit variance, or less where counts were moved to public totals."""
    n_classes = T.shape[1]
    labels = max(n_classes, int(draws.max()) + 1)
    fits = [
        ((T - G @ np.eye(labels)[z][:, :n_classes]) ** 2).sum() for z in np.unique(draws, axis=0)
    ]
    free = T.shape[0] * (n_classes - totals_public)
    # With few cells chi-square is skewed: it exceeds two of its own standard deviations by chance in one table of twenty.
    return float(-ndtri(max(chdtrc(free, min(fits)), 1e-300)))


def expected_labels(models: list[LabelModel], n_labels: int, rows: Floats | None = None) -> Floats:
    """(n, L) probabilities of the labels of the rows (by default the view's), over models and assignments."""
    out = 0.0
    for model in models:
        R = model.responsibilities if rows is None else model.clustering.responsibilities(rows)
        out = out + model.share * (R @ np.eye(n_labels)[model.draws].mean(axis=0))
    return np.asarray(out)


def how_wrong(models: list[LabelModel], tuning: Tuning) -> float:
    """How much farther off labels are, at least once, than where the best clustering explains the table as well as it should."""
    if not models:
        return 1.0
    excess = min(max(min(m.excess for m in models), tuning.right), tuning.excess)
    return math.exp(tuning.wrong * (excess - tuning.right))


def missed_total(
    view: PublicView, models: list[LabelModel], table: CellTable, tuning: Tuning
) -> float:
    """The largest distance between the models and the noisy total of a class, in standard deviations; 0 if it is a small part of the class.

    ``excess`` compares all cells at once and hardly notices a small class that lies inside a large one.
    """
    n_classes = table.counts.shape[1]
    weight = view.shares * float(table.sizes.sum() / view.shares.sum())
    likely, cells = expected_labels(models, table.n_labels), view.row_cells
    bend = fit_bend(likely, cells, view.shares, table, tuning)
    labels = bend.labels(likely, cells, view.shares)[:, :n_classes]
    within = weight @ (labels * (1 - labels))
    among, mean = np.zeros(n_classes), weight @ labels
    for model in models:
        sizes = np.eye(table.n_labels)[model.draws][..., :n_classes]
        totals = np.einsum("m,smk->sk", weight @ model.responsibilities, sizes)
        among += model.share * ((totals - weight @ likely[:, :n_classes]) ** 2).mean(axis=0)
    noise = float((table.sigma**2).sum()) * (1 - 1 / n_classes if table.totals_public else 1.0)
    sd = np.sqrt(noise + within + among + tuning.misfit * float(weight.sum()))
    seen = table.counts.sum(axis=0)
    off = np.abs(seen - mean)
    return float(np.where(off > tuning.missed_part * seen, off / sd, 0.0).max())


def pure_draws(
    view: PublicView,
    models: list[LabelModel],
    table: CellTable,
    tuning: Tuning,
    rng: np.random.Generator,
) -> tuple[FitDraws, FitDraws, Floats]:
    """FitDraws of (eq2): a model by its share, an assignment, labels r_n B bent to the table, one drawn for each row, and their fit.

    The first draws give rows random weights, so that the shape of a small class counts as uncertain; the release is made of
    them. The second do not: they are what (eq2) would give on this very table, and the errors are made of them. Third come the expected labels
    (n, L) of the view's rows.
    """
    picks = rng.choice(len(models), tuning.draws, p=[model.share for model in models])
    rows, shares, cells = view.rows, view.shares, view.row_cells
    few = rows.shape[0] == view.features.n_rows
    guarded: list[FitDraws] = []
    plain: list[FitDraws] = []
    swing = tuning.swing * how_wrong(models, tuning)
    expected = np.zeros((rows.shape[0], table.n_labels))
    for j in np.unique(picks):
        draws, model, R = models[j].draws, models[j].clustering, models[j].responsibilities
        chosen = draws[rng.integers(0, len(draws), int((picks == j).sum()))]
        chosen, often = np.unique(chosen, axis=0, return_counts=True)
        likely = [R @ np.eye(table.n_labels)[z] for z in chosen]
        bent = [fit_bend(p, cells, shares, table, tuning).labels(p, cells, shares) for p in likely]
        expected += np.einsum("s,snl->nl", often / tuning.draws, bent)
        fits = [
            _refits(rows, shares, q, s, swing, tuning, rng)
            for q, s in zip(bent, often, strict=True)
        ]
        told = FitDraws.of([fit for _, drawn in fits for fit in drawn], view.scale)
        if few:
            guarded.append(FitDraws.of([fit for weighed, _ in fits for fit in weighed], view.scale))
            plain.append(told)
            continue
        # So many rows that drawing labels adds nothing to the release: sums of the components' moments, moved as bending moves those
        # of some of the rows. What drawing adds to the errors is seen on these rows, too.
        parts = [
            moments_under(x, model.responsibilities(x) * w[:, None])
            for x, w in view.features.shared_chunks()
        ]
        each, some = ClassFit.total(parts), moments_under(rows, R * shares[:, None])
        whole = FitDraws.of([each.merged(z, table.n_labels) for z in chosen], view.scale)
        before = FitDraws.of([some.merged(z, table.n_labels) for z in chosen], view.scale)
        after = FitDraws.of([moments_under(rows, q * shares[:, None]) for q in bent], view.scale)
        whole = whole.carried(before, after).repeated(often)
        guarded.append(whole)
        times = view.features.n_units / float(shares.sum())
        plain.append(whole.moved_as(after.repeated(often), told, times))
    return FitDraws.together(guarded), FitDraws.together(plain), expected


def mixed_draws(
    view: PublicView, table: CellTable, tuning: Tuning, rng: np.random.Generator
) -> tuple[FitDraws, Floats]:
    """FitDraws of (eq2) where cells are mixed, and the expected labels (n, L) of the view's rows.

    A draw takes class shares of every cell by the noisy table. Within a cell labels may depend on the features as well:
    q_nl ~ share_al exp(lambda_l^T z_n), z_n the standardised row, with slopes lambda drawn anew every time.
    """
    rows, weight = view.rows, view.features.n_units / float(view.shares.sum())
    cells = view.cells(rows)
    shares = share_draws(table, tuning, rng)
    z = (rows - rows.mean(axis=0)) / view.scale
    slopes = rng.normal(
        0.0, tuning.slope / np.sqrt(z.shape[1]), (len(shares), z.shape[1], shares.shape[2])
    )
    fits, held = [], RowProducts(rows)
    expected = np.zeros((rows.shape[0], shares.shape[2]))
    for share, slope in zip(shares, slopes, strict=True):
        q = share[cells] * np.exp(np.clip(z @ slope, -4.0, 4.0))
        q /= q.sum(axis=1, keepdims=True)
        expected += share[cells]
        code = (rng.random((rows.shape[0], 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
        fits.append(held.under(np.eye(q.shape[1])[code] * view.shares[:, None]))
    draws = FitDraws.of(fits, view.scale)
    return (
        FitDraws(weight * draws.counts, draws.means, draws.covariances),
        expected / expected.sum(axis=1, keepdims=True),
    )


def _refits(
    X: Floats,
    shares: Floats,
    labels: Floats,
    draws: int,
    swing: float,
    tuning: Tuning,
    rng: np.random.Generator,
) -> tuple[list[ClassFit], list[ClassFit]]:
    """Count, mean and covariance of every class, as often as labels are drawn from (n, L): rows weighed at random, and not.

    Only those of rows that are not weighed allow for labels that are not quite right themselves.
    """
    cumulative, one = labels.cumsum(axis=1)[:, :-1], np.eye(labels.shape[1])
    weighed, plain, held = [], [], RowProducts(X)
    swings = _Swing(X, labels, swing, rng.spawn(1)[0])
    for _ in range(draws):
        lot = rng.random((X.shape[0], 1))
        code = (lot > cumulative).sum(axis=1)
        weight = rng.gamma(tuning.bootstrap, 1 / tuning.bootstrap, (X.shape[0], 1))
        drawn = one[code] * shares[:, None]
        weighed.append(held.under(drawn * weight).counted_as(drawn.sum(axis=0)))
        plain.append(held.under(one[swings.codes(code, lot)] * shares[:, None]))
    return weighed, plain


class _Swing:
    """Labels that are off together: q_nl ~ q_nl exp(a_l + b_l^T z_n), a and b drawn anew for every draw.

    The boundaries of a clustering are only estimated. Rows that carry one label for sure (nearly all, where clusters are far apart)
    do not notice; of those on a boundary many change sides at once, and not each by itself.
    """

    def __init__(self, X: Floats, labels: Floats, size: float, rng: np.random.Generator) -> None:
        self.rows = np.flatnonzero(labels.max(axis=1) < _SURE)
        torn = X[self.rows]
        z = (torn - torn.mean(axis=0)) / column_scale(torn) if len(torn) > 1 else 0 * torn
        self.columns = np.hstack([np.ones((len(torn), 1)), z])
        self.logs = np.log(np.maximum(labels[self.rows], 1e-300))
        self.size, self.rng = size, rng

    def codes(self, code: Codes, lot: Floats) -> Codes:
        """Codes (n,) of labels that ``lot`` (n, 1) draws, those of torn rows drawn again with the same lots."""
        slopes = self.rng.normal(0.0, self.size, (self.columns.shape[1], self.logs.shape[1]))
        q, _ = softmax_rows(self.logs + self.columns @ slopes)
        code = code.copy()
        code[self.rows] = (lot[self.rows] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return code
