"""The rounds: choose a query, ask it, and convert its answer to the right units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from privgmm.privacy import Adjacency
from privgmm.proven.record.alike import SharedShape
from privgmm.proven.record.frames import Frames, Moments, clip_radius
from privgmm.proven.record.locate import Located, bins_below, locate
from privgmm.proven.record.spikes import usual_radius, zoomed
from privgmm.proven.record.tails import (
    RadialLaw,
    Shells,
    choose_radius,
    far_beyond,
    own_laws,
    shell_edges,
)
from privgmm.proven.record.tuning import TUNING, Round
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, grid_scale
from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
from privgmm.queries.radial_counts import RadialCounts, RadialCountsQuery
from privgmm.types import Flags, Floats

AnyQuery = ClassMomentsQuery | MarginalCountsQuery | RadialCountsQuery
Answer = Callable[[AnyQuery, float], Floats]


def capped(mu: float, rows_per_class: float | None, sensitivity: float, cap: float) -> float:
    """mu, or less where a typical class would already be seen with the signal ``cap``."""
    if rows_per_class is None:
        return mu
    return min(mu, cap * sensitivity / max(rows_per_class, 1.0))


@dataclass
class Session:
    """A budget to spend: ``answer`` adds the noise, ``left`` is the mu not yet spent.

    n_rows is None where it is not public; ``total`` is the best public estimate of it. ``grid`` are the bins of the
    first histograms; without it, they are equal parts of the range of the columns. ``least`` (d,) is the least width of a
    frame along each column, for columns whose spread is known from their histograms.
    """

    answer: Answer
    adjacency: Adjacency
    left: float
    n_classes: int
    dim: int
    n_rows: int | None
    extent: float = 1.0
    grid: Grid | None = None
    least: Floats | None = None

    def __post_init__(self) -> None:
        self.total: float | None = None if self.n_rows is None else float(self.n_rows)

    def ask(
        self, query: AnyQuery, share: float, cap: float = math.inf, rows: float | None = None
    ) -> tuple[Floats, float]:
        """Noisy totals, and sigma (per step), for a share of the squared budget left."""
        sensitivity = query.sensitivity(self.adjacency)
        average = None if self.total is None else self.total / self.n_classes
        if rows is not None:
            average = rows
        mu = capped(self.left * math.sqrt(share), average, sensitivity, cap)
        self.left = math.sqrt(max(self.left**2 - mu**2, 0.0))
        return self.answer(query, mu), sensitivity / mu

    def guess_total(self, counts: Floats, sigma: float) -> None:
        """Where the number of rows is not public, estimate it from noisy class counts (K,)."""
        if self.n_rows is None:
            # Noisy, hence public; four standard deviations so that no class outgrows it.
            self.total = max(float(counts.sum() + 4 * sigma * math.sqrt(counts.size)), 4.0)


@dataclass(frozen=True)
class Answers:
    """All noisy answers of a release: histograms, rounds of moments, and what both say of the counts (K,)."""

    located: Located
    rounds: tuple[Moments, ...]
    counts: Floats
    variance: Floats
    shared: SharedShape
    # The last round as it was answered, where ``rounds`` say what it would be without its clip.
    as_answered: tuple[Moments, ...] = ()
    # How far out rows lie in the last round's frames (one, or none where they were not asked for).
    shells: tuple[Shells, ...] = ()
    # A single class's sums in the stated ball itself (plain.py), where asked for.
    plain: tuple[Moments, ...] = ()

    @property
    def clipped(self) -> Moments:
        """The last round as it was answered."""
        return (self.as_answered or self.rounds)[-1]

    def with_rounds(self, rounds: tuple[Moments, ...]) -> Answers:
        """The same answers with other rounds."""
        return replace(self, rounds=rounds)

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


def closer(
    before: tuple[Frames, Shells], after: tuple[Frames, Shells], counts: Floats
) -> tuple[Frames, Shells]:
    """Of two frames of each class, the wider one only if its rows then reach nearer to where bells end than to where they did (in logarithms)."""
    dim = before[0].centres.shape[1]
    old, new = (own_laws(shells, counts, dim) for _, shells in (before, after))
    midway = np.sqrt(usual_radius(before[0]) * np.array([law.reach for law in old]))
    better = second_where(~far_beyond(new, midway))
    return classwise(better, before[0], after[0]), classwise(better, before[1], after[1])


def second_where(better: Flags) -> Callable[[Floats, Floats], Floats]:
    """The second of two arrays (K, ...) where it is better (K,), else the first."""
    return lambda old, new: np.where(better.reshape(-1, *(1 for _ in old.shape[1:])), new, old)


@dataclass(frozen=True, eq=False)
class Grid:
    """Where the first histograms' bins begin, how wide they are, and where columns end: (d,) each, public."""

    low: Floats
    width: Floats
    top: Floats


def step_grid(low: Floats, high: Floats, step: Floats) -> Grid:
    """Bins of columns in [low, high] with values ``step`` (d,) apart: whole steps each; NaN: any value, equal parts."""
    apart = np.where(np.isnan(step), 0.0, step)
    values = np.where(apart > 0, (high - low) / np.where(apart > 0, apart, 1.0) + 1, 0.0)
    whole = np.ceil(np.round(values, 6) / TUNING.histograms.bins) * apart
    width = np.where(apart > 0, whole, (high - low) / TUNING.histograms.bins)
    return Grid(low - apart / 2, width, high + apart / 2)


