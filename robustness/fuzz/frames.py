"""Data frames with columns that no mixture can use."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from .case import SECRET_TEXT, chance, pick

SECRET = 8675309.4242
ROWS = 12


def of_pandas(rng: np.random.Generator) -> Any:
    import pandas as pd

    odd = {
        "date": pd.date_range("2020", periods=ROWS), "text": [SECRET_TEXT] * ROWS, "bool": [True, False] * (ROWS // 2),
        "nullable": pd.array([None, *range(ROWS - 1)], dtype="Int64"), "category": pd.Categorical(["u", "v"] * (ROWS // 2)),
        "object": [SECRET, SECRET_TEXT] * (ROWS // 2), "complex": [1j] * ROWS, "float": [SECRET] * ROWS,
        "decimal": [Decimal("1.5")] * ROWS, "interval": pd.interval_range(0, ROWS), "period": pd.period_range("2020", periods=ROWS),
        "list": [[1]] * ROWS, "timedelta": pd.to_timedelta(range(ROWS)), "sparse": pd.arrays.SparseArray([0.0, 1.0] * (ROWS // 2)),
    }  # fmt: skip
    frame = pd.DataFrame({"a": rng.normal(size=ROWS), "b": odd[pick(rng, tuple(odd))]})
    if chance(rng, 0.2):
        frame.columns = pick(
            rng,
            (
                ["a", "a"],
                [1, 2],
                [("a", 1), ("b", 2)],
                [None, 1.5],
                ["", "b"],
                ["a", ""],
            ),
        )
    return frame.iloc[: pick(rng, (0, 1))] if chance(rng, 0.1) else frame


def of_polars(rng: np.random.Generator) -> Any:
    import polars as pl

    odd: dict[str, Any] = {
        "date": [datetime.date(2020, 1, 1)] * ROWS, "text": [SECRET_TEXT] * ROWS, "list": [[SECRET]] * ROWS,
        "struct": [{"s": SECRET}] * ROWS, "null": [None] * ROWS, "decimal": [Decimal("1.5")] * ROWS, "bool": [True] * ROWS,
        "float": [SECRET] * ROWS, "holes": [None, SECRET] * (ROWS // 2), "binary": [b"\xff"] * ROWS, "object": [object()] * ROWS,
    }  # fmt: skip
    frame = pl.DataFrame(
        {"a": rng.normal(size=ROWS), "b": odd[pick(rng, tuple(odd))]}, strict=False
    )
    return frame.lazy() if chance(rng, 0.1) else frame
