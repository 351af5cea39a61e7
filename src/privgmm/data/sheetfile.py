"""Spreadsheets (.xlsx): the first sheet, whose first row names the columns, read as a CSV file would be."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from privgmm.data.names import check_names, counted, looks_like_data
from privgmm.data.table import Layout
from privgmm.data.validate import refuse_text
from privgmm.errors import InputError
from privgmm.model.labels import label_text

# Most bytes of an unpacked file: more than a million rows of a hundred numbers take.
_LARGEST = 1 << 32
# Texts that stand for a missing cell, as they do in CSV files (Arrow's list).
_MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A",
    "NA", "NULL", "NaN", "n/a", "nan", "null",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SheetFile:
    """The cells of one sheet by column, as the spreadsheet stores them: numbers, texts, dates or None."""

    path: str
    names: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...] = field(repr=False)
    # What was read from standard input, of which ``path`` is only a name.
    data: bytes | None = field(default=None, repr=False)

    def batches(self, layout: Layout) -> Iterator[Any]:
        """One record batch of the layout's columns: features as float64, label and person as texts.

        A layout that drops bad rows reads a cell that is no number as a missing one.
        """
        import pyarrow as pa

        if not layout.drop_bad:
            refuse_text(self.text_columns(layout.numbers), self.path)
        at = {name: j for j, name in enumerate(self.names)}
        words = {*layout.categories, *layout.columns[len(layout.features) :]}
        arrays = [
            pa.array([_text(cell) for cell in self.columns[at[name]]], pa.string())
            if name in words
            else pa.array([_number(cell) for cell in self.columns[at[name]]], pa.float64())
            for name in layout.columns
        ]
        yield pa.record_batch(arrays, names=layout.columns)

    def text_columns(self, features: Sequence[str]) -> list[str]:
        """Which of these columns hold cells that are not numbers."""
        at = {name: j for j, name in enumerate(self.names)}
        return [
            name
            for name in features
            if any(_number(cell) is None and not _empty(cell) for cell in self.columns[at[name]])
        ]


def open_sheet(path: Path, data: bytes | None = None) -> SheetFile:
    """Read the first sheet of a workbook."""
    with path.open("rb") if data is None else io.BytesIO(data) as source:
        rows = _rows(source, str(path))
    header = [_text(cell) or "" for cell in _trimmed(rows[0])] if rows else []
    if not any(header):
        raise InputError(f"The first row of {path} is empty; write the column names there.")
    if any("\n" in name or "\r" in name for name in header):
        raise InputError(f"A column name of {path} runs over several lines; shorten the name.")
    if looks_like_data(header):
        raise InputError(
            f"The first row of {path} looks like data; add a row with column names above it, "
            "and start names that are numbers with a letter."
        )
    width = len(header)
    body = [row for row in map(_trimmed, rows[1:]) if row]
    ragged = sum(len(row) > width for row in body)
    if ragged:
        raise InputError(
            f"{path} has {counted(ragged, 'row')} with cells beyond its {width} named columns; "
            "name those columns or clear the cells."
        )
    padded = [[*row, *[None] * (width - len(row))] for row in body]
    columns = tuple(zip(*padded, strict=True)) if padded else ((),) * width
    return SheetFile(str(path), check_names(header, str(path)), columns, data)


def _rows(source: Any, where: str) -> list[tuple[Any, ...]]:
    """All rows of the first sheet; the library's own messages and warnings quote cells, so none is passed on."""
    if find_spec("openpyxl") is None:
        raise InputError(
            "Spreadsheets need the package openpyxl: pip install 'privgmm[xlsx]'; or save the table as CSV."
        )
    try:
        with zipfile.ZipFile(source) as packed:
            if sum(part.file_size for part in packed.infolist()) > _LARGEST:
                raise InputError(f"{where} is larger than spreadsheets are; save it as Parquet.")
        # The bytes are given and not the path, because openpyxl judges a path by its ending.
        source.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _cells(source, where)
    except (InputError, MemoryError):
        raise
    except Exception:  # openpyxl trusts files: a damaged one can raise nearly anything
        raise InputError(
            f"{where} is not a readable .xlsx file; it may be cut off, damaged or encrypted."
        ) from None


def _cells(source: Any, where: str) -> list[tuple[Any, ...]]:
    import openpyxl

    book = openpyxl.load_workbook(source, read_only=True, data_only=True)
    try:
        if not book.worksheets:
            raise InputError(f"{where} has no sheet of cells; save the table on its first sheet.")
        sheet = book.worksheets[0]
        # The size that a file states for its sheet is not always true.
        sheet.reset_dimensions()
        return [tuple(row) for row in sheet.iter_rows(values_only=True)]
    finally:
        book.close()


def _trimmed(row: Sequence[Any]) -> list[Any]:
    """A row without the empty cells at its end."""
    cells = list(row)
    while cells and _empty(cells[-1]):
        cells.pop()
    return cells


def _empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip() in _MISSING)


def _number(cell: Any) -> float | None:
    """A cell as a number, if it is one; a text that spells one counts, as it does in a CSV file."""
    try:
        if isinstance(cell, str):
            text = cell.strip()
            # Python also reads 1_000 and digits of other scripts.
            plain = text.isascii() and "_" not in text and text not in _MISSING
            value = float(text) if plain else math.nan
        elif isinstance(cell, (int, float)):
            value = float(cell)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(value) else value


def _text(cell: Any) -> str | None:
    """A cell as the text that a CSV file would hold; None where it is empty."""
    if _empty(cell):
        return None
    text = label_text(cell)
    return str(cell) if text is None else text
