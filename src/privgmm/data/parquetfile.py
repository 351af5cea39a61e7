"""Parquet files, read by pyarrow: names, types and row counts from the metadata, rows by row groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privgmm.data.labels import check_label_type
from privgmm.data.names import check_names
from privgmm.data.table import Layout
from privgmm.data.validate import number_type, refuse_text
from privgmm.errors import InputError

# Rows of one batch, enough to make Python's overhead negligible, and a bound on its cells for tables of many columns.
_BATCH_ROWS = 1 << 16
_BATCH_CELLS = 1 << 22
# Small row groups are read together up to this many rows, so that a piece is enough work for a thread or a worker.
_PIECE_ROWS = 1 << 20
# Column chunks are read through a buffer of this size, however large the row group is.
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True)
class ParquetPiece:
    """Row groups of one Parquet file, ``n_rows`` rows in all."""

    path: str
    groups: tuple[int, ...]
    n_rows: int
    data: bytes | None = field(default=None, repr=False)

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Record batches of the layout's columns with the types of the file."""
        with _opened(self.path, layout.label, self.data) as file:
            yield from file.iter_batches(
                batch_rows(layout), list(self.groups), layout.columns, use_threads=False
            )


@dataclass(frozen=True)
class ParquetFile:
    """What the metadata of one file say: names, their Arrow types, and the rows of each group."""

    path: str
    names: tuple[str, ...]
    types: tuple[Any, ...]
    groups: tuple[int, ...]
    # What was read from standard input, of which ``path`` is only a name.
    data: bytes | None = field(default=None, repr=False)

    def check_types(self, layout: Layout) -> Any:
        """Refuse columns of the wrong type from the schema alone; returns the label's type."""
        types = dict(zip(self.names, self.types, strict=True))
        refuse_text([n for n in layout.numbers if not number_type(types[n])], self.path)
        for name in layout.categories:
            check_label_type(types[name], name, self.path)
        if layout.label is None:
            return None
        check_label_type(types[layout.label], layout.label, self.path)
        return types[layout.label]

    def pieces(self) -> Iterator[ParquetPiece]:
        """The row groups, small neighbours joined."""
        joined: list[int] = []
        rows = 0
        for group, size in enumerate(self.groups):
            if joined and rows + size > _PIECE_ROWS:
                yield ParquetPiece(self.path, tuple(joined), rows, self.data)
                joined, rows = [], 0
            joined.append(group)
            rows += size
        if rows:
            yield ParquetPiece(self.path, tuple(joined), rows, self.data)


def open_parquet(path: Path, data: bytes | None = None) -> ParquetFile:
    """Read the metadata; no row is read."""
    with _opened(str(path), None, data) as file:
        names = check_names(file.schema_arrow.names, str(path))
        types = tuple(file.schema_arrow.types)
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
    return ParquetFile(str(path), names, types, tuple(sizes), data)


def batch_rows(layout: Layout) -> int:
    """Rows per batch, so that one batch of all its columns stays small."""
    return max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(len(layout.columns), 1)))


@contextmanager
def _opened(path: str, label: str | None, data: bytes | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # Text labels stay dictionary codes, which is how Parquet stores them.
        coded = [] if label is None else [label]
        with parquet.ParquetFile(
            path if data is None else pa.BufferReader(data),
            read_dictionary=coded,
            buffer_size=_BUFFER_BYTES,
            pre_buffer=False,
        ) as file:
            yield file
    except (pa.lib.ArrowException, OSError, ValueError, LookupError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path} is not a readable Parquet file; it may be cut off, damaged, encrypted, "
            "or out of this machine's reach."
        ) from None
