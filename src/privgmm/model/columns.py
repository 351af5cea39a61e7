"""Columns: what the user states about them, and how their cells become numbers and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from privgmm.errors import InputError
from privgmm.model.labels import MISSING, UNKNOWN, is_missing, level_codes
from privgmm.types import Flags, Floats

# The number that stands for a missing cell in a column: no table holds it, and arithmetic with it stays finite.
ABSENT = 2.0**1000

ColumnType = Literal["number", "integer", "category"]


@dataclass(frozen=True)
class Column:
    """One column as declared in a schema file or implied by ``bounds`` (docs/schema.md).

    Parameters
    ----------
    name : as in the input
    type : "number", "integer" or "category"
    lo, hi : stated range of a number or integer; None where only a ball was stated, or nothing (label level)
    decimals : samples are rounded to so many places; None leaves them as drawn
    missing : cells may be missing
    levels : of a category, in the stated order, matched as text
    """

    name: str
    type: ColumnType = "number"
    lo: float | None = None
    hi: float | None = None
    decimals: int | None = None
    missing: bool = False
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.type == "category":
            if len(set(self.levels)) != len(self.levels) or not self.levels:
                raise InputError(
                    f"The category {self.name!r} needs levels that are stated once each, "
                    "e.g. levels = ['yes', 'no']."
                )
            if self.lo is not None or self.hi is not None or self.decimals is not None:
                raise InputError(
                    f"The category {self.name!r} has levels; remove lo, hi and decimals."
                )
            return
        if self.levels:
            raise InputError(
                f"The column {self.name!r} has levels; state type = 'category' or remove them."
            )
        if (self.lo is None) != (self.hi is None):
            raise InputError(f"The column {self.name!r} needs both lo and hi, or neither.")
        if (
            self.lo is not None
            and self.hi is not None
            and not -math.inf < self.lo < self.hi < math.inf
        ):
            raise InputError(f"The column {self.name!r} needs finite bounds with lo below hi.")
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            raise InputError(f"The column {self.name!r} can have 0 to 15 decimals.")
        if self.type == "integer" and self.decimals not in (None, 0):
            raise InputError(f"The integer column {self.name!r} has no decimals; remove them.")

    @property
    def plain(self) -> bool:
        """Whether every cell is a number."""
        return self.type != "category" and not self.missing

    @property
    def step(self) -> float | None:
        """The distance between neighbouring values of the column, if integers or decimals are stated; else None."""
        if self.type == "integer":
            return 1.0
        return None if self.decimals is None else 10.0**-self.decimals

    def obeyed(self, values: Floats) -> Floats:
        """Values of a number column moved to what was stated: inside the range, whole or rounded to the decimals."""
        lo, hi = self.lo, self.hi
        if self.step is not None:
            places = int(self.decimals or 0)
            values = np.round(values, places)
            if lo is not None and hi is not None:
                # The first and last value with these decimals inside the range, if there is one.
                unit = 10.0**places
                ends = (
                    math.ceil(lo * unit - 1e-9) / unit,
                    math.floor(hi * unit + 1e-9) / unit,
                )
                lo, hi = ends if ends[0] <= ends[1] else (lo, hi)
        return values if lo is None else np.clip(values, lo, hi)


@dataclass(frozen=True)
class Encoding:
    """The map from stated columns to numbers: missing numbers are filled in, and levels become 0/1 columns.

    columns : the stated columns
    fills : by column, the number that replaces a missing one; ignored for categories
    levels : by column, the positions of the levels that have a 0/1 column of their own; empty for numbers
    """

    columns: tuple[Column, ...]
    fills: tuple[float, ...]
    levels: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not len(self.columns) == len(self.fills) == len(self.levels):
            raise InputError("An encoding needs a fill and a list of levels for every column.")
        for column, own in zip(self.columns, self.levels, strict=True):
            if len(set(own)) != len(own) or not set(own) < set(range(n_levels(column) + 1)):
                raise InputError(
                    f"The levels of {column.name!r} are encoded once each, and not all of them."
                )
            if column.type == "category" and not self.rest(column, own):
                raise InputError(f"One level of {column.name!r} has no column of its own.")

    @staticmethod
    def rest(column: Column, own: tuple[int, ...]) -> tuple[int, ...]:
        """The levels of a category without a column of their own; none of a number."""
        return tuple(level for level in range(n_levels(column)) if level not in own)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """The encoded columns that belong to each stated column."""
        widths = [
            len(own) if column.type == "category" else 1 + column.missing
            for column, own in zip(self.columns, self.levels, strict=True)
        ]
        return tuple(slice(a, b) for a, b in pairwise(np.cumsum([0, *widths]).tolist()))

    @property
    def dim(self) -> int:
        """D, the number of encoded columns."""
        return int(self.places[-1].stop)

    @cached_property
    def choices(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """For each category with several levels that have no column of their own: the number by which samples choose one, and these levels.

        Samples have one such number per category, after the D encoded ones.
        """
        several = [
            (j, rest)
            for j, (column, own) in enumerate(zip(self.columns, self.levels, strict=True))
            if len(rest := self.rest(column, own)) > 1
        ]
        return {j: (self.dim + i, rest) for i, (j, rest) in enumerate(several)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        found: list[str] = []
        for column, own in zip(self.columns, self.levels, strict=True):
            if column.type == "category":
                words = (*column.levels, "missing")
                found += [f"{column.name}={words[level]}" for level in own]
            else:
                found += [column.name] + [f"{column.name} missing"] * column.missing
        return tuple(found)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The positions of the columns that are not categories."""
        return tuple(j for j, column in enumerate(self.columns) if column.type != "category")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Ranges of the encoded columns."""
        low, high = np.zeros(self.dim), np.ones(self.dim)
        for column, place in zip(self.columns, self.places, strict=True):
            if column.type != "category":
                low[place.start], high[place.start] = column.lo, column.hi
        return low, high

    def __call__(self, cells: Floats) -> Floats:
        """(n, D) encoded rows of (n, c) cells (levels by position, ABSENT where missing): elementwise."""
        X = np.empty((cells.shape[0], self.dim))
        for j, (column, place) in enumerate(zip(self.columns, self.places, strict=True)):
            x = cells[:, j]
            absent = x == ABSENT
            if column.type == "category":
                level = np.where(absent, float(len(column.levels)), x)
                X[:, place] = level[:, None] == np.array(self.levels[j], dtype=np.float64)
                continue
            X[:, place.start] = np.where(absent, self.fills[j], x)
            if column.missing:
                X[:, place.start + 1] = absent
        return X

    def cells(self, X: Floats) -> Floats:
        """(n, c) cells of sampled rows (n, D + choices), NaN where missing: a 0/1 column is on above one half.

        A category takes the first of its levels that is on or, if none is on, the chosen one of the other levels.
        """
        out = np.empty((X.shape[0], len(self.columns)))
        for j, (column, place) in enumerate(zip(self.columns, self.places, strict=True)):
            if column.type != "category":
                out[:, j] = column.obeyed(X[:, place.start])
                if column.missing:
                    out[X[:, place.start + 1] > 0.5, j] = np.nan
                continue
            rest = self.rest(column, self.levels[j])
            other = np.full(len(X), rest[0])
            if j in self.choices:
                at = np.rint(X[:, self.choices[j][0]]).astype(np.intp)
                other = np.array(rest)[np.clip(at, 0, len(rest) - 1)]
            on = X[:, place] > 0.5
            own = np.array([*self.levels[j], 0])[
                on.argmax(axis=1) if on.shape[1] else np.zeros(len(X), int)
            ]
            level = np.where(on.any(axis=1), own, other).astype(np.float64)
            out[:, j] = np.where(level == len(column.levels), np.nan, level)
        return out


def own_levels(counts: Floats, least: float) -> tuple[int, ...]:
    """The levels that get a 0/1 column of their own: those with more than ``least`` rows by these (noisy or public) counts,
    the most frequent first; at least one level is left out. The frequencies of the other levels depend on the class alone.
    """
    order = np.argsort(-counts, kind="stable")
    own = [int(at) for at in order if counts[at] > least]
    return tuple(own[: max(len(order) - 1, 0)])


def n_levels(column: Column) -> int:
    """The number of levels of a category, where a missing cell counts as one if cells may be missing; 0 for a number."""
    return len(column.levels) + column.missing if column.type == "category" else 0


@dataclass(frozen=True)
class Inside:
    """The map that moves cells into the stated ranges, each by itself; levels and missing cells stay as they are."""

    columns: tuple[Column, ...]

    def __call__(self, cells: Floats) -> Floats:
        """(n, c) cells inside."""
        out = cells.copy()
        for j, column in enumerate(self.columns):
            if column.type != "category":
                x = cells[:, j]
                out[:, j] = np.where(x == ABSENT, x, np.clip(x, column.lo, column.hi))
        return out


def cells_of(columns: tuple[Column, ...], frame: Any) -> Floats:
    """(n, c) cells of a frame (pandas, polars, pyarrow) that has these columns; a level that was not stated is refused.

    An array (n, c) is taken as ``Release.sample`` gives it: levels by position, NaN or ABSENT where missing.
    """
    array = frame if isinstance(frame, np.ndarray) and frame.dtype.kind in "biuf" else None
    if array is not None and array.shape[1:] != (len(columns),):
        raise InputError(f"Give rows with the {len(columns)} columns of the release.")
    found = []
    for j, column in enumerate(columns):
        if array is not None:
            x = array[:, j].astype(np.float64)
            absent = np.isnan(x) | (x == ABSENT)
            known = np.arange(len(column.levels))
            bad = ~absent & ~(np.isin(x, known) if column.type == "category" else np.isfinite(x))
            found.append(_stated(column, x, absent, bad))
            continue
        try:
            series = frame[column.name]
        except (KeyError, TypeError, IndexError, ValueError):
            raise InputError(f"Give a frame with a column {column.name!r}.") from None
        values = series.to_pylist() if hasattr(series, "to_pylist") else list(series)
        if column.type == "category":
            codes = level_codes(values, column.levels)
            absent, bad = codes == MISSING, codes == UNKNOWN
            x = codes.astype(np.float64)
        else:
            x = np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
            absent, bad = np.isnan(x), np.zeros(len(x), dtype=bool)
        found.append(_stated(column, x, absent, bad))
    return np.stack(found, axis=1)


def _stated(column: Column, x: Floats, absent: Flags, bad: Flags) -> Floats:
    """Cells with ABSENT where missing, if all of them were stated."""
    if bad.any() or (absent.any() and not column.missing):
        raise InputError(f"The column {column.name!r} holds cells that were not stated for it.")
    return np.where(absent, ABSENT, x)
