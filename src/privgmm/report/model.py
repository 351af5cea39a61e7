"""What the page shows of the model: classes, densities, pairs of features, parameters, sample rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.model.columns import Column
from privgmm.model.mixture import Mixture
from privgmm.model.picture import View, plot_range, spread
from privgmm.model.uncertainty import Interval
from privgmm.releases import Release
from privgmm.releases.wording import printable, with_error
from privgmm.report import panels
from privgmm.report.numbers import column, number
from privgmm.report.reference import Reference
from privgmm.report.svg import N_COLOURS
from privgmm.types import Floats

PREVIEW_ROWS = 10
PREVIEW_COLUMNS = 10
PREVIEW_SEED = 0
# Beyond this many numbers a table on a page helps nobody; the release file has them all.
MAX_PARAMETERS = 2000


@dataclass(frozen=True)
class ClassRow:
    """A class as the page refers to it."""

    key: str
    colour: int
    name: object
    weight: float
    bar: float  # share of the longest bar
    error: float | None = None
    whisker: tuple[float, float] | None = None  # ends of the 95 % interval on the bars' scale


def class_rows(release: Release, keys: list[str]) -> tuple[ClassRow, ...]:
    """One row per class, in the mixture's order."""
    mixture, errors = release.mixture, release.errors
    if errors is None:
        heaviest = float(mixture.weights.max())
        return tuple(
            ClassRow(key, k % N_COLOURS, name, float(weight), float(weight) / heaviest)
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
            float(mixture.weights[k]) / longest,
            float(errors.weights[k]),
            (max(float(low[k]), 0.0) / longest, float(high[k]) / longest),
        )
        for k in range(mixture.n_classes)
    )


def feature_blocks(release: Release, view: View, private: Reference | None) -> list[dict[str, Any]]:
    """Per feature shown: its name and one (class index, svg) per class shown."""
    from markupsafe import Markup

    mixture, deviations, errors = release.mixture, spread(release.mixture), release.errors
    blocks = []
    for j in view.features:
        extent = _extent(mixture, j, view, private)
        pictures = []
        for k in view.classes:
            mean, deviation = float(mixture.means[k, j]), float(deviations[k, j])
            label = (
                f"Density of {_short(release.model_names[j])} in class "
                f"{_short(mixture.classes[k])}: mean {number(mean)}, "
                f"standard deviation {number(deviation)}"
            )
            whisker = None if errors is None else _ends(errors.intervals.means, k, j)
            if whisker is not None:
                label += f"; the mean lies between {number(whisker[0])} and {number(whisker[1])}"
            curve = None if private is None else _private_curve(private, k, j, extent)
            svg = panels.marginal(k, mean, deviation, extent, label, f"m{k}-{j}", curve, whisker)
            pictures.append((k, Markup(svg)))
        blocks.append({"name": release.model_names[j], "panels": pictures})
    return blocks


def pair_panels(release: Release, view: View, keys: list[str]) -> list[dict[str, Any]]:
    """The lower triangle of a scatter matrix: (row, column) on the grid, names and svg."""
    from markupsafe import Markup

    mixture, names = release.mixture, release.model_names
    extents = {j: _extent(mixture, j, view, None) for j in view.pair_features}
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
                None if release.errors is None else release.errors.intervals.means,
            )
            found.append(
                {"row": row, "column": left + 1, "x": names[x], "y": names[y], "svg": Markup(svg)}
            )
    return found


@dataclass(frozen=True)
class Cell:
    """Mean and standard deviation of a class in one feature, as texts, and whether they can be used."""

    mean: str
    deviation: str
    usable: bool


def parameter_rows(release: Release) -> list[list[Cell]]:
    """Per feature and class, with errors where they are told; empty when there are too many."""
    mixture, errors = release.mixture, release.errors
    if mixture.n_classes * mixture.dim > MAX_PARAMETERS:
        return []
    if errors is None:
        means = [column(values) for values in mixture.means.T.tolist()]
        deviations = [column(values, 3) for values in spread(mixture).T.tolist()]
        return [
            [Cell(mean, deviation, True) for mean, deviation in zip(*cells, strict=True)]
            for cells in zip(means, deviations, strict=True)
        ]
    wide = spread(mixture)
    return [
        [
            Cell(
                _minus(with_error(mixture.means[k, j], errors.means[k, j])),
                _minus(with_error(wide[k, j], errors.deviations[k, j])),
                bool(errors.usable_columns[k, j]),
            )
            for k in range(mixture.n_classes)
        ]
        for j in range(mixture.dim)
    ]


def preview(release: Release) -> dict[str, Any]:
    """The first synthetic rows of a fixed seed: names of the columns shown, rows, classes."""
    X, y = release.sample(PREVIEW_ROWS, seed=PREVIEW_SEED)
    shown = min(X.shape[1], PREVIEW_COLUMNS)
    # The array of names, not the list: NumPy drops trailing NULs from strings.
    position = {name: k for k, name in enumerate(release.mixture.class_array.tolist())}
    columns = [_texts(release.columns[j], X[:, j]) for j in range(shown)]
    return {
        "names": release.feature_names[:shown],
        "hidden": len(release.feature_names) - shown,
        "rows": [
            (position[label], [cells[i] for cells in columns]) for i, label in enumerate(y.tolist())
        ],
    }


def _texts(stated: Column, cells: Floats) -> list[str]:
    """Cells of a column as texts: numbers that line up, levels by name, a dash where missing."""
    if stated.type == "category":
        return ["–" if np.isnan(c) else printable(stated.levels[int(c)], 40) for c in cells]
    known = cells[~np.isnan(cells)].tolist()
    if stated.step is not None:
        there = iter([_minus(f"{c:.{stated.decimals or 0}f}") for c in known])
    else:
        there = iter(column(known))
    return ["–" if np.isnan(c) else next(there) for c in cells]


def _extent(mixture: Mixture, j: int, view: View, private: Reference | None) -> tuple[float, float]:
    """The axis range of feature j over the classes shown, private fits included when given."""
    shown = list(view.classes)
    means, deviations = mixture.means[shown, j], spread(mixture)[shown, j]
    if private is not None:
        fitted = np.isfinite(private.deviations[shown, j])
        means = np.append(means, private.means[shown, j][fitted])
        deviations = np.append(deviations, private.deviations[shown, j][fitted])
    return plot_range(means, deviations)


def _private_curve(
    private: Reference, k: int, j: int, extent: tuple[float, float]
) -> panels.PrivateCurve:
    edges, density = private.histogram(k, j, *extent)
    return panels.PrivateCurve(
        float(private.means[k, j]), float(private.deviations[k, j]), edges, density
    )


def _ends(interval: Interval, k: int, j: int) -> tuple[float, float]:
    return float(interval.low[k, j]), float(interval.high[k, j])


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _short(name: object) -> str:
    return printable(name, 60)
