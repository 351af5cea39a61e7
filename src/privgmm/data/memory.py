"""Tables in memory: pandas, polars and pyarrow through narwhals with their names, and NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.data.ids import id_array, id_texts
from privgmm.data.labels import (
    check_label_type,
    plain_column,
    unusable_label,
)
from privgmm.data.names import check_names, choose
from privgmm.data.table import Layout
from privgmm.data.validate import floats, number_type, refuse_text
from privgmm.errors import InputError
from privgmm.model import labels as plain_labels
from privgmm.model.columns import Column
from privgmm.model.labels import is_missing
from privgmm.types import Floats

WHERE = "The table"


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a frame or of an array; an array has no names, so its columns are called x0, x1, ...

    ``labels`` is None, an Arrow array, or a NumPy array if the labels came as one or have several types;
    ``persons`` is None, or the ids as Arrow texts.
    """

    X: Floats
    labels: Any
    layout: Layout
    named: bool
    persons: Any = None


def columns_of(
    data: Any,
    y: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    stated: bool = False,
    drop_bad: bool = False,
    person: str | None = None,
    declared: tuple[Column, ...] = (),
) -> Columns:
    """Numbers and labels of a data frame or a two-dimensional array; only wrong types are refused here.

    Labels are a column of the frame (``label``) or given beside it (``y``); with a ``stated`` class list
    each keeps its own type. Missing cells are NaN, and with ``drop_bad`` so is a cell that is no
    number, each cell by itself.
    """
    if y is not None and label is not None:
        raise InputError(
            "Give the labels as y or as the name of a column, not both; an array has no named columns."
        )
    frame = _frame(data)
    labels, persons = None if y is None else _labels_beside(y, stated), None
    if frame is None:
        if label is not None:
            raise InputError("An array has no label column; give the labels as y.")
        if person is not None:
            raise InputError("An array has no column of persons; give one id per row.")
        matrix = _loose_matrix(data) if drop_bad else _matrix(data)
        names = tuple(f"x{j}" for j in range(matrix.shape[1]))
        choice = choose(names, columns, None, WHERE)
        at = {name: j for j, name in enumerate(names)}
        chosen = [at[name] for name in choice.features]
        # Nothing writes into rows, so the caller's own array serves as it is.
        X = matrix if choice.features == names else np.take(matrix, chosen, axis=1)
    else:
        names = check_names(frame.columns, WHERE)
        choice = choose(names, columns, label, WHERE, person)
        original = dict(zip(names, frame.columns, strict=True))
        layout = Layout(choice.features, None, drop_bad=drop_bad, stated=declared)
        found = {
            name: _cells(layout, name, frame.get_column(original[name])) for name in choice.features
        }
        refuse_text([name for name, column in found.items() if column is None], "the table")
        X = np.empty((len(frame), len(found)))
        for j, column in enumerate(found.values()):
            X[:, j] = column
        if label is not None:
            labels = _labels(frame.get_column(original[label]), label)
        if person is not None:
            persons = id_column(frame.get_column(original[person]))
    if labels is not None and len(labels) != X.shape[0]:
        raise InputError(f"Labels must be one per row: {X.shape[0]} rows, {len(labels)} labels.")
    if frame is None and any(not column.plain for column in declared):
        raise InputError(
            "Categories and missing cells need a table with named columns; give a frame or a file."
        )
    layout = Layout(
        choice.features, choice.label, drop_bad=drop_bad, order=choice.order, stated=declared
    )
    return Columns(X, labels, layout, frame is not None, persons)


def _frame(data: Any) -> Any:
    """A narwhals frame, or None if the data is not a data frame."""
    if isinstance(data, np.ndarray):
        return None
    import narwhals as nw
    from narwhals.exceptions import NarwhalsError

    try:
        frame = nw.from_native(data, pass_through=True)
        if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
            return None
        _ = frame.columns if isinstance(frame, nw.DataFrame) else None
    except (NarwhalsError, ValueError):
        raise InputError(
            f"{WHERE} has more than one column of the same name; rename them."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"{WHERE} is a lazy frame; collect it first.")
    return frame


def _cells(layout: Layout, name: str, series: Any) -> Floats | None:
    """A column of a frame as numbers, read as it was stated; None if it should be numeric and is not."""
    stated = layout.special.get(name)
    if stated is not None and stated.type == "category":
        return layout.cells(stated, _labels(series, name))
    found = _numbers(series, layout.drop_bad)
    return found if stated is None or found is None else layout.cells(stated, found)


