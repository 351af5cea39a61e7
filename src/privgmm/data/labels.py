"""Label columns: integers stay integers, text stays text, dates are refused; and the class list, stated or found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from privgmm.checks import whole
from privgmm.data.names import shown
from privgmm.errors import InputError
from privgmm.model.mixture import class_names
from privgmm.types import ClassName, Codes

Kind = Literal["integer", "boolean", "number", "text"]

# A label column with more distinct values than this holds identifiers, not classes.
MOST_CLASSES = 10_000

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
    """The refusal of a label column that holds no plain class names."""
    column = "The labels" if name is None else f"The label column {shown([name])}"
    return InputError(
        f"{column} of {where} must hold text, or numbers, or booleans; convert it to text first."
    )


def distinct(
    column: Any, kind: Kind | None = None, lenient: bool = False
) -> tuple[list[Any], Codes]:
    """The distinct labels (None where one can be no class's name) and each row's position among them; one past the end is null.

    With ``lenient`` a text that is not UTF-8 becomes None; otherwise it is refused.
    """
    import pyarrow as pa

    if isinstance(column, pa.DictionaryArray) and not column.dictionary.null_count:
        encoded = column
    else:
        plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
        encoded = plain.dictionary_encode()
    try:
        words = [_plain_value(word) for word in encoded.dictionary.to_pylist()]
    except UnicodeDecodeError:
        if not lenient:
            raise not_utf8() from None
        words = [_decoded(word) for word in encoded.dictionary.cast(pa.binary()).to_pylist()]
    values = [None if _no_name(word) else converted(word, kind) for word in words]
    at = encoded.indices
    at = np.from_dlpack(at.fill_null(len(values)) if at.null_count else at)
    return values, at.astype(np.intp)


def not_utf8() -> InputError:
    """The refusal of labels that are not UTF-8 text."""
    return InputError("The labels hold text that is not UTF-8; save them as UTF-8.")


def missing_labels(values: list[Any], at: Codes) -> int:
    """How many rows have a label that can be no class's name; the arguments are what ``distinct`` returns."""
    none = np.array([value is None for value in values] + [True])
    return int(np.count_nonzero(none[at]))


def _decoded(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


def _plain_value(word: Any) -> Any:
    return word.item() if isinstance(word, np.generic) else word


def _no_name(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not np.isfinite(value))


def found_classes(found: Iterable[Any], texts: bool) -> tuple[tuple[ClassName, ...], Kind | None]:
    """The class list of the labels found and, where they are ``texts`` of a CSV, what these stand for.

    Whether texts are numbers is decided by all of them together.
    """
    kind = text_kind({str(text) for text in found}) if texts else None
    return class_names(sorted(converted(value, kind) for value in found)), kind


def component_names(
    n_components: int | None, classes: Sequence[ClassName] | None
) -> tuple[ClassName, ...]:
    """The names of the components of unlabelled rows: as stated, or 0, 1, ..."""
    if n_components is None:
        raise InputError("Rows without labels need n_components, the number of components to fit.")
    whole(n_components, "The number of components", at_most=MOST_CLASSES)
    listed = class_names(range(n_components) if classes is None else classes)
    if len(listed) != n_components:
        raise InputError(f"{n_components} components need as many names, got {len(listed)}.")
    return listed


def bounded(labels: frozenset[ClassName]) -> frozenset[ClassName]:
    """The labels, unless there are so many that they cannot be classes."""
    if len(labels) > MOST_CLASSES:
        raise InputError(
            f"The label column has more than {MOST_CLASSES} distinct values; "
            "name the column that holds the class."
        )
    return labels


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


def converted(value: Any, kind: Kind | None) -> Any:
    """The value that a text of a CSV stands for; without a kind, and in typed columns, the value is returned as it is."""
    if kind is None or not isinstance(value, str):
        return value
    if kind == "integer":
        return int(value)
    if kind == "boolean":
        return _BOOLEAN[value]
    return float(value) if kind == "number" else value


def plain_column(column: Any) -> Any:
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
