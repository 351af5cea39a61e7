"""Tables already in memory: pandas, polars and pyarrow through narwhals, and NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.labels import check_label_type, label_array, missing_labels, unusable_label
from privgmm.frames.names import Choice, check_names, choose
from privgmm.frames.screen import Screen, feature_matrix, number_type, refuse_text
from privgmm.frames.table import Floats, Table

_WHERE = "The table"


def table_from(
    data: Any,
    y: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """A checked table from a data frame or a two-dimensional array.

    Labels are a column of the frame (``label``) or given beside it (``y``). The columns of an
    array are named x0, x1, ...
    """
    if y is not None and label is not None:
        raise InputError("Give the labels as y or as the name of a column, not both.")
    frame = _frame(data)
    column = None
    if frame is None:
        if label is not None:
            raise InputError("An array has no label column; give the labels as y.")
        matrix = _matrix(data)
        position = {f"x{j}": j for j in range(matrix.shape[1])}
        choice = choose(tuple(position), columns, None, _WHERE)
        X = np.ascontiguousarray(matrix[:, [position[name] for name in choice.features]])
    else:
        names = check_names(frame.columns, _WHERE)
        choice = choose(names, columns, label, _WHERE)
        original = dict(zip(names, frame.columns, strict=True))
        X = _frame_features(frame, choice, original)
        if choice.label is not None:
            column = _label_column(frame.get_column(original[choice.label]), choice.label)
    if y is not None:
        column = _label_column(_series(y), None)
    return _screened(X, column, choice)


def _screened(X: Floats, column: Any, choice: Choice) -> Table:
    screen = Screen(choice, _WHERE)
    missing = 0
    if column is not None:
        if len(column) != X.shape[0]:
            raise InputError(
                f"Labels must be one per row: {X.shape[0]} rows, {len(column)} labels."
            )
        missing = missing_labels(column)
    screen.take(X, missing)
    screen.finish()
    labels = None if column is None else label_array(column)
    return Table(X, labels, choice.features, choice.label)


def _frame(data: Any) -> Any:
    """A narwhals frame, or None if the data is not a data frame."""
    import narwhals as nw
    from narwhals.exceptions import NarwhalsError

    try:
        frame = nw.from_native(data, pass_through=True)
        if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
            return None
        _ = frame.columns if isinstance(frame, nw.DataFrame) else None
    except (NarwhalsError, ValueError):
        raise InputError(
            f"{_WHERE} has more than one column of the same name; rename them."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"{_WHERE} is a lazy frame; collect it first.")
    return frame


def _frame_features(frame: Any, choice: Choice, original: dict[str, Any]) -> Floats:
    columns = {name: _arrow(frame.get_column(original[name])) for name in choice.features}
    refuse_text(
        [name for name, c in columns.items() if c is None or not number_type(c.type)], "the table"
    )
    return feature_matrix(list(columns.values()), len(frame))


def _arrow(values: Any) -> Any:
    """A narwhals series or an array as Arrow data; None for mixed objects, which have no Arrow type."""
    import pyarrow as pa

    try:
        if not isinstance(values, np.ndarray):
            return values.to_arrow()
        mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        return pa.array(np.ma.getdata(values), mask=mask, from_pandas=True)
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _label_column(values: Any, name: str | None) -> Any:
    column = _arrow(values)
    if column is None:
        raise unusable_label(name, "the table")
    check_label_type(column.type, name, "the table")
    return column


def _series(y: Any) -> Any:
    """Labels given beside the table: a narwhals series or a one-dimensional array."""
    import narwhals as nw

    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    try:
        values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError:
        raise unusable_label(None, "the table") from None
    if values.ndim != 1:
        raise InputError(f"Labels must be one per row, got an array of shape {values.shape}.")
    return values


def _matrix(data: Any) -> Floats:
    """A two-dimensional array of numbers; masked cells count as missing."""
    try:
        values = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        if values.dtype.kind not in "iufO" or values.ndim != 2:
            raise TypeError
        floats = values.astype(np.float64)
        return np.ma.filled(floats, np.nan) if isinstance(floats, np.ma.MaskedArray) else floats
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{_WHERE} must be a data frame or a two-dimensional array of numbers."
        ) from None
