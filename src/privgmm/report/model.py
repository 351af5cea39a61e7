"""What the page shows of the model: classes, densities, pairs of features, parameters, sample rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.model.mixture import Mixture
from privgmm.releases import Release
from privgmm.releases.wording import printable
from privgmm.report import panels
from privgmm.report.numbers import column, number
from privgmm.report.reference import Reference
from privgmm.report.svg import N_COLOURS
from privgmm.report.view import View, plot_range, spread

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
    bar: float  # share of the heaviest class's weight


def class_rows(mixture: Mixture, keys: list[str]) -> tuple[ClassRow, ...]:
    heaviest = float(mixture.weights.max())
    return tuple(
        ClassRow(key, k % N_COLOURS, name, float(weight), float(weight) / heaviest)
        for k, (key, name, weight) in enumerate(
            zip(keys, mixture.classes, mixture.weights, strict=True)
        )
    )


def feature_blocks(release: Release, view: View, private: Reference | None) -> list[dict[str, Any]]:
    """Per feature shown: its name and one (class index, svg) per class shown."""
    from markupsafe import Markup

    mixture, deviations = release.mixture, spread(release.mixture)
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
            curve = None if private is None else _private_curve(private, k, j, extent)
            svg = panels.marginal(k, mean, deviation, extent, label, f"m{k}-{j}", curve)
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
            )
            found.append(
                {"row": row, "column": left + 1, "x": names[x], "y": names[y], "svg": Markup(svg)}
            )
    return found


def parameter_rows(mixture: Mixture) -> list[list[str]]:
    """Per feature: "mean ± standard deviation" in every class; empty when there are too many."""
    if mixture.n_classes * mixture.dim > MAX_PARAMETERS:
        return []
    means = [column(values) for values in mixture.means.T.tolist()]
    deviations = [column(values, 3) for values in spread(mixture).T.tolist()]
    return [
        [f"{mean} ± {deviation}" for mean, deviation in zip(*cells, strict=True)]
        for cells in zip(means, deviations, strict=True)
    ]


def preview(release: Release) -> dict[str, Any]:
    """The first synthetic rows of a fixed seed: names of the columns shown, rows, classes."""
    X, y = release.sample(PREVIEW_ROWS, seed=PREVIEW_SEED)
    shown = min(X.shape[1], PREVIEW_COLUMNS)
    # The array of names, not the list: NumPy drops trailing NULs from strings.
    position = {name: k for k, name in enumerate(release.mixture.class_array.tolist())}
    columns = [column(values) for values in X[:, :shown].T.tolist()]
    return {
        "names": release.feature_names[:shown],
        "hidden": release.mixture.dim - shown,
        "rows": [
            (position[label], [cells[i] for cells in columns]) for i, label in enumerate(y.tolist())
        ],
    }


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


def _short(name: object) -> str:
    return printable(name, 60)
