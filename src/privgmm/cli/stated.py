"""What the command line states about a table: its file, lists of names, bounds, a center; and ``privgmm schema``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from privgmm.cli.terminal import plain, working
from privgmm.data.parts import TableFile
from privgmm.data.textfile import CsvOptions
from privgmm.errors import InputError
from privgmm.files import check_target, whole_file
from privgmm.model.schema import like_identifier, schema_text

STANDARD_INPUT = "standard input"


def listed(text: str | None) -> list[str] | None:
    """Names separated by commas; a name with a comma of its own stands in double quotes."""
    if text is None:
        return None
    try:
        (names,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InputError(
            'Separate names by commas, and quote one that holds a comma: a,b,"c, d".'
        ) from None
    return [name.strip() for name in names]


def bounds_of(text: str | None) -> Any:
    """LO,HI for all columns, or a CSV file with the columns ``column,lo,hi``: ranges by column name."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) == 2:
        try:
            return float(parts[0]), float(parts[1])
        except ValueError:
            pass
    try:
        with open(text, newline="", encoding="utf-8") as handle:
            return {
                row["column"]: (float(row["lo"]), float(row["hi"]))
                for row in csv.DictReader(handle)
            }
    except (OSError, KeyError, TypeError, ValueError, csv.Error):
        raise InputError(
            f"{text} must be a CSV file with the columns column,lo,hi and a line for every feature; "
            "or give --bounds LO,HI."
        ) from None


def center_of(path: Path) -> list[float]:
    """The numbers of a one-row CSV file, which may have a header."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [float(cell) for cell in lines[-1].split(",")]
    except (OSError, ValueError, IndexError):
        raise InputError(f"{path} must hold one row of numbers, the center of the ball.") from None


def table_of(data: Path, separator: str, decimal: str, encoding: str) -> TableFile:
    """The table behind DATA. ``-`` stands for standard input, which is kept in memory and never written to disk."""
    options = CsvOptions(separator, decimal, encoding)
    if str(data) != "-":
        return TableFile(str(data), options)
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "Nothing is piped into standard input; name the file of the table instead of -."
        )
    return TableFile(STANDARD_INPUT, options, sys.stdin.buffer.read())


def write_schema(
    data: TableFile, label: str | None, output: Path | None, overwrite: bool = False
) -> None:
    """``privgmm schema``: names and kinds of columns, to be filled in."""
    from privgmm.data.reading import file_kinds

    if output is not None:
        check_target(output, data, overwrite=overwrite)
    with working("Reading the kinds of the columns"):
        kinds = file_kinds(data)
    if label is not None and label not in kinds:
        from privgmm.data.names import offered

        raise InputError(f"{data} has no label column {label!r}; {offered(tuple(kinds))}.")
    text = schema_text(kinds, label, Path(data).name)
    if output is None:
        print(text, end="")
        return
    with whole_file(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(
        f"Wrote {plain(output)}: the names of {len(kinds)} columns and whether they hold numbers, integers or "
        "texts, and no value. Fill in what its comments ask for."
    )
    dropped = [name for name in kinds if like_identifier(name) and name != label]
    if dropped:
        print(f"Left out, being named like identifiers: {', '.join(map(plain, dropped))}.")
