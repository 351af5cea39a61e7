"""Private rows beside a release: their fits, histograms, scores and correlations, for a copy of the report that is never published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.columns import ABSENT, Column
from privgmm.model.fitting import fit
from privgmm.model.labels import labelled_arrays
from privgmm.model.mixture import Mixture, kl_divergence
from privgmm.releases import Release
from privgmm.releases.column_lines import numbers
from privgmm.releases.wording import printable
from privgmm.report import panels
from privgmm.report.numbers import number
from privgmm.report.quality import MOST_COLUMNS, Quality, Score, quality_of
from privgmm.types import Codes, Floats

_BINS = (10, 80)  # fewest and most over the axis range
# The most pictures, levels, correlated columns and bars that are shown.
MOST_MARGINS = 24
_MOST_LEVELS = 12
_MOST_CORRELATED = 16
_MOST_BARS = 30
# This share of the numbers of both tables is not drawn at either end, because one far value would flatten the picture.
_BEYOND = 0.002


@dataclass(frozen=True, eq=False)
class Reference:
    """The private rows by class, with the fit (eq2) of each class and column of numbers (``releases.column_lines.Numbers``).

    ``rows`` are the numbers by class, NaN where missing, ``means`` and ``deviations`` (K, d) with NaN where a class has
    too few; ``kl`` is KL(released || fitted), None when (eq2) cannot be fitted. ``cells`` (n, c) are the rows in the
    user's columns, levels by position and NaN where missing, ``codes`` (n,) their classes.
    """

    cells: Floats
    codes: Codes
    rows: tuple[Floats, ...]
    means: Floats
    deviations: Floats
    kl: float | None

    def histogram(self, k: int, j: int, low: float, high: float) -> tuple[Floats, Floats]:
        """Bin edges and the density of feature j in class k over [low, high]."""
        values = self._values(k, j)
        # Scott's rule for the bin width; a class without spread gets the finest bins.
        width = 3.49 * self.deviations[k, j] * max(len(values), 1) ** (-1 / 3)
        fewest, most = _BINS
        bins = int(min(max((high - low) / width, fewest), most)) if width > 0 else most
        edges = np.linspace(low, high, bins + 1)
        return edges, self.density(k, j, edges)

    def density(self, k: int, j: int, edges: Floats) -> Floats:
        """The density of feature j in class k between edges."""
        values = self._values(k, j)
        return np.asarray(np.histogram(values, edges)[0] / max(len(values), 1) / np.diff(edges))

    def share(self, k: int, j: int, cells: tuple[float, ...]) -> float:
        """The share of class k that has one of these cells in the user's column j; NaN stands for a missing cell."""
        values = self.cells[self.codes == k, j]
        found = np.isin(values, cells) | (np.isnan(values) & bool(np.isnan(cells).any()))
        return float(found.mean()) if found.size else 0.0

    def _values(self, k: int, j: int) -> Floats:
        values = self.rows[k][:, j]
        return np.asarray(values[~np.isnan(values)])


def reference_of(release: Release, X: ArrayLike, y: ArrayLike) -> Reference:
    """Check private rows in the user's columns against a release and describe them."""
    mixture, cells = release.mixture, release.cells(X)
    if cells.shape[1] != len(release.columns):
        raise InputError(
            f"The reference has {cells.shape[1]} features but the release has {len(release.columns)}; "
            "give the columns the release was made from."
        )
    x, codes, _ = labelled_arrays(release.transform(cells), y, mixture.classes)
    cells = np.where(cells == ABSENT, np.nan, cells)
    shown = numbers(release)
    chosen = [] if shown is None else list(shown.columns)
    values = x if release.encoding is None else cells[:, chosen]
    rows = tuple(values[codes == k] for k in range(mixture.n_classes))
    means, deviations = np.full((2, mixture.n_classes, values.shape[1]), np.nan)
    # Values near 1e308 have no finite variance: such a class is drawn without a fit.
    with np.errstate(over="ignore", invalid="ignore"):
        for k, members in enumerate(rows):
            for j in range(values.shape[1]):
                there = members[~np.isnan(members[:, j]), j]
                if there.size >= 2:
                    means[k, j], deviations[k, j] = there.mean(), there.std(ddof=1)
        kl = _kl(mixture, x, y)
    deviations[~((deviations > 0) & np.isfinite(deviations))] = np.nan
    return Reference(cells, codes, rows, means, deviations, kl)


