"""The parts of the report about the model: classes, densities, pairs of features, parameters, sample rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.model.columns import Column
from privgmm.model.margins import shares_between
from privgmm.model.picture import View, bar_edges, plot_range, spread
from privgmm.model.uncertainty import Interval
from privgmm.releases import Release
from privgmm.releases.column_lines import ColumnLine, NumericColumns, column_lines
from privgmm.releases.wording import printable, share_with_error, with_error
from privgmm.report import panels
from privgmm.report.numbers import column, number, percent
from privgmm.report.reference import Reference
from privgmm.report.svg import N_COLOURS
from privgmm.types import Floats

PREVIEW_ROWS = 10
PREVIEW_COLUMNS = 10
PREVIEW_SEED = 0
# A table of more numbers than this is left out of the page; the release file has them all.
MAX_PARAMETERS = 2000


@dataclass(frozen=True)
class ClassRow:
    """A class as the page refers to it."""

    key: str
    colour: int
    name: object
    weight: float
    share: str  # with its error, where the release has one
    bar: float  # share of the longest bar
    whisker: tuple[float, float] | None = None  # ends of the 95 % interval on the bars' scale


def class_rows(release: Release, keys: list[str]) -> tuple[ClassRow, ...]:
    """One row per class, in the mixture's order."""
    mixture, errors = release.mixture, release.errors
    if errors is None:
        heaviest = float(mixture.weights.max())
        return tuple(
            ClassRow(
                key, k % N_COLOURS, name, float(weight), percent(weight), float(weight) / heaviest
            )
            for k, (key, name, weight) in enumerate(
                zip(keys, mixture.classes, mixture.weights, strict=True)
            )
        )
    low, high = errors.intervals.weights
    longest = max(float(mixture.weights.max()), float(high.max()))
    return tuple(
        ClassRow(
            keys[k],
            k % N_COLOURS,
            mixture.classes[k],
            float(mixture.weights[k]),
            share_with_error(float(mixture.weights[k]), float(errors.weights[k])),
            float(mixture.weights[k]) / longest,
            (max(float(low[k]), 0.0) / longest, float(high[k]) / longest),
        )
        for k in range(mixture.n_classes)
    )


def feature_blocks(
    release: Release, shown: NumericColumns | None, view: View, private: Reference | None
) -> list[dict[str, Any]]:
    """For each numeric column shown: its name, and a (class index, svg) for each class shown."""
    from markupsafe import Markup

    if shown is None:
        return []
    deviations, lines = spread(shown.mixture), _lines(release, shown)
    blocks = []
    for j in view.features:
        line = lines[j]
        extent, edges = _extent(release, shown, j, view, private)
        pictures = []
        for k in view.classes:
            mean, deviation = float(shown.mixture.means[k, j]), float(deviations[k, j])
            label = (
                f"Density of {_short(shown.names[j])} in class "
                f"{_short(shown.mixture.classes[k])}: mean {number(mean)}, "
                f"standard deviation {number(deviation)}"
            )
            whisker = None
            if line.low is not None and line.high is not None:
                whisker = float(line.low[k]), float(line.high[k])
                label += f"; the mean lies between {number(whisker[0])} and {number(whisker[1])}"
            if release.margins is None or edges is None:
                curve = panels.bell_curve(mean, deviation, extent)
            else:
                shares = shares_between(release.margins.quantiles[k, shown.places[j]], edges)
                curve = panels.bar_curve(edges, shares, extent)
            rows = None if private is None else _private_curve(private, k, j, extent, edges)
            svg = panels.marginal(k, curve, extent, label, f"m{k}-{j}", rows, whisker)
            pictures.append((k, Markup(svg)))
        blocks.append({"name": shown.names[j], "panels": pictures})
    return blocks


@dataclass(frozen=True)
class LevelCell:
    """The share of a level in one class, as a number and as text, and the share among the private rows."""

    share: float
    text: str
    usable: bool
    private: float | None


def category_blocks(
    release: Release, view: View, private: Reference | None
) -> list[dict[str, Any]]:
    """For each category: its name and, line by line, the name of a level and its share in every class shown."""
    blocks: list[dict[str, Any]] = []
    if release.encoding is None:
        return blocks
    for j, (stated, lines) in enumerate(zip(release.columns, column_lines(release), strict=True)):
        if stated.type != "category":
            continue
        rows = [
            (
                line.name.removeprefix(f"{stated.name} = "),
                [_level_cell(line, k, j, private) for k in view.classes],
            )
            for line in lines
        ]
        blocks.append({"name": stated.name, "levels": rows})
    return blocks


def _level_cell(line: ColumnLine, k: int, j: int, private: Reference | None) -> LevelCell:
    error = None if line.error is None else float(line.error[k])
    share = float(line.values[k])
    real = None if private is None else private.share(k, j, line.cells)
    return LevelCell(share, share_with_error(share, error), bool(line.usable[k]), real)


