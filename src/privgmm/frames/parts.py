"""A path is one file or a folder of parts; each file is CSV or Parquet, told by its first bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from privgmm.errors import InputError

Format = Literal["csv", "parquet"]

_SUFFIXES = {".csv": "CSV", ".csv.gz": "CSV", ".parquet": "Parquet", ".pq": "Parquet"}


def find_parts(path: str | os.PathLike[str]) -> tuple[Format, tuple[Path, ...]]:
    """The format and the files behind ``path``, a folder's parts in the order of their names."""
    target = Path(path)
    try:
        files = _folder(target) if target.is_dir() else (target,)
        formats = {_format(file) for file in files}
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot read {target}: {reason}.") from None
    if len(formats) > 1:
        raise InputError(f"The folder {target} mixes CSV and Parquet parts; keep one kind.")
    return formats.pop(), files


def _folder(folder: Path) -> tuple[Path, ...]:
    found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    parts = tuple(
        entry
        for entry in found
        if entry.is_file() and entry.name.lower().endswith(tuple(_SUFFIXES))
    )
    if not parts:
        nested = " (parts in folders below it are not read)" if any(map(Path.is_dir, found)) else ""
        raise InputError(
            f"The folder {folder} holds no .csv or .parquet files{nested}; name a folder with parts."
        )
    return parts


def _format(file: Path) -> Format:
    # A pipe gives its bytes once: the second pass would take a record for the header and show it.
    if file.exists() and not file.is_file():
        raise InputError(f"{file} is no ordinary file; save the table to one first.")
    with file.open("rb") as handle:
        start = handle.read(4096)
    if start.startswith(b"PAR1"):
        return "parquet"
    if file.name.lower().endswith((".parquet", ".pq")):
        raise InputError(f"{file} is not a Parquet file; it may be cut off or damaged.")
    if not start.strip():
        raise InputError(f"{file} is empty; give a table with a header line and rows.")
    if not file.name.lower().endswith(".gz") and b"\0" in start:
        raise InputError(
            f"{file} is neither Parquet nor UTF-8 text; save the table as CSV or Parquet."
        )
    return "csv"
