"""Tables already in memory: pandas, polars and pyarrow through narwhals, and NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.labels import check_label_type, label_array, missing_labels
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
    if frame is None:
        matrix = _matrix(data)
        names = tuple(f"x{j}" for j in range(matrix.shape[1]))
        choice = choose(names, columns, None, _WHERE) if label is None else None
        if choice is None:
            raise InputError("An array has no label column; give the labels as y.")
        position = {name: j for j, name in enumerate(names)}
        X = np.ascontiguousarray(matrix[:, [position[name] for name in choice.features]])
        column = None
    else:
        names = check_names(frame.columns, _WHERE)
        choice = choose(names, columns, label, _WHERE)
        original = dict(zip(names, frame.columns, strict=True))
        X = _frame_features(frame, choice, original)
        column = None if label is None else _arrow(frame.get_column(original[label]), label)
    if y is not None:
        column = _label_column(y)
    return _screened(X, column, choice)


def _screened(X: Floats, column: Any, choice: Choice) -> Table:
    screen = Screen(choice, _WHERE)
    missing = 0
    if column is not None:
        check_label_type(column.type, choice.label, _WHERE.lower())
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
    columns = {name: _arrow(frame.get_column(original[name]), name) for name in choice.features}
    refuse_text([name for name, c in columns.items() if not number_type(c.type)], "the table")
    return feature_matrix(list(columns.values()), len(frame))


def _arrow(series: Any, name: str | None) -> Any:
    """A column as Arrow data; columns of mixed Python objects have no Arrow type."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError):
        if name is None:
            raise InputError("The labels mix types; use text, or numbers of one type.") from None
        refuse_text([name], "the table")
        raise


def _label_column(y: Any) -> Any:
    import narwhals as nw
    import pyarrow as pa

    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _arrow(series, None)
    try:
        values = np.ma.asarray(y) if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        if values.ndim != 1:
            raise InputError(f"Labels must be one per row, got an array of shape {values.shape}.")
        if isinstance(values, np.ma.MaskedArray):
            return pa.array(values.data, mask=np.ma.getmaskarray(values), from_pandas=True)
        return pa.array(values, from_pandas=True)
    except (pa.lib.ArrowException, TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError("The labels mix types; use text, or numbers of one type.") from None


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
