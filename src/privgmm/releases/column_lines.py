"""What a release says about the columns of the table, class by class: means of numbers, shares of levels, missing cells.

Where columns hold categories or missing cells the mixture is a model of 0/1 columns and filled-in numbers
(``model.columns.Encoding``). Readers want the columns of the table, so the encoding is undone here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privgmm.model.columns import Column, Encoding
from privgmm.model.margins import MOST_MISSING
from privgmm.model.mixture import Mixture
from privgmm.releases.release import Release
from privgmm.types import Flags, Floats

# Half the width of a 95 % interval, in standard errors.
_REACH = 1.96
# A share whose 95 % interval is wider than this, half of what is possible, is not usable.
_WIDEST = 0.5
# Least eigenvalue of correlations that were put together pair by pair.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class ColumnLine:
    """One line about a column, arrays (K,): its mean in each class; or the share of a level, or of missing cells.

    ``error``, ``low`` and ``high`` (a 95 % interval) belong to the values; None where a release has no errors.
    A share has no deviations; it counts the ``cells``: positions of levels, NaN for missing cells.
    """

    name: str
    share: bool
    values: Floats
    usable: Flags
    cells: tuple[float, ...] = ()
    error: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    deviations: Floats | None = None
    deviation_error: Floats | None = None


def column_lines(release: Release) -> tuple[tuple[ColumnLine, ...], ...]:
    """The lines about each column of the table; after preprocessing, about each column of the mixture."""
    if release.encoding is not None:
        return tuple(
            _levels(release, release.encoding, j)
            if column.type == "category"
            else _number(release, release.encoding, j)
            for j, column in enumerate(release.columns)
        )
    return tuple((_plain(release, j, name),) for j, name in enumerate(release.model_names))


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """The numeric columns, D' of them: a mixture of the cells that are not missing, and facts about each column.

    ``columns`` are positions among the user's columns, ``places`` among the model's; ``stated`` is what was stated of them,
    and empty after preprocessing, to which it no longer applies.
    """

    mixture: Mixture
    names: tuple[str, ...]
    columns: tuple[int, ...]
    places: tuple[int, ...]
    stated: tuple[Column, ...]


def numbers(release: Release) -> NumericColumns | None:
    """The numeric columns, after preprocessing those of the model; None if all columns are categories."""
    encoding, mixture = release.encoding, release.mixture
    if encoding is None:
        names, every = release.model_names, tuple(range(mixture.dim))
        stated = tuple(Column(name) for name in names) if release.preprocessing else release.columns
        return NumericColumns(mixture, names, every, every, stated)
    chosen = [j for j, column in enumerate(encoding.columns) if column.type != "category"]
    if not chosen:
        return None
    means, covariances = [], []
    for k in range(mixture.n_classes):
        mean, covariance = _present(encoding, chosen, mixture.means[k], mixture.covariances[k])
        means.append(mean)
        covariances.append(covariance)
    stated = tuple(encoding.columns[j] for j in chosen)
    return NumericColumns(
        Mixture(mixture.weights, np.stack(means), np.stack(covariances), mixture.classes),
        tuple(column.name for column in stated),
        tuple(chosen),
        tuple(encoding.places[j].start for j in chosen),
        stated,
    )


def usable_columns(release: Release) -> Flags:
    """(K, c) whether a column is usable in a class: a category if all of its levels are, a number if its mean is."""
    return np.stack(
        [
            np.all([line.usable for line in lines if line.share == lines[0].share], axis=0)
            for lines in column_lines(release)
        ],
        axis=1,
    )


def _plain(release: Release, at: int, name: str) -> ColumnLine:
    """The line of a number without missing cells; ``at`` is its position among the model's columns."""
    mixture, errors = release.mixture, release.errors
    values, deviations = mixture.means[:, at], np.sqrt(mixture.covariances[:, at, at])
    if errors is None:
        return ColumnLine(name, False, values, np.ones(values.size, bool), deviations=deviations)
    low, high = errors.intervals.means
    return ColumnLine(
        name, False, values, errors.usable_columns[:, at], (), errors.means[:, at], low[:, at], high[:, at],
        deviations, errors.deviations[:, at],
    )  # fmt: skip


def _number(release: Release, encoding: Encoding, j: int) -> tuple[ColumnLine, ...]:
    """The lines of a number: its mean and, where cells may be missing, the mean of the others and the share of missing ones."""
    column, at = encoding.columns[j], encoding.places[j].start
    filled = _plain(release, at, column.name)
    if not column.missing:
        return (filled,)
    mixture = release.mixture
    gone = np.clip(mixture.means[:, at + 1], 0.0, MOST_MISSING)
    pairs = [_present(encoding, [j], mixture.means[k], mixture.covariances[k]) for k in range(gone.size)]  # fmt: skip
    values = np.array([mean[0] for mean, _ in pairs])
    deviations = np.sqrt([covariance[0, 0] for _, covariance in pairs])
    missing = _share(release, at + 1, f"{column.name} missing", np.nan)
    number = replace(filled, values=values, deviations=deviations)
    if filled.error is None or filled.low is None or filled.high is None:
        return number, missing
    assert missing.error is not None
    assert filled.deviation_error is not None
    # mean = (filled - gone * fill) / (1 - gone), so the errors of ``filled`` and ``gone`` both enter.
    error = np.hypot(filled.error, (encoding.fills[j] - values) * missing.error) / (1 - gone)
    low, high = (
        np.clip(values + (end - filled.values) / (1 - gone), column.lo, column.hi)
        for end in (filled.low, filled.high)
    )
    wide = filled.deviation_error / np.sqrt(1 - gone)
    return replace(number, error=error, low=low, high=high, deviation_error=wide), missing


