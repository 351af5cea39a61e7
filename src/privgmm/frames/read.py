"""Reading a table from disk, whole or in chunks: one validation for both."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.csvfile import csv_batches, csv_labels, csv_names
from privgmm.frames.labels import Kind, label_array, missing_labels, text_kind
from privgmm.frames.names import Choice, choose
from privgmm.frames.parquetfile import check_parquet_types, parquet_batches, parquet_names
from privgmm.frames.parts import Format, find_parts
from privgmm.frames.screen import Screen, feature_matrix
from privgmm.frames.table import Floats, Table

PathLike = str | os.PathLike[str]


def read_table(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Table:
    """Read a CSV or Parquet file, or a folder of such parts, into memory.

    ``columns`` are the features in their order (default: every column but the label), all numeric.
    Missing and infinite cells are refused with their count per column.
    """
    parts = _open(path, columns, label)
    screen = Screen(parts.choice, str(path))
    features: list[Floats] = []
    labels: list[Any] = []
    for X, column in parts.chunks(screen):
        if screen.clean:
            features.append(X)
            labels.append(column)
    screen.finish()
    X = np.concatenate(features)
    if label is None:
        return Table(X, None, parts.choice.features)
    import pyarrow as pa

    joined = pa.chunked_array(labels)
    kind = text_kind(set(joined.unique().to_pylist())) if parts.format == "csv" else None
    return Table(X, label_array(joined, kind), parts.choice.features, label)


def iter_batches(
    path: PathLike, columns: Sequence[str] | None = None, label: str | None = None
) -> Iterator[Table]:
    """The same rows as ``read_table`` in bounded memory, as a sequence of tables.

    Names and types are checked at once. Unusable cells end the sequence with the sentence (and
    the counts over the whole table) that ``read_table`` would give, so results built on the chunks before it must be
    thrown away. The label column of a CSV is passed over once beforehand, so that all chunks
    agree on whether it holds numbers.
    """
    parts = _open(path, columns, label)
    return _tables(parts, Screen(parts.choice, str(path)))


def _tables(parts: _Parts, screen: Screen) -> Iterator[Table]:
    choice, kind = parts.choice, parts.label_kind()
    for X, column in parts.chunks(screen):
        # After the first unusable cell the pass goes on only to count.
        if screen.clean and X.shape[0]:
            labels = None if column is None else label_array(column, kind)
            yield Table(X, labels, choice.features, choice.label)
    screen.finish()


@dataclass(frozen=True)
class _Parts:
    format: Format
    files: tuple[Path, ...]
    choice: Choice

    def chunks(self, screen: Screen) -> Iterator[tuple[Floats, Any]]:
        """(features, Arrow label column or None) of each batch, counted by the screen."""
        read = csv_batches if self.format == "csv" else parquet_batches
        for file in self.files:
            for batch in read(file, self.choice):
                # By position: Arrow looks a name up by going through all of them.
                at = {name: j for j, name in enumerate(batch.schema.names)}
                features = [batch.column(at[name]) for name in self.choice.features]
                X = feature_matrix(features, batch.num_rows)
                column = None if self.choice.label is None else batch.column(at[self.choice.label])
                screen.take(X, 0 if column is None else missing_labels(column))
                yield X, column

    def label_kind(self) -> Kind | None:
        if self.format != "csv" or self.choice.label is None:
            return None
        found: set[str] = set()
        for file in self.files:
            found |= csv_labels(file, self.choice.label)
        return text_kind(found)


def _open(path: PathLike, columns: Sequence[str] | None, label: str | None) -> _Parts:
    """Find the files, choose the columns from the first, and check that the others agree."""
    format_, files = find_parts(path)
    read_names = csv_names if format_ == "csv" else parquet_names
    names = read_names(files[0])
    choice = choose(names, columns, label, str(files[0]))
    if any(set(read_names(file)) != set(names) for file in files[1:]):
        raise InputError(
            f"The parts in {path} do not have the same columns; write them from one table."
        )
    if format_ == "parquet":
        kinds = [check_parquet_types(file, choice) for file in files]
        if any(kind != kinds[0] for kind in kinds[1:]):
            raise InputError(
                f"The parts in {path} store their label column as different types; "
                "write them from one table."
            )
    return _Parts(format_, files, choice)
