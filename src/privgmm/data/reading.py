"""Tables on disk: describe one without reading a row, read it whole or by chunks, and find the kinds of its columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privgmm.data.csvfile import CsvFile
from privgmm.data.labels import label_array, missing_labels, text_kind
from privgmm.data.names import choose
from privgmm.data.parquetfile import ParquetFile
from privgmm.data.parts import AnyFile, check_same_names, open_files, size_of
from privgmm.data.passes import Piece
from privgmm.data.sheetfile import SheetFile
from privgmm.data.table import Layout, Table
from privgmm.data.validate import number_type, unusable
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.schema import Kind
from privgmm.types import Floats

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


def read_table(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Table:
    """Read a CSV or Parquet file, or a folder of such parts, into memory.

    Missing and infinite cells are refused with their count per column.
    """
    import pyarrow as pa

    files = describe(path, columns, label)
    chunks = list(_usable_chunks(files))
    X = np.concatenate([rows for rows, _ in chunks])
    if label is None:
        return Table(X, None, files.layout.features)
    joined = pa.chunked_array([column for _, column in chunks])
    kind = text_kind(set(joined.unique().to_pylist())) if files.texts else None
    return Table(X, label_array(joined, kind), files.layout.features, label)


def iter_batches(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Iterator[Table]:
    """The same rows as ``read_table`` in bounded memory, as a sequence of tables.

    Names and types are checked at once. Unusable cells end the sequence with the sentence (and
    the counts over the whole table) that ``read_table`` would give, so results built on the chunks before it must be
    thrown away. The label column of a CSV is passed over once beforehand, so that all chunks
    agree on whether it holds numbers.
    """
    return _tables(describe(path, columns, label))


def _tables(files: Files) -> Iterator[Table]:
    layout, kind = files.layout, None
    if files.texts and layout.label is not None:
        only = replace(layout, features=())
        found = (only.labels(batch)[0] for piece in files.pieces for batch in piece.batches(only))
        kind = text_kind({text for values in found for text in values if text is not None})
    for X, column in _usable_chunks(files):
        if X.shape[0]:
            labels = None if column is None else label_array(column, kind)
            yield Table(X, labels, layout.features, layout.label)


def _usable_chunks(files: Files) -> Iterator[tuple[Floats, Any]]:
    """The features and the Arrow label column (or None) of each batch; unusable cells are refused at the end."""
    layout, n_rows = files.layout, 0
    bad = unusable(np.empty((0, len(layout.features))))
    for piece in files.pieces:
        for batch in piece.batches(layout):
            X, column = layout.matrix(batch), layout.label_column(batch)
            n_rows += batch.num_rows
            bad += unusable(X)
            if column is not None:
                bad += bad.of_labels(missing_labels(*layout.labels(batch)))
            # After the first unusable cell the pass goes on only to count.
            if not bad.any:
                yield X, column
    if n_rows == 0:
        raise no_rows(files.where)
    bad.refuse(layout.features, layout.label, files.where)


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
