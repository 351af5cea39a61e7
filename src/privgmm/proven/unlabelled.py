"""Rows without labels at record level: private stochastic EM, then the record-level release.

(1) All rows together are measured as one pooled class, as in ``record``. (2) In its whitened coordinates rows are counted
and averaged in many public cells, and a mixture is fitted to synthetic rows like them, which is post-processing.
(3) Rounds of stochastic EM with noisy moments improve the mixture. Where rows are many, it has several times as many
components as asked for: such a mixture comes close to any density in few rounds, and the wanted mixture is then
fitted to rows drawn from it, which costs no budget however slowly EM converges. (4) A few rounds follow with the wanted
components, and the last rule, which is public by then, replaces labels in the rounds of ``record``. In every round a row's
class is a function of that row and of earlier noisy answers, so sensitivities are those of labelled rows
(docs/proofs/class-moments.md).
The rule assigns rows at random by responsibility (Celeux and Diebolt 1985), with lots hashed from the row. Assigning each
row to its most probable class would cut overlapping components where they meet, and make all of them too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from privgmm.privacy import Adjacency, Curator
from privgmm.proven.mixtures import Parts
from privgmm.proven.objective import Objective
from privgmm.proven.record.clipping import unclipped
from privgmm.proven.record.components import denoised
from privgmm.proven.record.frames import Frames, axis_frames, refined
from privgmm.proven.record.lookalike import (
    Cells,
    fewer,
    lookalike,
    public_cells,
    rich_mixture,
    start_mixture,
)
from privgmm.proven.record.mechanism import released
from privgmm.proven.record.rounds import (
    Answer,
    AnyQuery,
    Grid,
    Session,
    histogram_round,
    moment_round,
    radial_round,
)
from privgmm.proven.record.tails import radial_laws
from privgmm.proven.record.tuning import Round
from privgmm.proven.uncertainty import Estimate
from privgmm.queries.assigned import AssignedQuery
from privgmm.queries.class_moments import Shape
from privgmm.rowwise import GaussianRule, mixture_rule
from privgmm.types import Floats


@dataclass(frozen=True)
class Tuning:
    """The tuned numbers of private EM; shares are parts of the whole budget (of mu squared), and the final release has the rest.

    The comments quote two measurements. "covertype": held-out log-likelihood below scikit-learn's EM, in nats, of
    ``python -m bench.bars unlabelled`` on a quarter of the rows with four times mu. "mixtures": the loss in nats of
    ``python -m bench.goals unlabelled``, over six to eight data sets.
    """

    # Share of the pooled class (1).
    pooled: float = 0.06
    # Share of the cells (2). 0.10 and 0.14 tried: mixtures, N=1000, one round, 0.95 and 0.83 nats; N=10,000 0.079 and 0.081.
    cells: float = 0.14
    # Share of one round of EM (3), the most rounds, and the signal (rows of a class * mu / d) for which there is one round; there is at
    # least one. Mixtures, N=1000, epsilon 1 (signal 18): 1, 3, 8 rounds 1.06, 0.94, 1.46 nats; N=2000, epsilon 2 (66): 3, 4, 8, 10 rounds
    # 0.25, 0.23, 0.22, 0.24; N=10,000, epsilon 1 (180): 6, 8, 10 rounds 0.091, 0.079, 0.079 (shares 0.06 up to six rounds, 0.05 beyond).
    step: float = 0.05
    steps: int = 8
    signal_per_step: float = 20.0
    # Rounds with the wanted components, after those with more (4). 8 + 2 and 6 + 4 rounds: covertype, epsilon 1, 0.50 and 0.68 nats;
    # mixtures, N=100,000, 0.017 and 0.021.
    last_steps: int = 2
    # With enough rows the first rounds have between ``rich`` and ``richest`` components for each wanted one, otherwise as many as wanted;
    # each component needs the signal rows * mu / d^1.5 below. Three for each: mixtures, N=10,000 (signal 35 each) 0.098, N=100,000 0.003
    # nats; as many as wanted: 0.053, 0.014; covertype, epsilon 1, twenty rounds with the wanted ones 1.1, eight with three each 0.3 nats.
    richest: int = 3
    rich: int = 2
    component_signal: float = 60.0
    # Weight of one further, background component, and its width in widths of the pooled class: it takes the rows far from all others, so
    # that no other component stretches towards them. Covertype, epsilon 1: 0.31 nats with it, 0.75 without.
    background: float = 0.005
    background_width: float = 2.0
    cell_means: Shape = field(default=Shape(1.0, 0.5, 0.05))
    # The round of the pooled class, with a generous clip, and the rounds of EM.
    whole: Round = field(default=Round(1.0, Shape(0.5, 1.0, 1.0), widen=1.25, cap=math.inf))
    moments: Round = field(
        default=Round(1.0, Shape(math.sqrt(0.35), math.sqrt(0.5), 1.0), widen=1.0, cap=math.inf)
    )


TUNING = Tuning()


@dataclass(frozen=True)
class _Guess:
    """A mixture in the coordinates of the region, and the approximate number of rows (M,) of each component."""

    parts: Parts
    counts: Floats

    def rule(self, salt: int) -> GaussianRule:
        """The rule by which rows draw their component by responsibility; every salt gives them new lots."""
        weights, means, covariances = self.parts
        return mixture_rule(weights, means, np.linalg.inv(np.linalg.cholesky(covariances)), salt)


def release_unlabelled(
    curator: Curator,
    n_classes: int,
    dim: int,
    n_rows: int | None = None,
    objective: Objective = "balanced",
    shapes: bool = False,
    extent: float = 1.0,
    grid: Grid | None = None,
) -> Estimate:
    """Weights, means and covariances of a K-component mixture for all of the curator's budget.

    ``shapes``, ``extent`` and ``grid`` are those of ``release_record``, for the last histograms.
    """
    squared = curator.remaining_mu**2

    def session(rule: GaussianRule, share: float | None) -> Session:
        """A part of the budget (None: what is left) over the classes that ``rule`` makes."""
        mu = curator.remaining_mu if share is None else math.sqrt(share * squared)
        last = (extent, grid) if share is None else ()
        k = rule.size
        return Session(_answer(curator, rule), curator.adjacency, mu, k, dim, n_rows, *last)

    salts = count(1)

    def rounds(guess: _Guess, steps: int) -> _Guess:
        for _ in range(steps):
            rule = guess.rule(next(salts))
            guess = _em_step(session(rule, TUNING.step), rule, guess.counts)
        return guess

    rule = GaussianRule(np.zeros((1, dim)), np.zeros((1, dim, dim)), np.zeros(1))
    if n_classes > 1:
        whole = session(rule, TUNING.pooled)
        pooled = _pooled_frame(whole)
        rows = whole.total
        assert rows is not None  # noisy where the number of rows is not public
        size = _components(n_classes, rows * math.sqrt(squared) / dim**1.5)
        cells = public_cells(dim, size, _cell_signal(rows, squared, curator.adjacency))
        first = session(_nearest(cells, pooled), TUNING.cells)
        guess = _first_guess(first, cells, pooled, rows, size, n_classes)
        guess = rounds(guess, _steps(rows * math.sqrt(squared) / (n_classes * dim)))
        if size > n_classes:
            parts = fewer(guess.parts, n_classes)
            guess = rounds(_Guess(parts, rows * parts[0]), TUNING.last_steps)
        rule = guess.rule(next(salts))
    # (eq2) has no value on unlabelled rows that a component could be off from.
    return released(session(rule, None), objective, shapes)._replace(errors=None)


def _answer(curator: Curator, rule: GaussianRule) -> Answer:
    def answer(query: AnyQuery, mu: float) -> Floats:
        return curator.answer(AssignedQuery(query, rule), mu)

    return answer


def _components(n_classes: int, signal: float) -> int:
    """How many components the first rounds have: several for each wanted one if the signal suffices, otherwise as many as wanted."""
    size = min(TUNING.richest * n_classes, int(signal / TUNING.component_signal))
    return size if size >= TUNING.rich * n_classes else n_classes


def _steps(signal: float) -> int:
    """How many rounds of EM: fewer where rows are few, since each round then adds more noise than it gains."""
    return min(max(int(signal / TUNING.signal_per_step), 1), TUNING.steps)


def _pooled_frame(session: Session) -> Frames:
    """(1) Coordinates in which all rows together are near N(0, I)."""
    at = histogram_round(session)
    first = axis_frames(at.means, at.means_sd, at.log_sd, at.log_sd_sd)
    return refined(moment_round(session, first, at.counts, TUNING.whole), at.counts)


def _cell_signal(rows: float, squared: float, adjacency: Adjacency) -> float:
    """The number of all rows, in standard deviations of the noise on one cell's count."""
    sensitivity = TUNING.cell_means.squared_sensitivity(adjacency)
    return rows * math.sqrt(TUNING.cells * squared / sensitivity)