def pair_panels(
    release: Release, shown: NumericColumns | None, view: View, keys: list[str]
) -> list[dict[str, Any]]:
    """The lower triangle of a scatter matrix: (row, column) on the grid, names and svg."""
    from markupsafe import Markup

    if shown is None:
        return []
    mixture, names = shown.mixture, shown.names
    extents = {j: _bell_extent(shown, j, view, None) for j in view.pair_features}
    lines = _lines(release, shown)
    means = None
    if release.errors is not None:
        means = Interval(*(np.stack([getattr(line, end) for line in lines], axis=1) for end in ("low", "high")))  # fmt: skip
    found = []
    for row, y in enumerate(view.pair_features):
        for left, x in enumerate(view.pair_features[:row]):
            label = f"Ellipses of the classes: {_short(names[y])} against {_short(names[x])}"
            svg = panels.ellipses(
                mixture,
                view.classes,
                keys,
                (x, y),
                (extents[x], extents[y]),
                label,
                f"p{x}-{y}",
                means,
            )
            found.append(
                {"row": row, "column": left + 1, "x": names[x], "y": names[y], "svg": Markup(svg)}
            )
    return found


@dataclass(frozen=True)
class Cell:
    """Mean and standard deviation, or share, of a class, as texts, and whether they are usable."""

    value: str
    deviation: str
    usable: bool


def parameter_rows(release: Release) -> list[tuple[str, list[Cell]]]:
    """The parameters line by line, with errors where the release has them; empty if there are too many."""
    lines = [line for column in column_lines(release) for line in column]
    if len(lines) * release.mixture.n_classes > MAX_PARAMETERS:
        return []
    return [(line.name, _cells(line)) for line in lines]


def _cells(line: ColumnLine) -> list[Cell]:
    every, wide, off = range(line.values.size), line.deviations, line.deviation_error
    errors: list[float | None] = [None] * line.values.size if line.error is None else line.error.tolist()  # fmt: skip
    if wide is None:
        texts = [share_with_error(v, e) for v, e in zip(line.values.tolist(), errors, strict=True)]
        return [Cell(text, "", bool(line.usable[k])) for k, text in enumerate(texts)]
    if line.error is None or off is None:
        means, deviations = column(line.values.tolist()), column(wide.tolist(), 3)
    else:
        means = [_minus(with_error(line.values[k], line.error[k])) for k in every]
        deviations = [_minus(with_error(wide[k], off[k])) for k in every]
    return [Cell(means[k], deviations[k], bool(line.usable[k])) for k in every]


def preview(release: Release) -> dict[str, Any]:
    """The first synthetic rows of a fixed seed: names of the columns shown, rows, classes."""
    X, y = release.sample(PREVIEW_ROWS, seed=PREVIEW_SEED)
    shown = min(X.shape[1], PREVIEW_COLUMNS)
    # Names are taken from the array and not from the list, because NumPy drops trailing NULs from strings.
    position = {name: k for k, name in enumerate(release.mixture.class_array.tolist())}
    columns = [_texts(release.columns[j], X[:, j]) for j in range(shown)]
    return {
        "names": release.feature_names[:shown],
        "numbers": [release.columns[j].type != "category" for j in range(shown)],
        "hidden": len(release.feature_names) - shown,
        "rows": [
            (position[label], [cells[i] for cells in columns]) for i, label in enumerate(y.tolist())
        ],
    }


def _texts(stated: Column, cells: Floats) -> list[str]:
    """Cells of a column as texts: numbers with equal decimals, levels by name, a dash where a cell is missing."""
    if stated.type == "category":
        return ["–" if np.isnan(c) else printable(stated.levels[int(c)], 40) for c in cells]
    known = cells[~np.isnan(cells)].tolist()
    if stated.step is not None:
        there = iter([_minus(f"{c:.{stated.decimals or 0}f}") for c in known])
    else:
        there = iter(column(known))
    return ["–" if np.isnan(c) else next(there) for c in cells]


def _lines(release: Release, shown: NumericColumns) -> list[ColumnLine]:
    """The lines about the means of the numeric columns."""
    every = column_lines(release)
    return [every[j][0] for j in shown.columns]


def _bell_extent(
    shown: NumericColumns, j: int, view: View, private: Reference | None
) -> panels.Range:
    """The axis range of feature j over the classes shown, private fits included when given."""
    classes = list(view.classes)
    means, deviations = shown.mixture.means[classes, j], spread(shown.mixture)[classes, j]
    if private is not None:
        fitted = np.isfinite(private.deviations[classes, j])
        means = np.append(means, private.means[classes, j][fitted])
        deviations = np.append(deviations, private.deviations[classes, j][fitted])
    return plot_range(means, deviations)


def _extent(
    release: Release, shown: NumericColumns, j: int, view: View, private: Reference | None
) -> tuple[panels.Range, Floats | None]:
    """The axis range of a column and, where its shape is known, the edges of its bars, whole steps apart if steps are stated."""
    low, high = _bell_extent(shown, j, view, private)
    if release.margins is None:
        return (low, high), None
    q = release.margins.quantiles[list(view.classes), shown.places[j]]
    low, high = max(low, float(q.min())), min(high, float(q.max()))
    edges = bar_edges(low, high, shown.stated[j].step)
    return (float(edges[0]), float(edges[-1])), edges


def _private_curve(
    private: Reference, k: int, j: int, extent: panels.Range, edges: Floats | None
) -> panels.PrivateCurve:
    """The private rows' histogram with the bars of the released one; a fitted Gaussian only where a Gaussian is released."""
    if edges is None:
        found, density = private.histogram(k, j, *extent)
        mean, deviation = float(private.means[k, j]), float(private.deviations[k, j])
        return panels.PrivateCurve(mean, deviation, found, density)
    return panels.PrivateCurve(np.nan, np.nan, edges, private.density(k, j, edges))


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _short(name: object) -> str:
    return printable(name, 60)
