"""Rows without labels at record level: private hard EM, then the record-level release.

(1) One pooled class is measured as in ``record``; (2) in its whitened coordinates rows are counted
and averaged in many public cells, a noisy coreset on which clustering is post-processing; (3) a few
rounds of hard EM with noisy moments; (4) the last assignment rule, public by now, stands in for
labels in the rounds of ``record``. In every round a row's class is a function of that row and of
earlier noisy answers, so sensitivities are those of labelled rows (docs/proofs/class-moments.md).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import qmc

from privgmm.model.mixture import Floats
from privgmm.privacy import Curator
from privgmm.privacy.assigned import AssignedQuery
from privgmm.privacy.class_moments import ClassMomentsQuery, Shape
from privgmm.privacy.marginal_counts import MarginalCountsQuery
from privgmm.proven.record import Parameters, released
from privgmm.proven.record_budget import Plan
from privgmm.proven.record_frames import Frames, Moments, axis_frames, refined
from privgmm.proven.record_rounds import Answer, Session, histogram_round, moment_round
from privgmm.proven.weighting import Weighting
from privgmm.statistics.assignment import GaussianRule

_SEED = 20240502
# Shares of the squared budget: pooled class, cells, each EM round; the rest is the final release.
_POOLED, _CELLS, _STEPS = 0.06, 0.14, (0.04, 0.04, 0.05, 0.05, 0.06, 0.06)
_CELLS_PER_CLASS = 10
_MEANS_ONLY = Shape(1.0, 1.0, 0.05)
_MOMENTS = Shape(0.5, 1.0, 1.0)


def release_unlabelled(
    curator: Curator,
    n_classes: int,
    dim: int,
    n_rows: int | None = None,
    weights: Weighting = "kl",
) -> Parameters:
    """Weights, means and covariances of a K-component mixture for all of the curator's budget."""
    squared = curator.remaining_mu**2

    def session(rule: GaussianRule, share: float | None) -> Session:
        """A part of the budget (None: what is left) over the classes that ``rule`` makes."""
        mu = curator.remaining_mu if share is None else math.sqrt(share * squared)
        k = rule.centres.shape[0]
        return Session(_answer(curator, rule), curator.adjacency, mu, k, dim, n_rows)

    rule = GaussianRule(np.zeros((1, dim)), np.zeros((1, dim, dim)), np.zeros(1))
    if n_classes > 1:
        pooled = _pooled_frame(session(rule, _POOLED))
        points, cells = _cells(pooled, n_classes)
        answer = _cell_means(session(cells, _CELLS), cells)
        rule = _clustered(points, answer, pooled, n_classes)
        for share in _STEPS:
            rule = _em_step(session(rule, share), rule)
    return released(session(rule, None), weights)


def _answer(curator: Curator, rule: GaussianRule) -> Answer:
    def answer(query: ClassMomentsQuery | MarginalCountsQuery, mu: float) -> Floats:
        return curator.answer(AssignedQuery(query, rule), mu)

    return answer


def _pooled_frame(session: Session) -> Frames:
    """(1) Coordinates in which all rows together are near N(0, I)."""
    at = histogram_round(session)
    plan = Plan(1.0, _MOMENTS, widen=1.25, cap=math.inf)
    first = axis_frames(at.means, at.means_sd, at.log_sd, at.log_sd_sd)
    return refined(moment_round(session, first, at.counts, plan, final=False), at.counts)


def _cells(pooled: Frames, n_classes: int) -> tuple[Floats, GaussianRule]:
    """(2) Public cell centres in the pooled frame, and the rule that sends a row to the nearest."""
    d = pooled.centres.shape[1]
    # Low-discrepancy points of N(0, 1.5 I): where the rows are, and nowhere crowded.
    n_cells = 2 ** math.ceil(math.log2(_CELLS_PER_CLASS * n_classes))
    points = qmc.MultivariateNormalQMC(np.zeros(d), 1.5 * np.eye(d), rng=_SEED).random(n_cells)
    return points, _nearest(pooled.centres[0] + points @ pooled.inverse[0].T, pooled.maps[0])


def _cell_means(session: Session, cells: GaussianRule) -> Moments:
    """Noisy count and sum of the rows of each cell, relative to its centre, in the pooled frame."""
    frames = _as_frames(cells)
    plan = Plan(1.0, _MEANS_ONLY, widen=1.0, cap=math.inf)
    return moment_round(session, frames, _even_counts(session), plan, final=False)


def _clustered(points: Floats, answer: Moments, pooled: Frames, n_classes: int) -> GaussianRule:
    """Weighted K-means on the cells' noisy means: post-processing."""
    from sklearn.cluster import KMeans

    # Below two standard deviations of noise a cell counts as empty.
    weight = np.where(answer.count > 2 * answer.count_sd, answer.count, 0.0)
    if np.count_nonzero(weight) < n_classes:
        weight = np.maximum(answer.count, 1e-3 * answer.count_sd)
    inside = answer.total / np.maximum(weight, 1.0)[:, None]
    inside /= np.maximum(1.0, np.linalg.norm(inside, axis=1, keepdims=True))
    found = KMeans(n_classes, n_init=20, random_state=_SEED).fit(
        points + inside, sample_weight=weight
    )
    centres = pooled.centres[0] + found.cluster_centers_ @ pooled.inverse[0].T
    # K clusters fill the volume of the pool between them: each is K^(1/d) times narrower.
    return _nearest(centres, pooled.maps[0] * n_classes ** (1 / points.shape[1]))


def _em_step(session: Session, rule: GaussianRule) -> GaussianRule:
    """(3) Noisy moments of the rule's classes; the Gaussians they suggest make the next rule."""
    plan = Plan(1.0, _MOMENTS, widen=1.25, cap=math.inf)
    return _most_probable(
        moment_round(session, _as_frames(rule), _even_counts(session), plan, final=False)
    )


def _most_probable(answer: Moments) -> GaussianRule:
    counts = np.maximum(answer.count, 2 + 0.5 * answer.count_sd)
    at = refined(answer, counts)
    log_det = np.log(np.diagonal(at.maps, axis1=1, axis2=2)).sum(axis=1)
    return GaussianRule(at.centres, at.maps, np.log(counts / counts.sum()) + log_det)


def _nearest(centres: Floats, whiten: Floats) -> GaussianRule:
    k = centres.shape[0]
    return GaussianRule(centres, np.repeat(whiten[None], k, axis=0), np.zeros(k))


def _as_frames(rule: GaussianRule) -> Frames:
    k, d = rule.centres.shape
    return Frames(rule.centres, rule.whiten, np.repeat(np.eye(d)[None], k, axis=0))


def _even_counts(session: Session) -> Floats:
    """A guess of the class counts, for clipping only; without a public N, a thousand rows."""
    rows = 1000.0 if session.total is None else session.total
    return np.full(session.n_classes, max(rows / session.n_classes, 2.0))
