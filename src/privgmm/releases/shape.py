"""Stated columns and margins of a release as blocks of its document."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privgmm.model.columns import Column, ColumnType
from privgmm.model.encoding import Encoding
from privgmm.model.margins import SCORES, Margins


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ColumnPart(_Part):
    """One feature as stated."""

    name: str
    type: ColumnType = "number"
    lo: float | None = None
    hi: float | None = None
    decimals: int | None = None
    missing: bool = False
    levels: list[str] = Field(default_factory=list)


class EncodingPart(_Part):
    """How categories and missing cells became numbers: per column a fill, and the levels with a column of their own."""

    fills: list[float] = Field(min_length=1)
    levels: list[list[int]] = Field(min_length=1)


class MarginsPart(_Part):
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
    """The margins of a block; other scores than ours are brought to ours."""
    scores = np.array(part.scores)
    told = np.array(part.quantiles, dtype=np.float64)
    if (np.diff(scores) <= 0).any() or told.ndim != 3 or told.shape[2] != scores.size:
        raise ValueError("scores rise, and every column has a quantile for each")
    if scores.shape != SCORES.shape or not np.allclose(scores, SCORES):
        told = np.array([[np.interp(SCORES, scores, q) for q in of_class] for of_class in told])
    return Margins(told, np.array(part.correlations, dtype=np.float64))
