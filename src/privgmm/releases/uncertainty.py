"""The errors of a release as a block of its document."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privgmm.errors import InputError
from privgmm.model.uncertainty import KINDS, Errors, Interval, Intervals
from privgmm.types import Floats

# Nested as deep as the numbers of the kind: (K,), (K, d) or (K, d, d).
Vector = list[float]
Table = list[list[float]]
Tables = list[list[list[float]]]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ClassErrors(_Part):
    """Of one number per class."""

    error: Vector = Field(min_length=1)
    low: Vector = Field(min_length=1)
    high: Vector = Field(min_length=1)


class ColumnErrors(_Part):
    """Of one number per class and column."""

    error: Table = Field(min_length=1)
    low: Table = Field(min_length=1)
    high: Table = Field(min_length=1)


class PairErrors(_Part):
    """Of one number per class and pair of columns."""

    error: Tables = Field(min_length=1)
    low: Tables = Field(min_length=1)
    high: Tables = Field(min_length=1)


class ErrorsPart(_Part):
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
