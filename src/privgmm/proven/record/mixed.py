"""Tables with categories and missing cells: one histogram per column, then the rounds on encoded rows.

1. One histogram per column as stated: bins of numbers, levels of categories, and one bin for missing cells.
   A row fills one bin per column, whatever its cells are (docs/proofs/marginal-counts.md).
2. The rows are encoded (model/columns.py): a public map of each row by itself, whose fills for missing numbers come
   from the noisy answers of step 1. The rounds of moments are then those of any table of numbers.
3. The release is a Gaussian copula per class. A 0/1 column is on where its score passes a threshold. A level is found
   by switches in the levels' order, each open only if none before it was on; a number is shown if it is not missing.
   The scores' correlations are those that give the released covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privgmm.data.region import Region, stated_region
from privgmm.data.source import MappedSource, Source
from privgmm.model.columns import Column, Encoding, Inside, n_levels, own_levels
from privgmm.model.margins import MOST_MISSING, ClassScores, Margins, mixed_margins
from privgmm.model.uncertainty import Errors
from privgmm.privacy import Curator
from privgmm.proven.objective import Objective
from privgmm.proven.record.alike import exchangeable
from privgmm.proven.record.locate import Bins, Located, bins_below, locate
from privgmm.proven.record.margins import Bells, column_quantiles
from privgmm.proven.record.mechanism import posterior_release, query_rounds
from privgmm.proven.record.rounds import Grid, Session, on_the_total, step_grid
from privgmm.proven.record.spikes import hedged, in_one_bin
from privgmm.proven.record.tuning import TUNING
from privgmm.proven.uncertainty import Estimate
from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
from privgmm.types import Flags, Floats

# hi itself belongs to the last bin of numbers, not to the one after it.
_CLOSED = 1 + 1e-9
# A level with this part of the rows, by noisy counts, has a column of its own.
# (HMEQ with five categories of up to 17 levels, epsilon 1, 12 seeds: at 0.03 and 0.06 TV2 is 0.155 and 0.154,
# correlations are off by 0.067 and 0.059, LR / HGB 0.822 / 0.870 and 0.824 / 0.868, and 0.06 takes two thirds of the time.
# A column for every level takes 60 s instead of 11 s and has correlations off by 0.11.)
_COMMON = 0.06
# The deviation of a 0/1 column that is on for half of the rows.
_SWITCH = 0.5


@dataclass(frozen=True, eq=False)
class Levels:
    """Step 1: noisy histograms (K, c, B) of the columns as stated; the last bin holds missing cells.

    counts (K,) of the classes, ``sigma`` the noise of a bin, ``grid`` the bins of the numbers.
    """

    counts: Floats
    tables: Floats
    sigma: float
    grid: Grid

    def bin(self, column: Column, level: int) -> int:
        """The bin of a level; that of missing cells is the last."""
        return -1 if level == len(column.levels) else level

    def part(self, j: int, at: int | slice) -> Floats:
        """(K,) or (K, L) share of the class in some bins of column j, as answered: it may be negative."""
        n = np.maximum(self.counts, 1.0)
        table = self.tables[:, j, at]
        return np.asarray(table / (n if table.ndim == 1 else n[:, None]))


def release_mixed(
    curator: Curator,
    source: Source,
    columns: tuple[Column, ...],
    n_classes: int,
    n_rows: int | None = None,
    objective: Objective = "balanced",
) -> tuple[Estimate, Encoding]:
    """A mixture of the encoded columns, in their own units, with margins; and the encoding that was used."""
    inside = MappedSource(source, Inside(columns))
    curator.look_at(inside)
    session = Session(
        curator.answer, curator.adjacency, curator.remaining_mu, n_classes, len(columns), n_rows
    )
    levels = _levels(session, columns)
    numbers = _numbers(session, columns, levels)
    encoding = Encoding(columns, _fills(columns, numbers), _own_levels(columns, levels))
    region = stated_region(encoding.dim, encoding.bounds, None, None)
    curator.look_at(MappedSource(MappedSource(inside, encoding), region.to_unit))
    rounds = Session(
        curator.answer, curator.adjacency, session.left, n_classes, encoding.dim, n_rows,
        region.extent, least=_least(encoding) / region.scale,
    )  # fmt: skip
    rounds.total = session.total
    at = in_one_bin(exchangeable(_located(encoding, levels, numbers, region), region.extent))
    # The share of a 0/1 column was counted, so its width is known and it is no spike.
    at = hedged(replace(at, spikes=at.spikes & (rounds.least == 0)))
    answers = query_rounds(rounds, at)
    found = posterior_release(answers, objective, n_rows)
    means, covariances = region.from_unit(found.means, found.covariances)
    assert found.errors is not None
    errors = found.errors.moved(region.scale, region.center)
    margins = _margins(encoding, levels, answers.counts, means, covariances, errors)
    return Estimate(found.weights, means, covariances, errors, margins=margins), encoding


def _levels(session: Session, columns: tuple[Column, ...]) -> Levels:
    """Step 1: ask for the histograms of the columns as stated."""
    grid = step_grid(
        *np.array(
            [
                (-0.5, 0.5, np.nan)
                if column.type == "category"
                else (column.lo, column.hi, np.nan if column.step is None else column.step)
                for column in columns
            ]
        ).T
    )
    words = np.array([column.type == "category" for column in columns])
    n_bins = 1 + max(TUNING.histograms.bins, *(len(column.levels) for column in columns))
    low, width = np.where(words, -0.5, grid.low), np.where(words, 1.0, grid.width * _CLOSED)
    shape = session.n_classes, len(columns)
    query = MarginalCountsQuery(
        MarginalCounts(np.broadcast_to(low, shape), np.broadcast_to(width, shape), n_bins)
    )
    answer, sigma = session.ask(query, TUNING.histograms.share, TUNING.histograms.cap)
    counts, tables = answer[: session.n_classes], answer[session.n_classes :]
    session.guess_total(counts, sigma)
    counts, _ = on_the_total(session, counts, np.full(counts.size, sigma))
    return Levels(
        np.maximum(counts, 1.0), tables.reshape(*shape, n_bins), sigma, Grid(low, width, grid.top)
    )


def _numbers(session: Session, columns: tuple[Column, ...], levels: Levels) -> Located | None:
    """Where the classes lie in the numbers, by their present cells; None if every column is a category."""
    chosen = [j for j, column in enumerate(columns) if column.type != "category"]
    if not chosen:
        return None
    shape = session.n_classes, len(chosen)
    low, width = (
        np.broadcast_to(side[chosen], shape) for side in (levels.grid.low, levels.grid.width)
    )
    tables = levels.tables[:, chosen, : TUNING.histograms.bins]
    bins = bins_below(tables, levels.sigma, low, width, levels.grid.top[chosen])
    assert session.total is not None
    return locate(levels.counts, bins, session.total)


def _least(encoding: Encoding) -> Floats:
    """(D,) least widths of frames: of a 0/1 column the largest deviation that one can have.

    In a frame of its own width a rare 1 would lie many deviations out, and its whole row would be clipped.
    """
    number = np.zeros(encoding.dim, dtype=bool)
    number[
        [
            p.start
            for c, p in zip(encoding.columns, encoding.places, strict=True)
            if c.type != "category"
        ]
    ] = True
    return np.where(number, 0.0, _SWITCH)


def _own_levels(columns: tuple[Column, ...], levels: Levels) -> tuple[tuple[int, ...], ...]:
    """The levels that are common by the noisy counts of all classes."""
    found = []
    for j, column in enumerate(columns):
        counts = [
            levels.tables[:, j, levels.bin(column, at)].sum() for at in range(n_levels(column))
        ]
        found.append(own_levels(np.array(counts), _COMMON * float(levels.counts.sum())))
    return tuple(found)


def _fills(columns: tuple[Column, ...], numbers: Located | None) -> tuple[float, ...]:
    """The noisy overall mean of each column of numbers, inside its range."""
    fills, i = [], 0
    for column in columns:
        fill = 0.0
        if column.type != "category":
            assert numbers is not None
            assert column.lo is not None
            shares = numbers.counts / numbers.counts.sum()
            fill = float(np.clip(shares @ numbers.means[:, i], column.lo, column.hi))
            i += 1
        fills.append(fill)
    return tuple(fills)


def _located(
    encoding: Encoding, levels: Levels, numbers: Located | None, region: Region
) -> Located:
    """What step 1 says of the encoded columns, in the region's coordinates."""
    n = levels.counts
    error = levels.sigma / n
    bins = TUNING.histograms.bins
    # Of each encoded column: mean, its error, log deviation, its error, histogram, where its bins begin, how wide they are, and
    # which of them are open.
    told: list[tuple[Floats | Flags, ...]] = []

    def add_switch(count: Floats) -> None:
        share = np.clip(count / n, 0.0, 1.0)
        safe = np.clip(share, error / 2, 1 - error / 2)
        table = np.zeros((n.size, bins))
        table[:, 0], table[:, -1] = n - count, count
        ends = np.zeros((n.size, bins), dtype=bool)
        ends[:, [0, -1]] = True
        told.append((
            share, np.maximum(error, 1e-3), 0.5 * np.log(np.maximum(safe * (1 - safe), 1e-6)),
            np.clip(error / (2 * safe), 0.05, 1.0), table, np.zeros(n.size), np.full(n.size, 1 / bins), ends,
        ))  # fmt: skip

    i = 0
    for j, column in enumerate(encoding.columns):
        if column.type == "category":
            for level in encoding.levels[j]:
                add_switch(levels.tables[:, j, levels.bin(column, level)])
            continue
        assert numbers is not None
        mean, wide = numbers.means[:, i], np.exp(2 * numbers.log_sd[:, i])
        table = numbers.bins.tables[:, i].copy()
        if column.missing:
            gone = np.clip(levels.part(j, -1), 0.0, MOST_MISSING)
            fill = encoding.fills[j]
            middle = (1 - gone) * mean + gone * fill
            wide = (1 - gone) * (wide + (mean - middle) ** 2) + gone * (fill - middle) ** 2
            mean = middle
            at = int((fill - levels.grid.low[j]) / levels.grid.width[j])
            table[:, min(at, bins - 1)] += levels.tables[:, j, -1]
        told.append((
            mean, numbers.means_sd[:, i], 0.5 * np.log(wide), numbers.log_sd_sd[:, i], table,
            numbers.bins.low[:, i], numbers.bins.width[:, i], numbers.bins.open[:, i],
        ))  # fmt: skip
        if column.missing:
            add_switch(levels.tables[:, j, -1])
        i += 1
    counts, counts_sd = n, np.full(n.size, levels.sigma)
    center, scale = region.center, region.scale
    means, means_sd, log_sd, log_sd_sd, tables, low, width, inside = (
        np.stack(values, axis=1) for values in zip(*told, strict=True)
    )
    nothing = np.zeros(means.shape, dtype=bool)
    return Located(
        counts, counts_sd,
        (means - center) / scale, means_sd / scale, log_sd - np.log(scale), log_sd_sd,
        np.zeros(means.shape), nothing, nothing, np.zeros(means.shape),
        Bins(tables, counts_sd, (low - center) / scale, width / scale, inside.astype(bool)),
    )  # fmt: skip