def _levels(release: Release, encoding: Encoding, j: int) -> tuple[ColumnLine, ...]:
    """The shares of a category's levels in the stated order, with rare levels together in one line; they add up to one."""
    column, place, own = encoding.columns[j], encoding.places[j], encoding.levels[j]
    words = (*column.levels, "missing")
    lines = {
        level: _share(release, at, f"{column.name} = {words[level]}", _cell(column, level))
        for at, level in zip(range(place.start, place.stop), own, strict=True)
    }
    total = sum((line.values for line in lines.values()), np.zeros(release.mixture.n_classes))
    if lines:
        # Noisy shares of the common levels may add up to more than one.
        scale = 1 / np.maximum(total, 1.0)
        lines = {level: _scaled(line, scale) for level, line in lines.items()}
    rest = encoding.rest(column, own)
    left = np.clip(1 - total, 0.0, 1.0)
    usable = np.all([np.ones(left.size, bool), *(line.usable for line in lines.values())], axis=0)
    name = words[rest[0]] if len(rest) == 1 else f"{len(rest)} other levels"
    counted = tuple(_cell(column, level) for level in rest)
    other = ColumnLine(f"{column.name} = {name}", True, left, usable, counted)
    if release.errors is not None:
        error = np.sqrt(
            sum((line.error**2 for line in lines.values() if line.error is not None), np.zeros(left.size))
        )  # fmt: skip
        low, high = (np.clip(left + side * _REACH * error, 0.0, 1.0) for side in (-1, 1))
        usable = high - low <= _WIDEST
        other = replace(other, usable=usable, error=error, low=low, high=high)
    lines[rest[0]] = other
    return tuple(lines[level] for level in sorted(lines))


def _cell(column: Column, level: int) -> float:
    """The cell of a level: its position, or NaN for the one after the last, which stands for a missing cell."""
    return np.nan if level == len(column.levels) else float(level)


def _share(release: Release, at: int, name: str, cell: float) -> ColumnLine:
    """The share of rows in which a 0/1 column is on: its mean, cut to 0 to 1, because noise may move it outside."""
    line = _plain(release, at, name)
    values = np.clip(line.values, 0.0, 1.0)
    if line.error is None or line.low is None or line.high is None:
        return ColumnLine(name, True, values, line.usable, (cell,))
    low, high = np.clip(line.low, 0.0, 1.0), np.clip(line.high, 0.0, 1.0)
    # The rule for numbers needs a deviation, which a 0/1 column does not have apart from its mean; shares have a rule of their own.
    return ColumnLine(name, True, values, high - low <= _WIDEST, (cell,), line.error, low, high)


def _scaled(line: ColumnLine, by: Floats) -> ColumnLine:
    return replace(line, values=line.values * by)


def _present(
    encoding: Encoding, chosen: list[int], mean: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Mean (c,) and covariance (c, c) of one class in numeric columns, of the cells that are not missing.

    With M = 1 where number x is missing, g its mean and f the fill, x has the mean m = (E x_filled - g f) / (1 - g), and
    x' = x_filled + (m - f) M is m where missing, so that cov(x', y') = P(both present) cov(x, y | both present).
    """
    turn = np.zeros((len(chosen), encoding.dim))
    here, found = np.ones(len(chosen)), np.empty(len(chosen))
    flags = np.full(len(chosen), -1)
    for i, j in enumerate(chosen):
        column, at = encoding.columns[j], encoding.places[j].start
        turn[i, at], found[i] = 1.0, mean[at]
        if column.missing:
            gone = float(np.clip(mean[at + 1], 0.0, MOST_MISSING))
            here[i], flags[i] = 1 - gone, at + 1
            middle = (mean[at] - gone * encoding.fills[j]) / (1 - gone)
            found[i] = middle if column.lo is None else np.clip(middle, column.lo, column.hi)
            turn[i, at + 1] = found[i] - encoding.fills[j]
    both = np.outer(here, here)
    for i, a in enumerate(flags):
        for h, b in enumerate(flags):
            if a >= 0 and b >= 0:
                both[i, h] = max(both[i, h] + covariance[a, b], both[i, h] / 2)
    np.fill_diagonal(both, here)
    apart = turn @ covariance @ turn.T / both
    wide = np.sqrt(np.diagonal(apart))
    values, vectors = np.linalg.eigh(apart / np.outer(wide, wide))
    if values[0] >= _LEAST:
        return found, apart
    nearest = (vectors * np.maximum(values, _LEAST)) @ vectors.T
    size = wide / np.sqrt(np.diagonal(nearest))
    return found, nearest * np.outer(size, size)
