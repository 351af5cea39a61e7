"""The table that a command reads: a path and how the file is written, or what comes from a pipe."""

from __future__ import annotations

import sys
from pathlib import Path

from privgmm.data.parts import TableFile
from privgmm.data.textfile import CsvOptions
from privgmm.errors import InputError

STANDARD_INPUT = "standard input"


def table(data: Path, separator: str, decimal: str, encoding: str) -> TableFile:
    """The table behind DATA; of ``-`` all of standard input, which is kept in memory and never written down."""
    options = CsvOptions(separator, decimal, encoding)
    if str(data) != "-":
        return TableFile(str(data), options)
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "Nothing is piped into standard input; name the file of the table instead of -."
        )
    return TableFile(STANDARD_INPUT, options, sys.stdin.buffer.read())
