"""Blocks of a release document (stated columns, encoding, margins, errors) and their conversion to and from plain numbers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privgmm.errors import InputError
from privgmm.model.columns import Column, ColumnType, Encoding
from privgmm.model.margins import SCORES, Margins
from privgmm.model.uncertainty import KINDS, Errors, Interval, Intervals
from privgmm.types import Floats


class DocumentPart(BaseModel):
    """The base of all parts of a document: strict types, no unknown fields, finite numbers only."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ColumnPart(DocumentPart):
    """One feature as stated."""

    name: str
    type: ColumnType = "number"
    lo: float | None = Field(None, description="least stated value")
    hi: float | None = Field(None, description="largest stated value")
    decimals: int | None = Field(None, description="samples are rounded to so many places")
    missing: bool = Field(False, description="whether cells may be missing")
    levels: list[str] = Field(
        default_factory=list, description="of a category, in the stated order"
    )


class EncodingPart(DocumentPart):
    """How categories and missing cells became numbers: per column a fill, and the levels that have a 0/1 column of their own."""

    fills: list[float] = Field(min_length=1)
    levels: list[list[int]] = Field(min_length=1)


class MarginsPart(DocumentPart):
    """Per class and column of the mixture: quantiles at normal scores; per class: correlations of those scores."""

    version: Literal[1]
    scores: list[float] = Field(min_length=2)
    quantiles: list[list[list[float]]] = Field(min_length=1)
    correlations: list[list[list[float]]] = Field(min_length=1)


def columns_block(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    """The stated columns; what was not stated is left out."""
    found = []
    for column in columns:
        told: dict[str, Any] = {"name": column.name, "type": column.type}
        told |= {"lo": column.lo, "hi": column.hi}
        told |= {"decimals": column.decimals, "missing": column.missing or None}
        told |= {"levels": list(column.levels) or None}
        found.append({key: value for key, value in told.items() if value is not None})
    return found


def columns_of(parts: list[ColumnPart]) -> tuple[Column, ...]:
    """The columns that ``columns_block`` wrote."""
    return tuple(Column(**{**part.model_dump(), "levels": tuple(part.levels)}) for part in parts)


def encoding_block(encoding: Encoding) -> dict[str, Any]:
    """The encoding as an ``EncodingPart`` of plain numbers."""
    return {"fills": list(encoding.fills), "levels": [list(own) for own in encoding.levels]}


def encoding_of(part: EncodingPart | None, columns: list[ColumnPart]) -> Encoding | None:
    """The encoding of a block, for the columns of the same document."""
    if part is None:
        return None
    levels = tuple(tuple(own) for own in part.levels)
    return Encoding(columns_of(columns), tuple(part.fills), levels)


def margins_block(margins: Margins) -> dict[str, Any]:
    """The margins as a ``MarginsPart`` of plain numbers."""
    return {
        "version": 1,
        "scores": [round(float(score), 4) for score in SCORES],
        "quantiles": margins.quantiles.tolist(),
        "correlations": margins.correlations.tolist(),
    }


def margins_of(part: MarginsPart) -> Margins:
    """The margins of a block; quantiles at other scores are interpolated at ours."""
    scores = np.array(part.scores)
    told = np.array(part.quantiles, dtype=np.float64)
    if (np.diff(scores) <= 0).any() or told.ndim != 3 or told.shape[2] != scores.size:
        raise ValueError("scores rise, and every column has a quantile for each")
    if scores.shape != SCORES.shape or not np.allclose(scores, SCORES):
        told = np.array([[np.interp(SCORES, scores, q) for q in of_class] for of_class in told])
    return Margins(told, np.array(part.correlations, dtype=np.float64))


# Nested lists for numbers of shape (K,), (K, d) and (K, d, d).
Vector = list[float]
Table = list[list[float]]
Tables = list[list[list[float]]]


class ClassErrors(DocumentPart):
    """Errors and intervals of one number per class."""

    error: Vector = Field(min_length=1)
    low: Vector = Field(min_length=1)
    high: Vector = Field(min_length=1)


class ColumnErrors(DocumentPart):
    """Errors and intervals of one number per class and column."""

    error: Table = Field(min_length=1)
    low: Table = Field(min_length=1)
    high: Table = Field(min_length=1)


class PairErrors(DocumentPart):
    """Errors and intervals of one number per class and pair of columns."""

    error: Tables = Field(min_length=1)
    low: Tables = Field(min_length=1)
    high: Tables = Field(min_length=1)


class ErrorsPart(DocumentPart):
    """Standard errors and 95 % intervals, in the columns of the mixture; shapes are checked on load."""

    version: Literal[1]
    level: float = Field(ge=0.95, le=0.95)
    weights: ClassErrors
    means: ColumnErrors
    deviations: ColumnErrors
    correlations: PairErrors
    usable_columns: list[list[bool]] = Field(min_length=1)


def to_block(errors: Errors) -> dict[str, Any]:
    """The errors as an ``ErrorsPart`` of plain numbers."""
    block: dict[str, Any] = {"version": 1, "level": 0.95}
    for kind in KINDS:
        interval: Interval = getattr(errors.intervals, kind)
        block[kind] = {
            "error": getattr(errors, kind).tolist(),
            "low": interval.low.tolist(),
            "high": interval.high.tolist(),
        }
    return {**block, "usable_columns": errors.usable_columns.tolist()}


def from_block(part: ErrorsPart, n_classes: int, dim: int) -> Errors:
    """The errors of a mixture of that size; a block of another shape is refused."""
    shapes = {
        "weights": (n_classes,),
        "means": (n_classes, dim),
        "deviations": (n_classes, dim),
        "correlations": (n_classes, dim, dim),
    }
    errors, intervals = [], []
    for kind, shape in shapes.items():
        told = getattr(part, kind)
        error, low, high = (
            _shaped(numbers, shape) for numbers in (told.error, told.low, told.high)
        )
        if (error < 0).any() or (low > high).any():
            raise InputError("Errors must not be negative, and intervals not empty.")
        errors.append(error)
        intervals.append(Interval(low, high))
    columns = _shaped(part.usable_columns, (n_classes, dim)).astype(bool)
    weights, means, deviations, correlations = errors
    told = Intervals(*intervals)
    return Errors(weights, means, deviations, correlations, told, columns)


def _shaped(numbers: Any, shape: tuple[int, ...]) -> Floats:
    array = np.array(numbers, dtype=np.float64)
    if array.shape != shape:
        raise InputError("The errors do not have the shape of the mixture.")
    return array
