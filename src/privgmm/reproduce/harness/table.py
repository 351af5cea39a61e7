"""The table of one figure: its rows, summaries with intervals, and the CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.files import whole_file
from privgmm.reproduce.harness.experiment import Row
from privgmm.types import Floats

_RESAMPLES = 2000
_TEXT = {"figure", "x_name", "method", "data", "class_name", "note"}
_WHOLE = {"trial", "iterations", "class_size", "feature"}


@dataclass(frozen=True)
class Curve:
    """A method's mean over trials at each x with its 95 % bootstrap interval."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    median: Floats


@dataclass(frozen=True)
class FigureTable:
    """The rows of one figure."""

    rows: tuple[Row, ...]

    @cached_property
    def xs(self) -> tuple[float, ...]:
        """The points on the axis, ascending."""
        return tuple(sorted({row.x for row in self.rows}))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order of their first row."""
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def trials(self) -> int:
        """The number of data sets."""
        return len({row.trial for row in self.rows})

    def where(self, **equal: object) -> FigureTable:
        """The rows whose fields have these values."""
        return FigureTable(
            tuple(r for r in self.rows if all(getattr(r, n) == v for n, v in equal.items()))
        )

    def values(self, column: str) -> Floats:
        """The column's numbers, without those a method could not give."""
        found = (getattr(row, column) for row in self.rows)
        return np.array([v for v in found if v is not None], dtype=np.float64)

    def matrix(self, method: str, column: str = "kl") -> Floats:
        """(trials, xs) of a method that gave a number everywhere; trials pair the points of a sweep."""
        mine = self.where(method=method)
        found = {(r.trial, r.x): v for r in mine.rows if (v := getattr(r, column)) is not None}
        trials = sorted({trial for trial, _ in found})
        xs = sorted({x for _, x in found})
        return np.array([[found[trial, x] for x in xs] for trial in trials], dtype=np.float64)

    def median(self, column: str = "kl", **equal: object) -> float:
        """Median of a column over the rows that match."""
        values = self.where(**equal).values(column)
        return float(np.median(values)) if values.size else float("nan")

    def mean(self, column: str = "kl", **equal: object) -> float:
        """Mean of a column over the rows that match."""
        values = self.where(**equal).values(column)
        return float(values.mean()) if values.size else float("nan")

    def curve(self, method: str, column: str = "kl", **equal: object) -> Curve:
        """Mean and interval of ``column`` over trials, at each x where the method gave a number."""
        mine = self.where(method=method, **equal)
        columns = [(x, mine.where(x=x).values(column)) for x in mine.xs]
        columns = [(x, v) for x, v in columns if v.size]
        spans = [interval(v) for _, v in columns]
        return Curve(
            np.array([x for x, _ in columns]),
            np.array([v.mean() for _, v in columns]),
            np.array([low for low, _ in spans]),
            np.array([high for _, high in spans]),
            np.array([np.median(v) for _, v in columns]),
        )

    def save(self, stem: Path) -> None:
        """Write ``stem.csv`` and ``stem.parquet``; columns that no row uses are left out."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        arrow = self._arrow(pa)
        with whole_file(stem.with_suffix(".csv")) as path:
            csv.write_csv(arrow, path)
        with whole_file(stem.with_suffix(".parquet")) as path:
            parquet.write_table(arrow, path)

    def _arrow(self, pa: Any) -> Any:
        columns, types = {}, []
        for name in (f.name for f in fields(Row)):
            values = [getattr(row, name) for row in self.rows]
            if all(value is None for value in values):
                continue
            kind = pa.string() if name in _TEXT else pa.int64() if name in _WHOLE else pa.float64()
            columns[name] = pa.array(values, kind)
            types.append((name, kind))
        return pa.table(columns, schema=pa.schema(types))


def interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Percentile-bootstrap interval of the mean.

    KL over data sets is skewed by orders of magnitude; mean +- 1.96 s would go below zero.
    """
    if values.size == 1:
        return float(values[0]), float(values[0])
    if not np.isfinite(values).all():
        return float(np.min(values)), float("inf")
    rng = np.random.default_rng(0)
    means = rng.choice(values, size=(_RESAMPLES, values.size)).mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sorted_rows(rows: Iterable[Row], methods: tuple[str, ...]) -> tuple[Row, ...]:
    """Rows in an order that does not depend on which process finished first."""
    rank = {method: i for i, method in enumerate(methods)}
    return tuple(
        sorted(
            rows,
            key=lambda r: (
                rank[r.method], r.epsilon or 0.0, r.x, r.trial, r.class_name or "", r.feature or 0,
            ),
        )
    )  # fmt: skip
