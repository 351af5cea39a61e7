"""Tables on disk: describe one without reading a row, and find the kinds of its columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.data.csvfile import CsvFile
from privgmm.data.names import choose
from privgmm.data.parquetfile import ParquetFile
from privgmm.data.parts import AnyFile, check_same_names, open_files, size_of
from privgmm.data.passes import Piece
from privgmm.data.sheetfile import SheetFile
from privgmm.data.table import Layout
from privgmm.data.validate import number_type
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.schema import Kind

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Files:
    """A table on disk of which no row was read: its layout and its pieces.

    ``lengths`` are the numbers of rows of the pieces where the metadata tell them (Parquet; None for CSV), ``size``
    the bytes of all files.
    """

    where: str
    layout: Layout
    pieces: tuple[Piece, ...]
    lengths: tuple[int, ...] | None
    size: int

    @property
    def texts(self) -> bool:
        """Whether the labels are texts of a CSV; whether those are numbers is decided by all of them together."""
        return self.lengths is None

    def fits(self, limit: int) -> bool:
        """Whether the rows may fit into ``limit`` bytes, as far as can be known without reading them."""
        if self.lengths is None:
            return self.size <= limit
        return 8 * sum(self.lengths) * len(self.layout.features) <= limit


def describe(
    path: PathLike,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    person: str | None = None,
    stated: tuple[Column, ...] = (),
) -> Files:
    """Names and types of a CSV or Parquet file, or a folder of such parts; each header is read once.

    ``columns`` are the features in their order (default: every column but the label and the column of
    persons), all numeric unless ``stated`` otherwise.
    """
    files = open_files(path)
    choice = choose(files[0].names, columns, label, files[0].path, person)
    check_same_names(files, path)
    size = sum(size_of(file) for file in files)
    layout = Layout(choice.features, choice.label, person=person, order=choice.order, stated=stated)
    parquet = [file for file in files if isinstance(file, ParquetFile)]
    if not parquet:
        texts = tuple(file for file in files if not isinstance(file, ParquetFile))
        return Files(str(path), layout, texts, None, size)
    types = [file.check_types(layout) for file in parquet]
    if any(type_ != types[0] for type_ in types[1:]):
        raise InputError(
            f"The parts in {path} store their label column as different types; "
            "write them from one table."
        )
    pieces = tuple(piece for file in parquet for piece in file.pieces())
    return Files(str(path), layout, pieces, tuple(piece.n_rows for piece in pieces), size)


def no_rows(where: str) -> InputError:
    """The refusal of an empty table."""
    return InputError(f"{where} has no rows; give a table with data.")


def file_kinds(path: PathLike) -> dict[str, Kind]:
    """The kind of each column, by name. A CSV file is read for it; of a Parquet file only the metadata are."""
    files = open_files(path)
    check_same_names(files, path)
    found = [_kinds(file) for file in files]
    return {name: _widest([kinds[name] for kinds in found]) for name in files[0].names}


def _widest(kinds: Sequence[Kind]) -> Kind:
    """The kind that can hold the values of all parts."""
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
    """The kinds of a file's columns: a number if every cell can be read as one, an integer if every cell is whole."""
    texts = file.text_columns(file.names)
    if isinstance(file, CsvFile):
        file.propose_decimals(texts)
    numeric = tuple(name for name in file.names if name not in set(texts))
    # Without numeric columns some column is read in place of the label, so that a file of texts is checked too.
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
