"""Tables in pieces that can be read apart: Parquet row groups, CSV files, frames and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.frames.csvfile import csv_batches
from privgmm.frames.names import Choice
from privgmm.statistics.layout import Layout
from privgmm.statistics.source import Floats, Integers

# One batch: large enough that Python's overhead vanishes, bounded for tables of many columns.
_BATCH_ROWS = 1 << 16
_BATCH_CELLS = 1 << 22
# Small row groups are read together, so that a piece is worth a thread's or a worker's while.
_PIECE_ROWS = 1 << 20
# Column chunks are read through a buffer of this size, however large the row group is.
_BUFFER_BYTES = 1 << 20


class Piece(Protocol):
    """Some rows of a table; it pickles, so that a worker can read the rows where it is."""

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Arrow batches of the layout's columns, in the order of the rows."""
        ...


@dataclass(frozen=True)
class ParquetPiece:
    """Row groups of one Parquet file, ``n_rows`` rows in all."""

    path: str
    groups: tuple[int, ...]
    n_rows: int

    def batches(self, layout: Layout) -> Iterator[Any]:
        with _parquet(self.path, layout.label) as file:
            yield from file.iter_batches(
                _batch_rows(layout), list(self.groups), layout.columns, use_threads=False
            )


@dataclass(frozen=True)
class CsvPiece:
    """One CSV file."""

    path: str

    def batches(self, layout: Layout) -> Iterator[Any]:
        return csv_batches(Path(self.path), Choice(layout.features, layout.label))


@dataclass(frozen=True, eq=False)
class FramePiece:
    """A data frame in memory (one partition of a Dask frame)."""

    frame: Any

    def batches(self, layout: Layout) -> Iterator[Any]:
        import pyarrow as pa

        try:
            table = pa.Table.from_pandas(self.frame[layout.columns], preserve_index=False)
        except (pa.lib.ArrowException, TypeError, ValueError):
            raise InputError(
                "A column mixes types; make features numbers and labels text or numbers."
            ) from None
        yield from table.to_batches(max_chunksize=_batch_rows(layout))


@dataclass(frozen=True, eq=False)
class ArrayPiece:
    """Arrays in memory: X (n, d), and y (n,) or None; features are named in the layout's order."""

    X: NDArray[Any]
    y: NDArray[Any] | None

    def batches(self, layout: Layout) -> Iterator[Any]:
        import pyarrow as pa

        size = _batch_rows(layout)
        for start in range(0, self.X.shape[0], size):
            columns = [pa.array(column[start : start + size]) for column in self.X.T]
            if layout.label is not None and self.y is not None:
                columns.append(pa.array(self.y[start : start + size], from_pandas=True))
            yield pa.record_batch(columns, names=layout.columns)


def parquet_pieces(files: tuple[Path, ...]) -> tuple[ParquetPiece, ...]:
    """The row groups of all files, small neighbours joined."""
    return tuple(piece for file in files for piece in _grouped(str(file)))


def _grouped(path: str) -> Iterator[ParquetPiece]:
    with _parquet(path, None) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
    groups: list[int] = []
    rows = 0
    for group, size in enumerate(sizes):
        if groups and rows + size > _PIECE_ROWS:
            yield ParquetPiece(path, tuple(groups), rows)
            groups, rows = [], 0
        groups.append(group)
        rows += size
    if rows:
        yield ParquetPiece(path, tuple(groups), rows)


def features_of(piece: Piece, layout: Layout, rows: Integers) -> Floats:
    """The features of some rows of a piece, by ascending numbers within it."""
    features = Layout(layout.features, None)
    found, start = [np.empty((0, len(layout.features)))], 0
    for batch in piece.batches(features):
        first, last = np.searchsorted(rows, (start, start + batch.num_rows))
        if last > first:
            found.append(features.matrix(batch.take(rows[first:last] - start)))
        start += batch.num_rows
    return np.concatenate(found)


def _batch_rows(layout: Layout) -> int:
    return max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(len(layout.columns), 1)))


@contextmanager
def _parquet(path: str, label: str | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # Text labels stay dictionary codes, which is how Parquet stores them.
        coded = [] if label is None else [label]
        with parquet.ParquetFile(
            path, read_dictionary=coded, buffer_size=_BUFFER_BYTES, pre_buffer=False
        ) as file:
            yield file
    except (pa.lib.ArrowException, OSError, ValueError, LookupError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path} is not a readable Parquet file; it may be cut off, damaged, encrypted, "
            "or out of this machine's reach."
        ) from None