def _numbers(series: Any, lenient: bool) -> Floats | None:
    """A column of a frame as float64, missing cells as NaN; None if it is not numeric.

    The cells of an object column are converted one by one: Arrow would choose a type, and for
    decimals a scale, from all of them, and one row could change the last bit of another.
    """
    objects = _holds_objects(series)
    if not objects:
        column = _arrow(series)
        if column is not None and number_type(column.type):
            return floats(column)
    if lenient:
        return np.fromiter(map(_number_or_nan, series.to_list()), np.float64, len(series))
    if not objects:
        return None
    try:
        return np.fromiter(map(_number, series.to_list()), np.float64, len(series))
    except (TypeError, ValueError, OverflowError):
        return None


def _number(cell: Any) -> float:
    if isinstance(cell, (str, bytes)):
        raise TypeError
    return float("nan") if is_missing(cell) else float(cell)


def _number_or_nan(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _arrow(series: Any) -> Any:
    """A narwhals series as one Arrow array; None for mixed objects, which have no Arrow type."""
    import pyarrow as pa

    try:
        column = series.to_arrow()
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _labels(series: Any, name: str | None) -> Any:
    """Labels of a narwhals series as an Arrow array, or as objects that are looked up one by one."""
    if _holds_objects(series):
        return _texts_or_objects(series.to_list())
    column = _arrow(series)
    if column is None:
        raise unusable_label(name, "the table")
    check_label_type(column.type, name, "the table")
    return plain_column(column)


def id_column(series: Any) -> Any:
    """Ids of a narwhals series as Arrow texts, each by itself."""
    column = None if _holds_objects(series) else _arrow(series)
    return id_array(series.to_list()) if column is None else id_texts(column)


def _labels_beside(y: Any, stated: bool) -> Any:
    """Labels given beside the table: a series of a frame, or a one-dimensional array or list."""
    if not isinstance(y, np.ndarray):
        import narwhals as nw

        series = nw.from_native(y, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _labels(series, None)
    labels = plain_labels.label_array(y, stated)
    if labels.ndim != 1:
        raise InputError(f"Labels must be one per row, got an array of shape {labels.shape}.")
    return _texts_or_objects(labels.tolist()) if stated and labels.dtype == object else labels


def _holds_objects(series: Any) -> bool:
    """Whether the column's type is Python objects; asked of the native column, because narwhals would look at the cells."""
    import narwhals as nw

    native = getattr(series.to_native(), "dtype", None)
    return bool(series.dtype == nw.Object or native == np.dtype(object))


def _texts_or_objects(values: list[Any]) -> Any:
    """Texts, also with missing ones among them, as an Arrow array, which is quick; other values as they are.

    The empty text is a missing cell in both cases: one number in the column must not change what an empty text is.
    """
    import pyarrow as pa

    if {type(value) for value in values} <= {str, type(None)}:
        try:
            return pa.array(values, pa.string())
        except (pa.lib.ArrowException, UnicodeEncodeError):
            pass
    objects = np.empty(len(values), dtype=object)
    objects[:] = [None if isinstance(value, str) and not value else value for value in values]
    return objects


def _matrix(data: Any) -> Floats:
    """A two-dimensional array of numbers; masked cells count as missing."""
    try:
        values = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        # NumPy would drop imaginary parts and read dates as counts of nanoseconds.
        if values.dtype.kind not in "biufO" or values.ndim != 2:
            raise TypeError
        floats = values.astype(np.float64, order="C", copy=False)
        return np.ma.filled(floats, np.nan) if isinstance(floats, np.ma.MaskedArray) else floats
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{WHERE} must be a data frame or a two-dimensional array of numbers."
        ) from None


def _loose_matrix(data: Any) -> Floats:
    """A two-dimensional array in which a cell that is no number becomes NaN, each cell by itself."""
    typed = hasattr(data, "dtype") or hasattr(data, "__array__")
    try:
        given = np.asarray(data) if typed else np.asarray(data, dtype=object)
    except ValueError:
        raise InputError("Features must be a table with rows and columns.") from None
    if given.dtype == object and given.ndim == 2:
        cells = np.fromiter(map(_number_or_nan, given.ravel()), np.float64, given.size)
        return cells.reshape(given.shape)
    return _matrix(data)
