"""Arrow columns to finite float64 features; what does not fit is counted per column, never shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.names import Choice, shown
from privgmm.frames.table import Floats

_LISTED = 10


def number_type(type_: Any) -> bool:
    """Whether an Arrow type holds numbers (an all-null column counts: its cells are missing)."""
    import pyarrow as pa

    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_null(type_)
    )


def refuse_text(names: list[str], where: str) -> None:
    if names:
        noun = "Column" if len(names) == 1 else "Columns"
        verb = "is" if len(names) == 1 else "are"
        raise InputError(
            f"{noun} {shown(names)} of {where} {verb} not numeric; "
            "list only numeric columns, or encode the others as numbers first."
        )


def floats(column: Any) -> Floats:
    """A numeric Arrow column as float64, nulls as NaN."""
    import pyarrow as pa

    # safe=False: integers beyond 2^53 are rounded, as every float column would be.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def feature_matrix(columns: list[Any], n_rows: int) -> Floats:
    """Numeric Arrow columns side by side, (n, d) in C order."""
    X = np.empty((n_rows, len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = floats(column)
    return X


class Screen:
    """Counts unusable cells over all chunks of a table, then accepts or refuses it as a whole."""

    def __init__(self, choice: Choice, where: str) -> None:
        self.choice = choice
        self.where = where
        self.n_rows = 0
        self._missing = np.zeros(len(choice.features), dtype=np.int64)
        self._infinite = np.zeros(len(choice.features), dtype=np.int64)
        self._label_missing = 0

    @property
    def clean(self) -> bool:
        return not (self._missing.any() or self._infinite.any() or self._label_missing)

    def take(self, X: Floats, label_missing: int) -> None:
        self.n_rows += X.shape[0]
        # Python's or NumPy's sum of a chunk is finite only if no cell is NaN or infinite, but a
        # finite chunk may overflow to infinity: so the sum may only clear a chunk, not refuse it.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(X.sum())
        if suspicious:
            self._missing += np.isnan(X).sum(axis=0)
            self._infinite += np.isinf(X).sum(axis=0)
        self._label_missing += label_missing

    def finish(self) -> None:
        """Refuse a table without rows or with unusable cells, with counts per column."""
        if self.n_rows == 0:
            raise InputError(f"{self.where} has no rows; give a table with data.")
        if self.clean:
            return
        found = list(
            zip(self.choice.features, self._missing.tolist(), self._infinite.tolist(), strict=True)
        )
        parts = [f"{shown([name])} ({_counts(m, i)})" for name, m, i in found if m or i]
        if self._label_missing:
            name = "labels" if self.choice.label is None else shown([self.choice.label])
            parts.insert(0, f"{name} ({_counts(self._label_missing, 0)})")
        more = f" and {len(parts) - _LISTED} more columns" if len(parts) > _LISTED else ""
        raise InputError(
            f"{self.where} has unusable cells: {', '.join(parts[:_LISTED])}{more}; "
            "remove or impute those rows first."
        )


def _counts(missing: int, infinite: int) -> str:
    words = [f"{missing} missing"] if missing else []
    if infinite:
        words.append(f"{infinite} infinite")
    return ", ".join(words)
