"""Of which kind each column of a table is, number, integer or text: all that a first schema tells of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from privgmm.data.csvfile import CsvFile
from privgmm.data.parquetfile import ParquetFile
from privgmm.data.parts import AnyFile, check_same_names, open_files
from privgmm.data.sheetfile import SheetFile
from privgmm.data.table import Layout
from privgmm.data.validate import number_type
from privgmm.model.schema import Kind


def file_kinds(path: str | os.PathLike[str]) -> dict[str, Kind]:
    """The kind of each column, by name. A CSV file is read for it, a Parquet file only in its header."""
    files = open_files(path)
    check_same_names(files, path)
    found = [_kinds(file) for file in files]
    return {name: _widest([kinds[name] for kinds in found]) for name in files[0].names}


def _widest(kinds: Sequence[Kind]) -> Kind:
    """The kind that holds the values of all parts."""
    for kind in ("category", "number"):
        if kind in kinds:
            return kind
    return "integer"


def _kinds(file: AnyFile) -> dict[str, Kind]:
    if isinstance(file, ParquetFile):
        return {name: _typed(type_) for name, type_ in zip(file.names, file.types, strict=True)}
    return _read_kinds(file)


def _typed(type_: Any) -> Kind:
    import pyarrow as pa

    if pa.types.is_integer(type_):
        return "integer"
    number = number_type(type_) and not pa.types.is_boolean(type_)
    return "number" if number else "category"


def _read_kinds(file: CsvFile | SheetFile) -> dict[str, Kind]:
    """Numbers are what can be read as numbers in every row, integers what is whole in every row."""
    texts = file.text_columns(file.names)
    if isinstance(file, CsvFile):
        file.propose_decimals(texts)
    numeric = tuple(name for name in file.names if name not in set(texts))
    # The label's place is taken by any column, so that a file of texts alone is read, and checked, too.
    layout = Layout(numeric, None if numeric else file.names[0])
    whole = np.ones(len(numeric), dtype=bool)
    for batch in file.batches(layout):
        whole &= np.array([_whole(batch.column(j)) for j in range(len(numeric))], dtype=bool)
    integers = {name for name, is_whole in zip(numeric, whole, strict=True) if is_whole}
    return {
        name: "category" if name in texts else "integer" if name in integers else "number"
        for name in file.names
    }


def _whole(column: Any) -> bool:
    values = column.drop_null().to_numpy(zero_copy_only=False)
    return bool(np.equal(values, np.rint(values)).all())
