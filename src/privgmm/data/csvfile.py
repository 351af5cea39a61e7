"""CSV files, read by pyarrow. Its error messages quote cells, so none of them is passed on."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from privgmm.data.names import check_names, counted, looks_like_data, shown
from privgmm.data.table import Layout
from privgmm.data.textfile import COMMAS, CsvOptions, bytes_of, named, separator_in, text_of
from privgmm.data.validate import refuse_text
from privgmm.errors import InputError

# Bytes per block. A block must hold the longest line, so it grows with the header.
_BLOCK = 1 << 22
_LINE_TO_HEADER = 16
_LONGEST_HEADER = 1 << 26
# How Python marks bytes that are invalid in the encoding.
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"


@dataclass(frozen=True)
class CsvFile:
    """One CSV file whose header was read: column names, and whether any line follows them."""

    path: str
    names: tuple[str, ...]
    has_rows: bool
    options: CsvOptions = COMMAS
    # What was read from standard input, of which ``path`` is only a name.
    data: bytes | None = field(default=None, repr=False)

    @property
    def source(self) -> str | bytes:
        """The path, or the bytes that came from standard input."""
        return self.path if self.data is None else self.data

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Record batches of the layout's columns: features as float64, the label as text.

        A layout that drops bad rows reads a cell that is no number as a missing one, each cell by
        itself; lines of another length and files that are no CSV are refused all the same.
        """
        import pyarrow as pa

        if not self.has_rows:
            return
        lenient = layout.drop_bad
        types = dict.fromkeys(layout.numbers, pa.string() if lenient else pa.float64())
        types |= dict.fromkeys(layout.categories, pa.string())
        try:
            for batch in self._stream(layout, types, check_utf8=not lenient):
                yield self._with_numbers(batch, layout.numbers) if lenient else batch
        except _failures():
            pass
        else:
            return
        # Raised outside the except block above: inside it the exception would carry Arrow's own, and the
        # cell that Arrow quotes, into every traceback.
        ragged = self._ragged_lines()
        if ragged:
            raise InputError(
                f"{self.path} has {counted(ragged, 'line')} whose number of cells is not {len(self.names)}, the "
                "number of its columns; repair or remove what does not fit."
            )
        if not lenient:
            texts = self.text_columns(layout.numbers)
            self.propose_decimals(texts)
            refuse_text(texts, self.path)
        raise _unreadable(self.path, self.options)

    def _stream(
        self, layout: Layout, types: dict[str, Any], check_utf8: bool = True
    ) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        width = sum(len(name) + 1 for name in self.names)
        # Labels and ids are texts: what they stand for is never guessed.
        types = types | dict.fromkeys(layout.columns[len(layout.features) :], pa.string())
        with (
            bytes_of(self.source) as stream,
            arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(
                    block_size=max(_BLOCK, _LINE_TO_HEADER * width),
                    # Arrow's own name for UTF-8: Arrow then reads the bytes without translating them.
                    encoding="utf8" if self.options.utf8 else self.options.encoding,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.options.separator,
                    newlines_in_values=True,
                    # In a file of one column an empty line is a missing cell, not decoration.
                    ignore_empty_lines=len(self.names) > 1,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=layout.columns,
                    column_types=types,
                    check_utf8=check_utf8,
                    decimal_point=self.options.decimal,
                    # An unquoted NA is missing, as R and pandas write it; a quoted "NA" is a class.
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            ) as reader,
        ):
            yield from reader

    def _ragged_lines(self) -> int:
        """How many lines have another number of cells than the header (a second, slower pass).

        Arrow could count them on the way, but prints a traceback when such a line is not UTF-8.
        """
        with _text(self.source, self.path, self.options) as text:
            try:
                rows = csv.reader(text, delimiter=self.options.separator)
                return sum(len(row) != len(self.names) for row in rows if row)
            except csv.Error:
                return 0  # a cell is too long for this reader; the caller says what else is wrong

    def text_columns(self, features: tuple[str, ...]) -> list[str]:
        """Which of these columns hold cells that are not numbers (one more pass, slower than reading)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found: set[str] = set()
        layout, types = Layout(features, None), dict.fromkeys(features, pa.string())
        try:
            for batch in self._stream(layout, types) if self.has_rows else ():
                for j, name in enumerate(features):
                    try:
                        texts = self._pointed(pc.utf8_trim_whitespace(batch.column(j)))
                        pc.cast(texts, pa.float64())
                    except _failures():
                        found.add(name)
        except _failures():
            pass  # unreadable for another reason, which the caller reports
        return [name for name in features if name in found]

    def propose_decimals(self, texts: list[str]) -> None:
        """Refuse columns that would be numbers with a decimal comma, and say so."""
        if not texts or self.options.decimal == "," or self.options.separator == ",":
            return
        commas = replace(self, options=replace(self.options, decimal=","))
        numbers = [name for name in texts if name not in commas.text_columns(tuple(texts))]
        if numbers:
            raise InputError(
                f"{self.path} writes the numbers of {shown(numbers)} with decimal commas; "
                "give --decimal ','."
            )

    def _pointed(self, texts: Any) -> Any:
        """The texts with decimal points; in a file with decimal commas a text that contains a point is no number."""
        import pyarrow.compute as pc

        if self.options.decimal == ".":
            return texts
        return pc.replace_substring(pc.replace_substring(texts, ".", "x"), ",", ".")

    def _with_numbers(self, batch: Any, names: tuple[str, ...]) -> Any:
        """The batch with these columns, which were read as texts, converted to numbers."""
        import pyarrow as pa

        chosen = set(names)
        columns = [
            _numbers(self._pointed(texts)) if name in chosen else texts
            for name, texts in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.record_batch(columns, names=batch.schema.names)


def open_csv(path: Path, options: CsvOptions = COMMAS, data: bytes | None = None) -> CsvFile:
    """Read the header, once for all passes; no row is kept.

    ``data`` is what was read from standard input, of which ``path`` is only a name.
    """
    with _text(str(path) if data is None else data, str(path), options) as text:
        first = text.readline(_LONGEST_HEADER)
        lines = iter(lambda: text.readline(_LONGEST_HEADER), "")
        header = next(csv.reader(chain([first], lines), delimiter=options.separator), None)
        has_rows = any(line.strip("\r\n") for line in lines)
    # Names are not looked for further down: a line of data would be taken for them and shown.
    if not header:
        raise InputError(f"The first line of {path} is empty; write the column names there.")
    # In an encoding with other line ends (UTF-16), a file of another encoding has none, and all of its records would look like one name.
    if "\n".encode(options.encoding) != b"\n" and not first.endswith(("\n", "\r")):
        raise InputError(
            f"The first line of {path} does not end if it is read as {options.encoding}; end it, or give "
            "another --encoding."
        )
    # A quote that is not closed makes lines of data part of a name, and messages show names.
    if any("\n" in name or "\r" in name for name in header):
        raise InputError(
            f"A column name of {path} runs over several lines; close its quote or shorten the name."
        )
    other = separator_in(header, options.separator)
    if other is not None:
        raise InputError(f"{path} separates its cells by {named(other)}.")
    if any(map(_SURROGATE.search, header)):
        raise InputError(
            f"The column names of {path} are not written in {options.encoding}; give --encoding, "
            "for example --encoding cp1252, or save the file as UTF-8."
        )
    if looks_like_data(header):
        raise InputError(
            f"The first line of {path} looks like data; add a header line with column names, "
            "and start names that are numbers with a letter."
        )
    return CsvFile(str(path), check_names(header, str(path)), has_rows, options, data)


def _numbers(column: Any) -> Any:
    """Texts as float64, null where a text is no number. A cell's value is Arrow's cast of that cell alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.ascii_trim_whitespace(column)
    try:
        return texts.cast(pa.float64())
    except pa.lib.ArrowInvalid:
        pass
    plain = pc.match_substring_regex(texts.cast(pa.binary()), _PLAIN_NUMBER)
    encoded = pc.if_else(plain, None, texts).dictionary_encode()
    odd = [_number(encoded.dictionary.slice(i, 1)) for i in range(len(encoded.dictionary))]
    others = pa.array(odd, pa.float64()).take(encoded.indices)
    try:
        return pc.coalesce(pc.if_else(plain, texts, None).cast(pa.float64()), others)
    except pa.lib.ArrowInvalid:
        # Some text looks like a number and is none to Arrow, so every cell is converted by itself.
        return pa.array([_number(texts.slice(i, 1)) for i in range(len(texts))], pa.float64())


def _number(text: Any) -> float | None:
    """The one cell of an Arrow array of texts as a number, if it is one."""
    import pyarrow as pa

    try:
        value: float | None = text.cast(pa.float64())[0].as_py()
    except pa.lib.ArrowInvalid:
        return None
    return value


def _failures() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return (pa.lib.ArrowException, OSError, ValueError, LookupError, EOFError, csv.Error)


def _unreadable(path: str, options: CsvOptions) -> InputError:
    if not options.utf8:
        return InputError(
            f"{path} cannot be read as {options.encoding}; give another --encoding, or save it as UTF-8."
        )
    return InputError(
        f"{path} is not a readable CSV file; save it as UTF-8 text with commas between cells, or say "
        "how it is written with --separator and --encoding."
    )


@contextmanager
def _text(source: str | bytes, path: str, options: CsvOptions) -> Iterator[io.TextIOWrapper]:
    """The file as text; failures become one sentence."""
    try:
        with text_of(source, options.encoding) as text:
            yield text
    except _failures() as problem:
        if isinstance(problem, InputError):
            raise
        raise _unreadable(path, options) from None