def _margins(
    encoding: Encoding,
    levels: Levels,
    counts: Floats,
    means: Floats,
    covariances: Floats,
    errors: Errors,
) -> Margins:
    """Step 3: the margins of the released classes."""
    scores = [ClassScores(encoding, m, S) for m, S in zip(means, covariances, strict=True)]
    told = np.stack([s.switches() for s in scores])
    numbers = [j for j, column in enumerate(encoding.columns) if column.type != "category"]
    if numbers:
        at = [encoding.places[j].start for j in numbers]
        shape = len(means), len(numbers)
        low, width = (
            np.broadcast_to(side[numbers], shape) for side in (levels.grid.low, levels.grid.width)
        )
        tables = levels.tables[:, numbers, : TUNING.histograms.bins]
        first = bins_below(tables, levels.sigma, low, width, levels.grid.top[numbers])
        bells = Bells(
            np.stack([n * s.present[at] for n, s in zip(counts, scores, strict=True)]),
            np.stack([s.means[at] for s in scores]),
            np.stack([s.deviations[at] for s in scores]),
            errors.means[:, at],
            errors.deviations[:, at],
        )
        told[:, at] = column_quantiles(first, (), bells, levels.grid.top[numbers])
    rare = [
        _rare(
            levels.tables[:, j][:, [levels.bin(encoding.columns[j], at) for at in rest]],
            levels.sigma,
        )
        for j, (_, rest) in encoding.choices.items()
    ]
    return mixed_margins(encoding, told, scores, rare)


def _rare(counts: Floats, sigma: float) -> Floats:
    """(K, L) positive counts of rare levels, shrunk from the class's own counts towards those of all classes together.

    The weight is that of James and Stein: a class keeps the part of its difference that the noise of L counts does not explain.
    """
    total = np.maximum(counts.sum(axis=0), 0.25 * sigma)
    expected = total / total.sum() * np.maximum(counts.sum(axis=1, keepdims=True), sigma)
    apart = counts - expected
    noise = counts.shape[1] * sigma**2
    own = np.maximum(1 - noise / np.maximum((apart**2).sum(axis=1, keepdims=True), noise), 0.0)
    return np.asarray(np.maximum(expected + own * apart, 0.05 * sigma))