def even_grid(dim: int, extent: float) -> Grid:
    """Bins that are equal parts of the range of the columns."""
    width = 2.0 * extent / TUNING.histograms.bins
    return Grid(np.full(dim, -extent), np.full(dim, width), np.full(dim, extent))


def histogram_round(session: Session) -> Located:
    """(1) Column histograms over the stated region, and finer ones around classes seen too coarsely."""
    shape = session.n_classes, session.dim
    grid = session.grid or even_grid(session.dim, session.extent)
    low, width = (np.broadcast_to(side, shape) for side in (grid.low, grid.width))
    first = _histograms(session, low, width, grid.top)
    return zoomed(first, lambda low, width: _histograms(session, low, width))


def radial_round(session: Session, frames: Frames, share: float | None = None) -> Shells:
    """How far out the rows of each class lie, in its frame."""
    sides = np.linalg.norm(frames.maps, ord=2, axis=(1, 2))
    farthest = sides * (1 + np.linalg.norm(frames.centres, axis=1))
    edges = shell_edges(session.dim, farthest)
    query = RadialCountsQuery(RadialCounts(frames.centres, frames.maps, edges))
    answer, sigma = session.ask(query, TUNING.tails.share if share is None else share)
    table = answer.reshape(session.n_classes, -1)
    return Shells(table, edges, np.full(session.n_classes, sigma), farthest)


def _typical(counts: Floats) -> float:
    """Rows of a class that is small but not negligible: between the average and the smallest class."""
    rows = np.maximum(counts, 2.0)
    return float(np.sqrt(rows.mean() * rows.min()))


def _squared_sensitivity(session: Session, plan: Round) -> float:
    """That of a round's query in this session."""
    return plan.shape.squared_sensitivity(session.adjacency, session.n_classes, session.dim)


def part_of_left(session: Session, counts: Floats, plan: Round) -> float:
    """The part of the (squared) budget left that a round of moments takes: its share, or less where its cap is reached."""
    sensitivity = math.sqrt(_squared_sensitivity(session, plan))
    share = session.left * math.sqrt(plan.share)
    mu = capped(share, _typical(counts), sensitivity, plan.cap * session.dim)
    return (mu / session.left) ** 2


def radii(
    session: Session, counts: Floats, plan: Round, laws: Sequence[RadialLaw | None] | None = None
) -> Floats:
    """(K,) radii that weigh the clipping of a round against the noise it will have; a class without a law is expected to be a bell."""
    spare = math.sqrt(session.left**2 * plan.share / _squared_sensitivity(session, plan))
    return plan.widen * np.array([
        clip_radius(session.dim, max(n, 1.0) * spare)[0]
        if law is None
        else choose_radius(law, max(n, 1.0) * spare, plan.hiding)
        for law, n in zip(laws or [None] * counts.size, counts, strict=True)
    ])  # fmt: skip


def moment_round(
    session: Session,
    frames: Frames,
    counts: Floats,
    plan: Round,
    laws: Sequence[RadialLaw | None] | None = None,
    least: Floats | float = 0.0,
) -> Moments:
    """(2), (3) Counts, sums and second moments of rows clipped into each class's ellipsoid, at radii of at least so much (K,)."""
    radius = np.maximum(radii(session, counts, plan, laws), least)
    return moments_within(session, frames, radius, counts, plan)


def moments_within(
    session: Session, frames: Frames, radius: Floats, counts: Floats, plan: Round
) -> Moments:
    """Counts, sums and second moments of rows clipped at ``radius`` (K,) in the frames."""
    d = session.dim
    query = ClassMomentsQuery(
        ClassMoments(frames.centres, frames.maps / radius[:, None, None]), plan.shape
    )
    answer, sigma = session.ask(query, plan.share, plan.cap * d, rows=_typical(counts))
    noise = (query.steps * sigma).reshape(session.n_classes, -1)
    table = answer.reshape(session.n_classes, -1)
    unit = radius / grid_scale(d)
    rows, cols = np.triu_indices(d)
    second = np.empty((session.n_classes, d, d))
    second[:, rows, cols] = second[:, cols, rows] = table[:, 1 + d :] * unit[:, None] ** 2
    second_sd = noise[:, 1 + d] * unit**2
    count, count_sd = on_the_total(session, table[:, 0], noise[:, 0])
    return Moments(
        frames, radius, count, table[:, 1 : 1 + d] * unit[:, None], second,
        count_sd, noise[:, 1] * unit, second_sd,
    )  # fmt: skip


def _histograms(session: Session, low: Floats, width: Floats, top: Floats | None = None) -> Located:
    query = MarginalCountsQuery(MarginalCounts(low, width, TUNING.histograms.bins))
    answer, sigma = session.ask(query, TUNING.histograms.share, TUNING.histograms.cap)
    counts, tables = answer[: session.n_classes], answer[session.n_classes :]
    session.guess_total(counts, sigma)
    assert session.total is not None
    counts, _ = on_the_total(session, counts, np.full(counts.size, sigma))
    shape = session.n_classes, session.dim, TUNING.histograms.bins
    bins = bins_below(tables.reshape(shape), sigma, low, width, top)
    return locate(counts, bins, session.total)


def on_the_total(session: Session, counts: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Where the number of rows is public, counts are projected onto it and lose 1/K of their noise."""
    if session.n_rows is None:
        return counts, sd
    k = counts.size
    # The 0.1 rows stand for nothing but keep K = 1, where the count is known, away from zero noise.
    return counts + (session.n_rows - counts.sum()) / k, np.sqrt(sd**2 * (1 - 1 / k) + 0.01)
