"""Malformed Parquet: damaged files, and intact ones with types that no mixture can use."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from .case import SECRET_TEXT, Call, Case, Command, Family, chance, pick
from .csvs import agree
from .hostile import NAMES, damaged
from .ledgers import nearly_spent

_SECRET = 8675309.4242
_DAY = datetime.date(2020, 1, 1)
_ROWS = 8

_COLUMNS: dict[str, Any] = {
    "float64": lambda: pa.array(np.linspace(-3, 3, _ROWS)),
    "secret": lambda: pa.array([_SECRET, -_SECRET] * (_ROWS // 2)),
    "float32": lambda: pa.array(np.linspace(-3, 3, _ROWS), pa.float32()),
    "float16": lambda: pa.array(np.linspace(-3, 3, _ROWS).astype(np.float16)),
    "int8": lambda: pa.array(range(_ROWS), pa.int8()),
    "uint64": lambda: pa.array([2**64 - 1 - i for i in range(_ROWS)], pa.uint64()),
    "int64": lambda: pa.array([2**62 + i for i in range(_ROWS)]),
    "huge": lambda: pa.array([1e308, -1e308] * (_ROWS // 2)),
    "subnormal": lambda: pa.array([5e-324] * _ROWS),
    "nan": lambda: pa.array([float("nan"), 1.0] * (_ROWS // 2)),
    "infinite": lambda: pa.array([float("inf"), _SECRET] * (_ROWS // 2)),
    "holes": lambda: pa.array([None, _SECRET] * (_ROWS // 2)),
    "null": lambda: pa.nulls(_ROWS),
    "bool": lambda: pa.array([True, False] * (_ROWS // 2)),
    "decimal": lambda: pa.array([Decimal("8675309.42")] * _ROWS),
    "decimal256": lambda: pa.array([Decimal(10) ** 60] * _ROWS, pa.decimal256(70, 2)),
    "date": lambda: pa.array([_DAY] * _ROWS),
    "timestamp": lambda: pa.array(np.arange(_ROWS).astype("M8[ns]")),
    "duration": lambda: pa.array(np.arange(_ROWS).astype("m8[s]")),
    "time": lambda: pa.array([datetime.time(1)] * _ROWS),
    "list": lambda: pa.array([[_SECRET]] * _ROWS),
    "struct": lambda: pa.array([{"s": _SECRET}] * _ROWS),
    "map": lambda: pa.array([[("k", 1)]] * _ROWS, pa.map_(pa.string(), pa.int64())),
    "text": lambda: pa.array(["u", "v"] * (_ROWS // 2)),
    "text of secrets": lambda: pa.array(["u", SECRET_TEXT] * (_ROWS // 2)),
    "large text": lambda: pa.array(["u", "v"] * (_ROWS // 2), pa.large_string()),
    "dictionary": lambda: pa.array(["u", "v"] * (_ROWS // 2)).dictionary_encode(),
    "numbers in a dictionary": lambda: pa.array([1.5, _SECRET] * (_ROWS // 2)).dictionary_encode(),
    "empty text": lambda: pa.array(["", "v"] * (_ROWS // 2)),
    "binary": lambda: pa.array([b"u", b"\xff"] * (_ROWS // 2)),
    "not text": lambda: _not_text(),
    "fixed binary": lambda: pa.array([b"ab"] * _ROWS, pa.binary(2)),
}  # fmt: skip


def _not_text() -> pa.Array:
    """Bytes that are no UTF-8 in a column that says it is text."""
    return pa.array([b"u", b"\xff\xfe"] * (_ROWS // 2)).view(pa.string())


@cache
def _column(kind: str) -> pa.Array:
    return _COLUMNS[kind]()


def parquet_bytes(rng: np.random.Generator) -> bytes:
    kinds = tuple(_COLUMNS)
    ordinary = chance(rng, 0.5)
    columns = {
        "a": _column("float64" if ordinary else pick(rng, kinds)),
        "b": _column(pick(rng, ("float64", "secret")) if ordinary else pick(rng, kinds)),
        "cls": _column("text" if chance(rng, 0.6) else pick(rng, kinds)),
    }
    names = [pick(rng, NAMES) if chance(rng, 0.03) else name for name in columns]
    made = pa.table(list(columns.values()), names=names)
    made = made.slice(0, pick(rng, (0, 1, 2)) if chance(rng, 0.1) else _ROWS)
    sink = io.BytesIO()
    try:
        parquet.write_table(made, sink, row_group_size=pick(rng, (2, 3, 100)))
    except pa.lib.ArrowException:  # some types cannot be written at all
        return parquet_bytes(rng)
    data = sink.getvalue()
    return damaged(data, rng) if ordinary else data


def read(rng: np.random.Generator) -> Case:
    label, columns = pick(rng, ("cls", "cls", None)), pick(rng, (None, None, ["a"], ["b", "a"]))
    name = pick(rng, ("t.parquet", "t.pq", "t.csv", "t"))
    return Call(lambda: agree(name, columns, label), "open_rows", {name: parquet_bytes(rng)})


def release(rng: np.random.Generator) -> Case:
    files = {"t.parquet": parquet_bytes(rng)}
    options = ["--label", "cls", "--epsilon", "1", "--delta", "1e-5", "--classes", "u,v"]
    options += pick(rng, (["--unit", "label"], ["--unit", "record", "--radius", "9"]))
    if chance(rng, 0.3):
        options += ["--columns", pick(rng, ("a", "b", "b,a"))]
    if chance(rng, 0.3):
        options += ["--mechanism", "published"]
    else:
        files["l.db"] = nearly_spent()
        options += ["--ledger", "l.db"]
    arguments = ("release", "t.parquet", *options, "-o", "r.json")
    return Command(arguments, files, ("r.json",), ("l.db",))


FAMILIES = (
    Family("parquet readers", read, 8_000),
    Family("parquet release", release, 2_000),
)
