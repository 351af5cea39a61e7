"""Synthetic rows as a table, or to a file in constant memory: batches are drawn side by side and written in order.

A spreadsheet (.xlsx) has one sheet with names in its first row; every cell is a value and never a formula.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from privgmm.checks import checked_count, checked_seed
from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.mixture import Mixture
from privgmm.releases.conditions import Conditions, conditions
from privgmm.releases.release import Release
from privgmm.types import Codes, Floats

# One batch is one row group; its size in bytes bounds the memory whatever the number of columns.
_BATCH_ROWS = 1 << 18
_BATCH_BYTES = 1 << 25
# The most rows and columns that a sheet can hold, after one row of names.
MOST_ROWS = (1 << 20) - 1
MOST_COLUMNS = 1 << 14
_LONGEST_TEXT = 32_767
# Characters that XML, and so a sheet, cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_rows(
    release: Release,
    n: int,
    path: Path,
    kind: str,
    per_class: bool,
    seed: int | None,
    progress: Callable[[int], None] | None = None,
    given: Mapping[str, Any] | None = None,
) -> None:
    """Write n rows (n per class if ``per_class``) as ``.csv`` or ``.parquet``, under the conditions ``given``.

    ``progress`` is called with the number of rows of each batch. A seed gives the same rows on any machine
    of the same NumPy: every batch has its own stream, whichever thread draws it.
    """
    import pyarrow as pa

    wanted = conditions(release, given)
    schema = _schema(release)
    with _writer(path, kind, schema, release.label_name) as writer:
        for X, codes in _batches(release, n, per_class, seed, wanted):
            writer.write(pa.record_batch(_arrays(release, X, codes), schema=schema))
            if progress is not None:
                progress(codes.size)


def table(
    release: Release, n: int, seed: int | None = None, given: Mapping[str, Any] | None = None
) -> Any:
    """n rows as a ``pyarrow.Table``, under the conditions ``given``."""
    import pyarrow as pa

    wanted, schema = conditions(release, given), _schema(release)
    parts = _batches(release, checked_count(n), False, seed, wanted)
    batches = [pa.record_batch(_arrays(release, X, codes), schema=schema) for X, codes in parts]
    return pa.Table.from_batches(batches, schema)


def _schema(release: Release) -> Any:
    import pyarrow as pa

    types = {column.name: _type(column) for column in release.columns}
    types[release.label_name] = pa.array(_plain(release.mixture)).type
    return pa.schema([(name, types[name]) for name in release.order])


def _type(column: Column) -> Any:
    import pyarrow as pa

    if column.type == "category":
        return pa.string()
    return pa.int64() if column.type == "integer" else pa.float64()


def _arrays(release: Release, X: Floats, codes: Codes) -> list[Any]:
    """The rows as Arrow arrays, in the input's order."""
    import pyarrow as pa

    found = {release.label_name: pa.array(_plain(release.mixture)).take(pa.array(codes))}
    for j, column in enumerate(release.columns):
        cells = np.ascontiguousarray(X[:, j])
        absent = np.isnan(cells) if column.missing else None
        if column.type == "number":
            found[column.name] = pa.array(cells, mask=absent)
            continue
        whole = np.where(np.isnan(cells), 0, cells).astype(np.int64)
        array = pa.array(whole, mask=absent)
        if column.type == "category":
            array = pa.array(column.levels, pa.string()).take(array)
        found[column.name] = array
    return [found[name] for name in release.order]


def _plain(mixture: Mixture) -> list[Any]:
    """Class names of one type; a column cannot hold both text and numbers, so those become text."""
    one_type = mixture.class_array.dtype != object
    return list(mixture.classes) if one_type else [str(name) for name in mixture.classes]


def _writer(path: Path, kind: str, schema: Any, label: str) -> Any:
    from pyarrow import csv, parquet

    if kind == ".csv":
        return csv.CSVWriter(str(path), schema)
    if kind == ".xlsx":
        return SheetWriter(path, schema.names)
    # Random numbers neither compress nor repeat, so trying would cost time and save nothing.
    packing = {name: "snappy" if name == label else "none" for name in schema.names}
    return parquet.ParquetWriter(str(path), schema, compression=packing, use_dictionary=[label])


def _batches(
    release: Release, n: int, per_class: bool, seed: int | None, wanted: Conditions | None
) -> Iterator[tuple[Floats, Codes]]:
    """((rows, c) numbers, (rows,) codes) of each batch, in order; a few are drawn ahead."""
    mixture = release.mixture
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // (8 * mixture.dim)))
    # With per_class a batch holds rows of every class, so it has fewer rows of each.
    share = max(1, rows // mixture.n_classes) if per_class else rows
    root = np.random.SeedSequence(checked_seed(seed))
    sizes = (min(share, n - start) for start in range(0, n, share))
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    ahead: deque[Future[tuple[Floats, Codes]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for size in sizes:
            ahead.append(pool.submit(_draw, release, size, per_class, root.spawn(1)[0], wanted))
            if len(ahead) > workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _draw(
    release: Release,
    size: int,
    per_class: bool,
    stream: np.random.SeedSequence,
    wanted: Conditions | None,
) -> tuple[Floats, Codes]:
    rng = np.random.default_rng(stream)
    return release.draw(size, per_class, rng) if wanted is None else wanted.draw(size, rng)


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
        """A cell whose text stays a text: openpyxl would take one that begins with = for a formula."""
        if not isinstance(value, str):
            return value
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet, _FORBIDDEN.sub("\ufffd", value)[:_LONGEST_TEXT])
        cell.data_type = "s"
        return cell
