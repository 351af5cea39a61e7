"""Synthetic rows as a spreadsheet (.xlsx): one sheet, names in its first row, every cell a value and never a formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privgmm.errors import InputError

# What a sheet can hold, its first row being the names.
MOST_ROWS = (1 << 20) - 1
MOST_COLUMNS = 1 << 14
_LONGEST_TEXT = 32_767
# Characters that XML, and so a sheet, cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def check_sheet(rows: int) -> None:
    """Refuse what no sheet can hold, or what cannot be written for want of a library."""
    if rows > MOST_ROWS:
        raise InputError(
            f"A spreadsheet holds at most {MOST_ROWS:,} rows, got {rows:,}; sample to .csv or .parquet."
        )
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise InputError(
            "Spreadsheets need the package openpyxl: pip install 'privgmm[xlsx]'; or sample to .csv."
        ) from None


class SheetWriter:
    """Writes Arrow record batches below one row of names; the file is complete when the block ends."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        from openpyxl import Workbook

        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"A spreadsheet holds at most {MOST_COLUMNS:,} columns; sample to .csv or .parquet."
            )
        self._path = path
        self._book = Workbook(write_only=True)
        self._sheet = self._book.create_sheet("synthetic rows")
        self._sheet.append([self._cell(name) for name in names])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            with self._path.open("wb") as handle:
                self._book.save(handle)
        else:
            self._book.close()

    def write(self, batch: Any) -> None:
        """Append the rows of a record batch."""
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            self._sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        """Texts as texts: openpyxl would take one that begins with = for a formula."""
        if not isinstance(value, str):
            return value
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet, _FORBIDDEN.sub("\ufffd", value)[:_LONGEST_TEXT])
        cell.data_type = "s"
        return cell
