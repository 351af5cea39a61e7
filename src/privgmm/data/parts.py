"""The files behind a path, one file or a folder of parts; the first bytes tell whether a file is CSV, Parquet or a spreadsheet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from privgmm.data.csvfile import CsvFile, open_csv
from privgmm.data.parquetfile import ParquetFile, open_parquet
from privgmm.data.sheetfile import SheetFile, open_sheet
from privgmm.data.textfile import COMMAS, CsvOptions, compression_of
from privgmm.errors import InputError

AnyFile = CsvFile | ParquetFile | SheetFile
Format = Literal["csv", "parquet", "xlsx"]

# Bytes of a file that are looked at to tell its format.
_START = 4096
_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".xlsx")


@dataclass(frozen=True)
class TableFile(os.PathLike[str]):
    """Where a table is and how its CSV is written: a path, or a name and the bytes that came from standard input."""

    path: str
    options: CsvOptions = COMMAS
    data: bytes | None = field(default=None, repr=False)

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path


def table_file(path: str | os.PathLike[str]) -> TableFile:
    """A path as a ``TableFile`` with the usual CSV options; a ``TableFile`` is returned as it is."""
    return path if isinstance(path, TableFile) else TableFile(os.fspath(path))


def open_files(path: str | os.PathLike[str]) -> Sequence[AnyFile]:
    """The file, or the parts of the folder, with their headers read."""
    table = table_file(path)
    format_, paths = find_parts(table)
    if format_ == "parquet":
        return [open_parquet(file, table.data) for file in paths]
    if format_ == "xlsx":
        return [open_sheet(file, table.data) for file in paths]
    return [open_csv(file, table.options, table.data) for file in paths]


def check_same_names(files: Sequence[AnyFile], path: str | os.PathLike[str]) -> None:
    """Refuse parts that are not of one table."""
    if any(set(file.names) != set(files[0].names) for file in files[1:]):
        raise InputError(
            f"The parts in {path} do not have the same columns; write them from one table."
        )


def size_of(file: AnyFile) -> int:
    """Bytes of a file, as it is stored."""
    return os.stat(file.path).st_size if file.data is None else len(file.data)


def find_parts(table: TableFile) -> tuple[Format, tuple[Path, ...]]:
    """The format and the files behind a path, a folder's parts in the order of their names."""
    target = Path(table.path)
    if table.data is not None:
        return _format(target, table.data[:_START], table.options), (target,)
    try:
        files = _folder(target) if target.is_dir() else (target,)
        formats = {_file_format(file, table.options) for file in files}
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot read {target}: {reason}.") from None
    if len(formats) > 1:
        raise InputError(f"The folder {target} mixes kinds of parts; keep one kind.")
    return formats.pop(), files


def _folder(folder: Path) -> tuple[Path, ...]:
    found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    parts = tuple(
        entry for entry in found if entry.is_file() and entry.name.lower().endswith(_SUFFIXES)
    )
    if not parts:
        nested = " (parts in folders below it are not read)" if any(map(Path.is_dir, found)) else ""
        raise InputError(
            f"The folder {folder} holds no .csv, .parquet or .xlsx files{nested}; name a folder with parts."
        )
    return parts


def _file_format(file: Path, options: CsvOptions) -> Format:
    # A pipe gives its bytes only once: the second pass would take a record for the header and show it.
    if file.exists() and not file.is_file():
        raise InputError(
            f"{file} is no ordinary file; save the table to one first, or pipe it into '-'."
        )
    with file.open("rb") as handle:
        return _format(file, handle.read(_START), options)


def _format(file: Path, start: bytes, options: CsvOptions) -> Format:
    """The format, decided by the first bytes; the file's name only helps to say what is wrong."""
    name = file.name.lower()
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        return "xlsx"
    if name.endswith((".parquet", ".pq")):
        raise InputError(f"{file} is not a Parquet file; it may be cut off or damaged.")
    if name.endswith(".xlsx"):
        raise InputError(f"{file} is not an .xlsx file; it may be cut off, damaged or encrypted.")
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError(f"{file} is an old or encrypted spreadsheet; save it as .xlsx or CSV.")
    if not start.strip():
        raise InputError(f"{file} is empty; give a table with a header line and rows.")
    if compression_of(start) is None and options.utf8:
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{file} is written in UTF-16; give --encoding utf-16.")
        # Only the header is looked at, because no record's content may decide whether a release is refused.
        if b"\0" in start.partition(b"\n")[0]:
            raise InputError(
                f"{file} is neither Parquet nor UTF-8 text; save the table as CSV or Parquet."
            )
    return "csv"
