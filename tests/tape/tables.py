"""Small tables of text cells, and the forms in which a command or a call takes them."""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

LABEL = "kind"
PERSON = "home"
LabelType = Literal["text", "integer"]


@dataclass(frozen=True)
class Row:
    """Cells as a CSV file spells them; typed forms hold the numbers they stand for, or nothing."""

    cells: tuple[str, ...]
    label: str = ""
    # Whose row it is; only a table ``of_persons`` has such a column.
    who: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of ``dim`` features; ``label_type`` is the column's type where a form has types."""

    rows: tuple[Row, ...]
    dim: int
    label_type: LabelType = "text"
    of_persons: bool = False
    # Positions of the features that are categories.
    texts: tuple[int, ...] = ()
    # What stands for an empty cell of a category among Python objects.
    empty: float | str = math.nan

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"x{j}" for j in range(self.dim))

    def without(self, at: int) -> Table:
        return self._with(self.rows[:at] + self.rows[at + 1 :])

    def replaced(self, at: int, row: Row) -> Table:
        return self._with((*self.rows[:at], row, *self.rows[at + 1 :]))

    def joined(self, at: int, row: Row) -> Table:
        return self._with((*self.rows[:at], row, *self.rows[at:]))

    def _with(self, rows: Sequence[Row]) -> Table:
        return replace(self, rows=tuple(rows))


def csv_bytes(table: Table, separator: str = ",", encoding: str = "utf-8") -> bytes:
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n", delimiter=separator)
    writer.writerow(_names(table))
    writer.writerows(_lines(table))
    return sink.getvalue().encode(encoding, "replace")


def sheet_bytes(table: Table) -> bytes:
    """A workbook: numbers are numbers, ``TRUE`` is a truth value, ``2020-01-01`` a date, all else a text."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(_names(table))
    for row in _lines(table):
        book.active.append([_sheet_cell(cell) for cell in row])
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def _sheet_cell(cell: str) -> Any:
    special = {"": None, "TRUE": True, "2020-01-01": datetime.datetime(2020, 1, 1)}
    if cell in special or not cell.replace("\n", "").isprintable():
        return special.get(cell)
    value = _number(cell)
    return cell if value is None or not math.isfinite(value) else value


def _names(table: Table) -> list[str]:
    return [*([PERSON] if table.of_persons else []), *table.features, LABEL]


def _lines(table: Table) -> list[list[str]]:
    whose = [[row.who] if table.of_persons else [] for row in table.rows]
    return [[*who, *row.cells, row.label] for who, row in zip(whose, table.rows, strict=True)]


def arrow(table: Table) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([row.cells[j] or None for row in table.rows], pa.string())
        if j in table.texts
        else pa.array([_number(row.cells[j]) for row in table.rows], pa.float64())
        for j in range(table.dim)
    ]
    labels = [_label(row.label, table.label_type) for row in table.rows]
    type_ = pa.int64() if table.label_type == "integer" else pa.string()
    whose = {PERSON: pa.array([row.who or None for row in table.rows])} if table.of_persons else {}
    return pa.table(
        dict(zip(table.features, columns, strict=True)) | {LABEL: pa.array(labels, type_)} | whose
    )


def objects(table: Table, at: int) -> list[Any]:
    """A category as Python objects, each of a type of its own: whole numbers and texts."""
    cells = [row.cells[at] for row in table.rows]
    return [int(cell) if cell.isdecimal() else cell or table.empty for cell in cells]


def write(table: Table, path: Path) -> None:
    """``path`` ends in .csv or .parquet; without an ending it becomes a folder of three CSV parts."""
    import pyarrow.parquet

    if path.suffix == ".csv":
        path.write_bytes(csv_bytes(table))
    elif path.suffix == ".parquet":
        # Small groups: the rows come in several pieces.
        pyarrow.parquet.write_table(arrow(table), path, row_group_size=16)
    else:
        path.mkdir()
        for part, rows in enumerate((table.rows[:7], table.rows[7:8], table.rows[8:])):
            (path / f"part-{part}.csv").write_bytes(csv_bytes(table._with(rows)))


def arrays(table: Table) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = np.array([[_float(cell) for cell in row.cells] for row in table.rows])
    labels = [_label(row.label, table.label_type) for row in table.rows]
    return X.reshape(-1, table.dim), np.array(labels)


def _float(cell: str) -> float:
    value = _number(cell)
    return np.nan if value is None else value


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _label(text: str, type_: LabelType) -> str | int | None:
    if type_ == "text":
        return text
    return int(text) if text.isdecimal() else None
