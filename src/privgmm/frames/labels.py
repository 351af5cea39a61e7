"""A label column as a NumPy array: integers stay integers, text stays text, dates are refused."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.names import shown
from privgmm.frames.table import Labels

Kind = Literal["integer", "boolean", "number", "text"]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BOOLEAN = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def check_label_type(type_: Any, name: str | None, where: str) -> None:
    """Refuse label types that have no plain class names."""
    import pyarrow as pa

    t = pa.types
    value = type_.value_type if t.is_dictionary(type_) else type_
    text = t.is_string(value) or t.is_large_string(value) or t.is_string_view(value)
    plain = text or t.is_integer(value) or t.is_boolean(value) or t.is_null(value)
    if not (plain or t.is_floating(value)):
        raise unusable_label(name, where)


def unusable_label(name: str | None, where: str) -> InputError:
    column = "The labels" if name is None else f"The label column {shown([name])}"
    return InputError(
        f"{column} of {where} must hold text, or numbers, or booleans; convert it to text first."
    )


def missing_labels(column: Any) -> int:
    """Nulls, NaN, infinities and empty texts: none of them names a class."""
    return sum(
        int(count)
        for value, count in _value_counts(column)
        if value is None or value == "" or (isinstance(value, float) and not np.isfinite(value))
    )


def _value_counts(column: Any) -> list[tuple[Any, int]]:
    pairs = _plain(column).value_counts()
    try:
        values = pairs.field("values").to_pylist()
    except UnicodeDecodeError:
        raise InputError("The labels hold text that is not UTF-8; save them as UTF-8.") from None
    return list(zip(values, pairs.field("counts").to_pylist(), strict=True))


def label_array(column: Any, kind: Kind | None = None) -> Labels:
    """Labels of an Arrow column without missing values; ``kind`` converts text read from a CSV.

    The distinct values are converted and then spread, so equal labels share one object.
    """
    encoded = _plain(column).dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
    if kind is not None:
        values = [_converted(value, kind) for value in values]
    if any(isinstance(value, str) for value in values):
        distinct = np.empty(len(values), dtype=object)
        distinct[:] = values
        return distinct[codes]
    # NumPy would turn integers beyond 63 bits into floats, and so merge neighbours.
    wide = any(type(value) is int and value >= 1 << 63 for value in values)
    return np.array(values, dtype=np.uint64 if wide else None)[codes]


def text_kind(values: set[str]) -> Kind:
    """What the texts of a CSV column stand for; distinct texts always stay distinct labels.

    Codes such as 007 stay text, and so does a column in which 1.0 and 1.00 both occur.
    """
    if values and all(_INTEGER.fullmatch(v) for v in values):
        return "integer" if len({int(v) for v in values}) == len(values) else "text"
    if values and all(v in _BOOLEAN for v in values):
        return "boolean" if len({_BOOLEAN[v] for v in values}) == len(values) else "text"
    # A run of 16 digits or more is an identifier: as a float it would lose its last digits.
    if values and all(_NUMBER.fullmatch(v) and (len(v) < 16 or "." in v) for v in values):
        numbers = {float(v) for v in values}
        distinct = len(numbers) == len(values) and bool(np.isfinite(list(numbers)).all())
        return "number" if distinct else "text"
    return "text"


def _converted(value: str, kind: Kind) -> str | int | float | bool:
    if kind == "integer":
        return int(value)
    if kind == "boolean":
        return _BOOLEAN[value]
    return float(value) if kind == "number" else value


def _plain(column: Any) -> Any:
    """One contiguous array of plain values; dictionaries are decoded."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    return column
