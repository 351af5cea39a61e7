"""The rounds themselves: choose a query, ask it, and read its answer in the right units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Floats
from privgmm.privacy import Adjacency
from privgmm.privacy.class_moments import ClassMomentsQuery
from privgmm.privacy.marginal_counts import MarginalCountsQuery
from privgmm.proven.record_budget import (
    HISTOGRAM_BINS,
    HISTOGRAM_CAP,
    HISTOGRAM_SHARE,
    REFINEMENTS,
    SURE,
    Plan,
    capped,
)
from privgmm.proven.record_frames import Frames, Moments, clip_radius
from privgmm.proven.record_marginals import Located, locate
from privgmm.statistics.class_moments import ClassMoments, grid_scale
from privgmm.statistics.marginal_counts import MarginalCounts

Answer = Callable[[ClassMomentsQuery | MarginalCountsQuery, float], Floats]


@dataclass
class Session:
    """A budget to spend: ``answer`` adds the noise, ``left`` is the mu not yet spent.

    n_rows is None where it is not public; ``total`` is the best public idea of it.
    """

    answer: Answer
    adjacency: Adjacency
    left: float
    n_classes: int
    dim: int
    n_rows: int | None

    def __post_init__(self) -> None:
        self.total: float | None = None if self.n_rows is None else float(self.n_rows)

    def ask(
        self, query: ClassMomentsQuery | MarginalCountsQuery, share: float, cap: float = math.inf
    ) -> tuple[Floats, float]:
        """Noisy totals, and sigma (per step), for a share of the squared budget left."""
        sensitivity = query.sensitivity(self.adjacency)
        average = None if self.total is None else self.total / self.n_classes
        mu = capped(self.left * math.sqrt(share), average, sensitivity, cap)
        self.left = math.sqrt(max(self.left**2 - mu**2, 0.0))
        return self.answer(query, mu), sensitivity / mu


@dataclass(frozen=True)
class Answers:
    """All noisy answers of a release: histograms, rounds of moments, and what both say of the counts (K,)."""

    located: Located
    rounds: tuple[Moments, ...]
    counts: Floats
    variance: Floats

    @property
    def frames(self) -> Frames:
        """The last round's coordinates, in which the release is made."""
        return self.rounds[-1].frames


def classwise(change: Callable[..., Any], *records: Any) -> Any:
    """The record made by ``change`` from every array (K, ...) of records with the same fields."""
    first = records[0]
    if isinstance(first, tuple):
        return tuple(classwise(change, *level) for level in zip(*records, strict=True))
    if not is_dataclass(first):
        return change(*records)
    make: type = type(first)
    levels = ([getattr(record, field.name) for record in records] for field in fields(first))
    return make(*(classwise(change, *level) for level in levels))


def histogram_round(session: Session) -> Located:
    """(1) Column histograms over the stated region, and finer ones around classes seen too coarsely."""
    shape = session.n_classes, session.dim
    low, width = np.full(shape, -1.0), np.full(shape, 2.0 / HISTOGRAM_BINS)
    best = _histograms(session, low, width)
    for _ in range(REFINEMENTS):
        if not _too_coarse(best).any():
            break
        half = 5 * np.exp(best.log_sd + best.log_sd_sd) + 4 * best.means_sd
        finer = _histograms(session, best.means - half, 2 * half / HISTOGRAM_BINS)
        best = _sharper(best, finer)
    return best


def moment_round(
    session: Session, frames: Frames, counts: Floats, plan: Plan, final: bool
) -> Moments:
    """(2), (3) Counts, sums and second moments of rows clipped into each class's ellipsoid."""
    d = session.dim
    # The radius weighs clipping against noise, so it needs the noise this round will have.
    spare = math.sqrt(
        session.left**2 * plan.share / plan.shape.squared_sensitivity(session.adjacency)
    )
    chosen = [clip_radius(d, max(n, 1.0) * spare) for n in counts]
    radius = np.array([r for r, _ in chosen]) * plan.widen
    query = ClassMomentsQuery(
        ClassMoments(frames.centres, frames.maps / radius[:, None, None]), plan.shape
    )
    answer, sigma = session.ask(query, plan.share, plan.cap * d)
    noise = (query.steps * sigma).reshape(session.n_classes, -1)
    table = answer.reshape(session.n_classes, -1)
    unit = radius / grid_scale(d)
    rows, cols = np.triu_indices(d)
    second = np.empty((session.n_classes, d, d))
    second[:, rows, cols] = second[:, cols, rows] = table[:, 1 + d :] * unit[:, None] ** 2
    second_sd = noise[:, 1 + d] * unit**2
    if final:
        # A whitened class is close to N(0, I), of which the clip keeps a known part.
        kept = np.array([share for _, share in chosen])
        second, second_sd = second / kept[:, None, None], second_sd / kept
    count, count_sd = _on_the_total(session, table[:, 0], noise[:, 0])
    return Moments(
        frames, count, table[:, 1 : 1 + d] * unit[:, None], second,
        count_sd, noise[:, 1] * unit, second_sd,
    )  # fmt: skip


def _histograms(session: Session, low: Floats, width: Floats) -> Located:
    query = MarginalCountsQuery(MarginalCounts(low, width, HISTOGRAM_BINS))
    answer, sigma = session.ask(query, HISTOGRAM_SHARE, HISTOGRAM_CAP)
    counts, tables = answer[: session.n_classes], answer[session.n_classes :]
    if session.n_rows is None:
        # Noisy, hence public; four standard deviations so that no class outgrows it.
        session.total = max(float(counts.sum() + 4 * sigma * math.sqrt(counts.size)), 4.0)
    assert session.total is not None
    counts, _ = _on_the_total(session, counts, np.full(counts.size, sigma))
    shape = session.n_classes, session.dim, HISTOGRAM_BINS
    return locate(counts, tables.reshape(shape), sigma, low, width, session.total)


def _on_the_total(session: Session, counts: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Where the number of rows is public, counts are projected onto it and lose 1/K of their noise."""
    if session.n_rows is None:
        return counts, sd
    k = counts.size
    # The 0.1 rows stand for nothing but keep K = 1, where the count is known, away from zero noise.
    return counts + (session.n_rows - counts.sum()) / k, np.sqrt(sd**2 * (1 - 1 / k) + 0.01)


def _too_coarse(at: Located) -> NDArray[np.bool_]:
    """Columns of a class that was found, but surely narrow against the bins it was found with.

    Sure, because a second look on a whim of the noise costs a quarter of what is left.
    """
    return np.asarray((at.counts > 3 * at.counts_sd)[:, None] & (at.coarse > SURE))


def _sharper(a: Located, b: Located) -> Located:
    """Of two looks, the one that says more, column by column; the finer where ``a`` was too coarse.

    A width below its smallest template looks certain and is not.
    """
    coarse = _too_coarse(a)
    mean, width = coarse | (b.means_sd < a.means_sd), coarse | (b.log_sd_sd < a.log_sd_sd)
    count = b.counts_sd < a.counts_sd
    return Located(
        np.where(count, b.counts, a.counts), np.where(count, b.counts_sd, a.counts_sd),
        np.where(mean, b.means, a.means), np.where(mean, b.means_sd, a.means_sd),
        np.where(width, b.log_sd, a.log_sd), np.where(width, b.log_sd_sd, a.log_sd_sd),
        np.where(width, b.coarse, a.coarse),
    )  # fmt: skip