def _kl(released: Mixture, x: Floats, y: ArrayLike) -> float | None:
    try:
        return kl_divergence(released, fit(x, y, classes=released.classes))
    except InputError:
        return None


@dataclass(frozen=True)
class Level:
    """A level of a category: its share of the real and of the synthetic rows."""

    name: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class Margin:
    """One column of both tables: a picture of its numbers, or its levels."""

    name: str
    measure: str
    similarity: float
    svg: Any
    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Beside:
    """The section of the page that sets real and synthetic rows side by side.

    ``compared`` columns are compared, ``numbers`` of them numeric; ``correlations`` has those of the real rows below its
    diagonal and those of the synthetic rows above.
    """

    n_rows: int
    scores: tuple[Score, ...]
    margins: tuple[Margin, ...]
    compared: int
    numbers: int
    correlated: tuple[str, ...]
    correlations: Floats


def beside(release: Release, private: Reference) -> Beside:
    """Compare the private rows with as many synthetic ones."""
    found = quality_of(release, private.cells, private.codes)
    shown = found.numbers[:_MOST_CORRELATED]
    real, made = (part[: len(shown), : len(shown)] for part in found.correlations)
    return Beside(
        len(found.real),
        found.scores,
        tuple(_margin(found, j) for j in range(min(len(found.columns), MOST_MARGINS))),
        min(len(release.columns), MOST_COLUMNS),
        len(found.numbers),
        tuple(found.columns[j].name for j in shown),
        np.tril(real) + np.triu(made, 1),
    )


def _margin(found: Quality, j: int) -> Margin:
    from markupsafe import Markup

    column, real, made = found.columns[j], found.real[:, j], found.synthetic[:, j]
    similarity, svg = found.shapes[j], None
    measure = "TVComplement" if column.type == "category" else "KSComplement"
    if column.type == "category":
        levels = _levels(column, real, made)
    else:
        label = (
            f"Real and synthetic {printable(column.name, 60)}: {measure} {number(similarity, 3)}"
        )
        svg = Markup(panels.both(*_histograms(column, real, made), label, f"b{j}"))
        levels = (_level("missing", np.isnan(real), np.isnan(made)),) if column.missing else ()
    return Margin(column.name, measure, similarity, svg, levels)


def _levels(column: Column, real: Floats, made: Floats) -> tuple[Level, ...]:
    """The levels with the largest real shares in the stated order, then the other levels together, then missing cells."""
    shares = np.array([np.mean(real == k) for k in range(len(column.levels))])
    shown = np.sort(np.argsort(-shares, kind="stable")[:_MOST_LEVELS])
    found = [_level(column.levels[k], real == k, made == k) for k in shown]
    if len(shown) < len(column.levels):
        others = [~np.isin(x, shown) & ~np.isnan(x) for x in (real, made)]
        found.append(_level(f"{len(column.levels) - len(shown)} others", *others))
    if column.missing:
        found.append(_level("missing", np.isnan(real), np.isnan(made)))
    return tuple(found)


def _level(name: str, real: Any, made: Any) -> Level:
    return Level(name, float(np.mean(real)), float(np.mean(made)))


def _histograms(column: Column, real: Floats, made: Floats) -> tuple[Floats, Floats, Floats]:
    """Common edges and the shares of both tables between them; bars are a whole number of steps wide where steps are stated."""
    parts = [x[~np.isnan(x)] for x in (real, made)]
    both = np.concatenate(parts)
    if not both.size:
        return np.array([0.0, 1.0]), np.zeros(1), np.zeros(1)
    low, high = np.quantile(both, [_BEYOND, 1 - _BEYOND], method="nearest")
    step = column.step
    if step is not None and (high - low) / step < 1e6:
        width = step * max(1, int(np.ceil(((high - low) / step + 1) / _MOST_BARS)))
        bins = int(np.ceil((high - low + step) / width - 1e-9))
        edges = low - step / 2 + width * np.arange(bins + 1)
    else:
        if not high > low:
            reach = max(abs(low) * 1e-6, 1e-9)
            low, high = low - reach, high + reach
        edges = np.linspace(low, high, _MOST_BARS + 1)
    shares = [np.histogram(x, edges)[0] / max(x.size, 1) for x in parts]
    return edges, shares[0], shares[1]