def _nearest(cells: Cells, pooled: Frames) -> GaussianRule:
    """The rule by which a row goes to the cell with the nearest centre, in the pooled frame."""
    k = cells.centres.shape[0]
    centres = pooled.centres[0] + cells.centres @ pooled.inverse[0].T
    return GaussianRule(centres, np.repeat(pooled.maps, k, axis=0), np.zeros(k))


def _first_guess(
    session: Session, cells: Cells, pooled: Frames, rows: float, size: int, n_classes: int
) -> _Guess:
    """(2) Noisy counts and means of the cells, and the mixture of ``size`` components that explains them."""
    k, d = cells.centres.shape
    centres = pooled.centres[0] + cells.centres @ pooled.inverse[0].T
    frames = Frames(centres, pooled.maps[0] / cells.widths[:, None, None], _unknown(k, d))
    plan = Round(1.0, TUNING.cell_means, widen=1.0, cap=math.inf)
    answer = moment_round(session, frames, np.full(k, rows / k), plan)
    made = lookalike(cells, answer, size)
    if size > n_classes:
        share, width = TUNING.background, TUNING.background_width
        weights, means, shapes = rich_mixture(made, size)
        weights = np.append((1 - share) * weights, share)
        means = np.concatenate([means, np.zeros((1, d))])
        shapes = np.concatenate([shapes, width**2 * np.eye(d)[None]])
    else:
        weights, means, shapes = start_mixture(made, size)
    back = pooled.inverse[0]
    parts = weights, pooled.centres[0] + means @ back.T, back @ shapes @ back.T
    return _Guess(parts, rows * weights)


def _em_step(session: Session, rule: GaussianRule, counts: Floats) -> _Guess:
    """(3) One round: noisy shell counts and moments of the rule's classes, and the Gaussians that they suggest.

    Where noise hides a component it stays as it was. Variance lost to clipping is put back by the tails that the shells show;
    otherwise every round would make a component with tails narrower, and its far rows would cost more likelihood each time.
    """
    frames = Frames(rule.centres, rule.whiten, _unknown(*rule.centres.shape))
    laws = radial_laws(radial_round(session, frames), counts, session.dim)
    answer = moment_round(session, frames, counts, TUNING.moments, laws)
    counts = np.maximum(answer.count, 2 + 0.5 * answer.count_sd)
    (whole,) = unclipped((answer,), counts, laws)
    means, covariances = frames.out_of(*denoised(whole, counts))
    return _Guess((counts / counts.sum(), means, covariances), counts)


def _unknown(k: int, d: int) -> Floats:
    """(k, d, d) covariances of means about which nothing is known but that they lie in their frames."""
    return np.repeat(np.eye(d)[None], k, axis=0)
