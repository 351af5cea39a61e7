"""CSV through pyarrow. Its own errors quote cells, so none of its messages is passed on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privgmm.errors import InputError
from privgmm.frames.names import Choice, check_names, looks_like_data
from privgmm.frames.screen import refuse_text

# Bytes per block. One must hold the longest line, so it grows with the header.
_BLOCK = 1 << 22
_LINE_TO_HEADER = 16
_LONGEST_HEADER = 1 << 26


def csv_names(path: Path) -> tuple[str, ...]:
    """The names in the header line; only that line is read."""
    return _header(path)[0]


def csv_batches(path: Path, choice: Choice) -> Iterator[Any]:
    """Record batches of the chosen columns: features as float64, the label as text."""
    import pyarrow as pa

    names, has_rows = _header(path)
    if not has_rows:
        return
    types = {name: pa.float64() for name in choice.features}
    try:
        yield from _stream(path, choice, types, names)
    except _failures():
        pass
    else:
        return
    # Outside the block above: an exception raised inside it would carry Arrow's, and the cell that
    # Arrow quotes, into every traceback.
    ragged = _ragged_lines(path, len(names))
    if ragged:
        raise InputError(
            f"{path} has {ragged} lines whose number of cells is not {len(names)}, the number "
            "of its columns; repair or remove those lines."
        )
    refuse_text(_text_columns(path, choice, names), str(path))
    raise InputError(
        f"{path} is not a readable CSV file; save it as UTF-8 text with commas between cells."
    )


def csv_labels(path: Path, label: str) -> set[str]:
    """The distinct texts of the label column."""
    only = Choice((), label)
    found: set[str] = set()
    for batch in csv_batches(path, only):
        found.update(value for value in batch.column(0).unique().to_pylist() if value is not None)
    return found


def _stream(
    path: Path, choice: Choice, types: dict[str, Any], names: tuple[str, ...]
) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    width = sum(len(name) + 1 for name in names)
    included = [*choice.features] + ([choice.label] if choice.label is not None else [])
    if choice.label is not None:
        types = {**types, choice.label: pa.string()}
    with arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=max(_BLOCK, _LINE_TO_HEADER * width)),
        parse_options=arrow_csv.ParseOptions(
            newlines_in_values=True,
            # In a file of one column an empty line is a missing cell, not decoration.
            ignore_empty_lines=len(names) > 1,
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=included,
            column_types=types,
            # An unquoted NA is missing, as R and pandas write it; a quoted "NA" is a class.
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    ) as reader:
        yield from reader


def _ragged_lines(path: Path, n_columns: int) -> int:
    """How many lines have another number of cells than the header (a second, slower pass).

    Arrow could count them on the way, but prints a traceback when such a line is not UTF-8.
    """
    with _text(path) as text:
        try:
            return sum(len(row) != n_columns for row in csv.reader(text) if row)
        except csv.Error:
            return 0  # a cell too long for this reader; the caller says what else is wrong


def _text_columns(path: Path, choice: Choice, names: tuple[str, ...]) -> list[str]:
    """Which chosen features hold cells that are not numbers (a second, slower pass)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = {name: pa.string() for name in choice.features}
    found: set[str] = set()
    try:
        for batch in _stream(path, choice, types, names):
            # The columns come in the order in which _stream includes them: features first.
            for j, name in enumerate(choice.features):
                try:
                    pc.cast(pc.utf8_trim_whitespace(batch.column(j)), pa.float64())
                except _failures():
                    found.add(name)
    except _failures():
        pass  # unreadable for another reason, which the caller reports
    return [name for name in choice.features if name in found]


def _failures() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return (pa.lib.ArrowException, OSError, ValueError, LookupError, EOFError, csv.Error)


def _header(path: Path) -> tuple[tuple[str, ...], bool]:
    """Names in the header, and whether any line follows."""
    with _text(path) as text:
        rows = csv.reader(iter(lambda: text.readline(_LONGEST_HEADER), ""))
        header = next(rows, None)
        has_rows = next((True for row in rows if row), False)
    # No searching for names further down: a line of data would be taken for them and shown.
    if not header:
        raise InputError(f"The first line of {path} is empty; write the column names there.")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise InputError(
            f"{path} separates its cells by semicolons, tabs or bars; "
            "save it with commas between cells."
        )
    # An unclosed quote takes lines of data into a name, which messages would then show.
    if any("\n" in name or "\r" in name for name in header):
        raise InputError(
            f"A column name of {path} runs over several lines; close its quote or shorten the name."
        )
    if looks_like_data(header):
        raise InputError(
            f"The first line of {path} looks like data; add a header line with column names, "
            "and start names that are numbers with a letter."
        )
    return check_names(header, str(path)), has_rows


@contextmanager
def _text(path: Path) -> Iterator[io.TextIOWrapper]:
    """The file as text (gzip unpacked by its name); failures become one sentence."""
    import pyarrow as pa

    try:
        with pa.input_stream(path) as stream:
            # surrogateescape: bytes that are not UTF-8 matter only in the columns that are read.
            yield io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    except _failures() as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path} is not a readable CSV file; save it as UTF-8 text with commas between cells."
        ) from None
