"""A text file as a stream of characters: compressed or not, on disk or from standard input, in any encoding."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from privgmm.errors import InputError

# The first bytes of compressed files, and Arrow's name of the compression.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written. Every reader of the file goes by these.

    Parameters
    ----------
    separator : the character between cells
    decimal : "." or ",": the character between whole and fraction
    encoding : how characters are stored, as Python names it
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        separator = _WORDS.get(self.separator.lower(), self.separator)
        object.__setattr__(self, "separator", separator)
        printable = separator == "\t" or (separator.isprintable() and separator.isascii())
        if len(separator) != 1 or not printable or separator in "\"'" or separator.isalnum():
            raise InputError("The separator must be one character, such as ';' or tab.")
        if self.decimal not in (".", ","):
            raise InputError("The decimal mark must be '.' or ','.")
        if self.decimal == separator:
            raise InputError("Decimal mark and separator must differ; give --separator ';' too.")
        try:
            b"".decode(self.encoding)
            name = codecs.lookup(self.encoding).name
        except (LookupError, ValueError):
            raise InputError(
                "The encoding is not known; names are, for example, utf-8, utf-16, latin-1 and cp1252."
            ) from None
        object.__setattr__(self, "encoding", name)

    @property
    def utf8(self) -> bool:
        """Whether the file is read as UTF-8."""
        return self.encoding in ("utf-8", "utf-8-sig")


COMMAS = CsvOptions()


def compression_of(start: bytes) -> str | None:
    """How a file that starts with these bytes is compressed."""
    return next((name for mark, name in _COMPRESSIONS.items() if start.startswith(mark)), None)


def bytes_of(source: str | bytes) -> Any:
    """The unpacked bytes of a file, or of what was read from standard input, as an Arrow stream."""
    import pyarrow as pa

    if isinstance(source, bytes):
        start, raw = source[:4], pa.BufferReader(source)
    else:
        with open(source, "rb") as handle:
            start = handle.read(4)
        raw = pa.OSFile(source, "rb")
    packed = compression_of(start)
    return raw if packed is None else pa.CompressedInputStream(raw, packed)


@contextmanager
def text_of(source: str | bytes, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The characters of a file. Bytes that are invalid in the encoding become surrogates and are no error here,
    because they matter only in the columns that are read."""
    decoder = "utf-8-sig" if encoding == "utf-8" else encoding
    with bytes_of(source) as stream:
        yield io.TextIOWrapper(stream, decoder, errors="surrogateescape", newline="")


def separator_in(header: Sequence[str], used: str) -> str | None:
    """Which other character seems to separate the names of a header that was split into these cells at ``used``.

    It is one that occurs in the cells more often than the header was split: "a;b, c;d" holds three names.
    """
    counts = {mark: sum(cell.count(mark) for cell in header) for mark in ";\t|," if mark != used}
    likeliest = max(counts, key=lambda mark: counts[mark])
    return likeliest if counts[likeliest] > len(header) - 1 else None


def named(separator: str) -> str:
    """A separator in words, and as one types it."""
    typed = {"\t": "tab"}.get(separator, f"'{separator}'")
    return f"{_NAMES.get(separator, separator)}; give --separator {typed}"
