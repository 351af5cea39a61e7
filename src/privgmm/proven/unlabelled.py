"""Rows without labels at record level: private stochastic EM, then the record-level release.

(1) One pooled class is measured as in ``record``; (2) in its whitened coordinates rows are counted
and averaged in many public cells, and a mixture is fitted to rows like them, which is
post-processing; (3) a few rounds of stochastic EM with noisy moments; (4) the last rule, public by
now, stands in for labels in the rounds of ``record``. In every round a row's class is a function of that
row and of earlier noisy answers, so sensitivities are those of labelled rows (docs/proofs/class-moments.md).
The rule draws lots by responsibility (Celeux and Diebolt 1985): the most probable class would
cut overlapping components where they meet, and make all of them too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.privacy import Adjacency, Curator
from privgmm.proven.lookalike import Cells, lookalike, public_cells, start_mixture
from privgmm.proven.objective import Objective
from privgmm.proven.record.frames import Frames, axis_frames, refined
from privgmm.proven.record.mechanism import released
from privgmm.proven.record.rounds import (
    Answer,
    AnyQuery,
    Grid,
    Session,
    histogram_round,
    moment_round,
)
from privgmm.proven.record.tuning import Round
from privgmm.proven.uncertainty import Estimate
from privgmm.queries.assigned import AssignedQuery
from privgmm.queries.class_moments import Shape
from privgmm.rowwise import GaussianRule, mixture_rule
from privgmm.types import Floats

# Shares of the squared budget: pooled class, cells, each EM round; the rest is the final release.
_POOLED, _CELLS, _STEP = 0.06, 0.14, 0.06
# A round of EM for so much signal (rows of a class * mu, over d), at least one: noise undoes what more would find.
_SIGNAL_PER_STEP, _MOST_STEPS = 35.0, 5
_CELL_MEANS = Shape(1.0, 0.5, 0.05)
_MOMENTS = Shape(0.5, 1.0, 1.0)


@dataclass(frozen=True)
class _Guess:
    """A mixture's rule, and about how many rows (K,) it gives each class."""

    rule: GaussianRule
    counts: Floats


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
        k = rule.centres.shape[0]
        last = (extent, grid) if share is None else ()
        return Session(_answer(curator, rule), curator.adjacency, mu, k, dim, n_rows, *last)

    rule = GaussianRule(np.zeros((1, dim)), np.zeros((1, dim, dim)), np.zeros(1))
    if n_classes > 1:
        whole = session(rule, _POOLED)
        pooled = _pooled_frame(whole)
        rows = whole.total
        assert rows is not None  # noisy where the number of rows is not public
        signal = _cell_signal(rows, _CELLS * squared, curator.adjacency)
        cells = public_cells(dim, n_classes, signal)
        guess = _first_guess(
            session(_nearest(cells, pooled), _CELLS), cells, pooled, rows, n_classes
        )
        signal = rows * math.sqrt(squared) / (n_classes * dim)
        steps = min(max(int(signal / _SIGNAL_PER_STEP), 1), _MOST_STEPS)
        for salt in range(1, steps + 1):
            guess = _em_step(session(guess.rule, _STEP), guess, salt)
        rule = guess.rule
    # (eq2) has no value on unlabelled rows that a component could be off from.
    return released(session(rule, None), objective, shapes)._replace(errors=None)


def _answer(curator: Curator, rule: GaussianRule) -> Answer:
    def answer(query: AnyQuery, mu: float) -> Floats:
        return curator.answer(AssignedQuery(query, rule), mu)

    return answer


def _pooled_frame(session: Session) -> Frames:
    """(1) Coordinates in which all rows together are near N(0, I)."""
    at = histogram_round(session)
    plan = Round(1.0, _MOMENTS, widen=1.25, cap=math.inf)
    first = axis_frames(at.means, at.means_sd, at.log_sd, at.log_sd_sd)
    return refined(moment_round(session, first, at.counts, plan), at.counts)


def _cell_signal(rows: float, squared: float, adjacency: Adjacency) -> float:
    """All rows, in standard deviations of the noise that one cell's count will have."""
    return rows * math.sqrt(squared / _CELL_MEANS.squared_sensitivity(adjacency))


def _nearest(cells: Cells, pooled: Frames) -> GaussianRule:
    """A row goes to the cell with the nearest centre, in the pooled frame."""
    k = cells.centres.shape[0]
    centres = pooled.centres[0] + cells.centres @ pooled.inverse[0].T
    return GaussianRule(centres, np.repeat(pooled.maps, k, axis=0), np.zeros(k))


def _first_guess(
    session: Session, cells: Cells, pooled: Frames, rows: float, n_classes: int
) -> _Guess:
    """(2) Noisy counts and means of the cells, and the mixture that explains them."""
    k, d = cells.centres.shape
    centres = pooled.centres[0] + cells.centres @ pooled.inverse[0].T
    frames = Frames(centres, pooled.maps[0] / cells.widths[:, None, None], _unknown(k, d))
    plan = Round(1.0, _CELL_MEANS, widen=1.0, cap=math.inf)
    answer = moment_round(session, frames, np.full(k, rows / k), plan)
    found = start_mixture(lookalike(cells, answer, n_classes), n_classes)
    whiten = np.linalg.inv(np.linalg.cholesky(found.covariances)) @ pooled.maps[0]
    centres = pooled.centres[0] + found.means @ pooled.inverse[0].T
    return _Guess(mixture_rule(found.weights, centres, whiten, salt=0), rows * found.weights)


def _em_step(session: Session, guess: _Guess, salt: int) -> _Guess:
    """(3) Noisy moments of the rule's classes; the Gaussians they suggest make the next rule."""
    k, d = guess.rule.centres.shape
    frames = Frames(guess.rule.centres, guess.rule.whiten, _unknown(k, d))
    plan = Round(1.0, _MOMENTS, widen=1.25, cap=math.inf)
    answer = moment_round(session, frames, guess.counts, plan)
    counts = np.maximum(answer.count, 2 + 0.5 * answer.count_sd)
    at = refined(answer, counts)
    return _Guess(mixture_rule(counts / counts.sum(), at.centres, at.maps, salt), counts)


def _unknown(k: int, d: int) -> Floats:
    """A mean of which no more is known than that it lies in its frame."""
    return np.repeat(np.eye(d)[None], k, axis=0)
