"""Tables as people have them, spoiled: spreadsheets, semicolons and decimal commas, encodings, years as names, schemas."""

from __future__ import annotations

import datetime
import gzip
import io
from functools import cache
from typing import Any

import numpy as np

from .case import SECRET_NUMBER, SECRET_TEXT, Call, Case, Command, Family, chance, pick
from .documents import document
from .hostile import NAMES, NUMBERS, damaged
from .ledgers import nearly_spent

_SECRET = 8675309.4242
_HEADERS = (
    ("a", "b"), ("2015", "2018"), ("1999", "2003", "2004"), ("Größe (cm)", "Gewicht, kg"), ("a", "patient id"),
    ("rowid", "b"), ("a", "b; c"), ("a|b", "c"), ("Unnamed: 0", "b"), ("a ", " b"),
)  # fmt: skip
_ENCODINGS = ("utf-8",) * 4 + ("utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "cp037")
_CELLS: tuple[Any, ...] = (
    None, "", "NA", "n/a", " 1.5 ", "1,5", "1.234,5", "=1+1", "#DIV/0!", True, False, 10**30, -0.0, 1e308,
    _SECRET, SECRET_TEXT, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12), "½", "\u200b",
    "1_000", "０", "x" * 30_000, datetime.time(3), datetime.timedelta(days=2),
)  # fmt: skip
_UNITS = (["--unit", "label"], ["--unit", "record", "--bounds=-50,50"])


def _numbers(rng: np.random.Generator, decimal: str) -> str:
    roll = rng.random()
    if roll < 0.9:
        return f"{rng.normal() * 10:.3f}".replace(".", decimal)
    if roll < 0.94:
        return SECRET_NUMBER.replace(".", decimal)
    return str(pick(rng, ("NA", "", "?", "1.234,5", "-", pick(rng, NUMBERS))))


def text_table(rng: np.random.Generator) -> tuple[bytes, list[str], list[str]]:
    """Bytes of a text file, its feature names, and the options with which it is read: often the right ones."""
    separator, decimal = pick(rng, ((";", ","), (";", "."), ("\t", "."), ("|", ","), (",", ".")))
    names = list(pick(rng, _HEADERS))
    if chance(rng, 0.1):
        names[0] = str(pick(rng, NAMES))[:200]
    quoted = [f'"{n}"' if separator in n and chance(rng, 0.8) else n for n in (*names, "cls")]
    lines = [separator.join(quoted)]
    for _ in range(pick(rng, (0, 1, 5, 20, 30))):
        cells = [_numbers(rng, decimal) for _ in names] + [pick(rng, ("u", "v", "v", "ü"))]
        lines.append(separator.join(cells + [SECRET_TEXT] * chance(rng, 0.01)))
    encoding = pick(rng, _ENCODINGS)
    data = (pick(rng, ("\n", "\r\n")).join(lines) + "\n").encode(encoding, "replace")
    options = (
        [] if chance(rng, 0.15) else ["--separator", "tab" if separator == "\t" else separator]
    )
    options += ["--decimal", decimal] if chance(rng, 0.85) else []
    if encoding != "utf-8" and chance(rng, 0.85):
        options += ["--encoding", encoding]
    if chance(rng, 0.05):
        options += [pick(rng, ("--separator", "--decimal", "--encoding")), pick(rng, NAMES)[:50]]
    return (damaged(data, rng) if chance(rng, 0.1) else data), names, options


def sheet(rng: np.random.Generator) -> bytes:
    """A workbook of odd cells, or one with an accident."""
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook()
    page = book.active
    page.title = pick(rng, ("Sheet1", "Tabelle 1", "x"))
    names = pick(rng, _HEADERS)
    page.append([*names, "cls"])
    for _ in range(pick(rng, (0, 1, 5, 20, 30))):
        row: list[Any] = [*(rng.normal(size=len(names)) * 10).tolist(), pick(rng, ("u", "v"))]
        if chance(rng, 0.1):
            row[int(rng.integers(len(row)))] = pick(rng, _CELLS)
        page.append(row)
    for _ in range(pick(rng, (0, 0, 1, 2))):
        spot = page.cell(int(rng.integers(1, 40)), int(rng.integers(1, 7)))
        try:
            spot.value = pick(rng, (*_CELLS, *NAMES[:40]))
        except (ValueError, IllegalCharacterError):
            spot.value = SECRET_TEXT
    if chance(rng, 0.1):
        page.merge_cells("A1:B2")
    if chance(rng, 0.1):
        book.create_sheet(pick(rng, ("a", "b")), 0)
    sink = io.BytesIO()
    book.save(sink)
    return damaged(sink.getvalue(), rng) if chance(rng, 0.2) else sink.getvalue()


_SCHEMA = """label = "cls"
classes = ["u", "v"]
[columns.a]
type = "number"
lo = -50
hi = 50
[columns.b]
type = "number"
lo = -50
hi = 50
"""


def schema(rng: np.random.Generator) -> bytes:
    """A schema file that was edited in a hurry."""
    text = _SCHEMA
    for _ in range(pick(rng, (0, 1, 1, 2, 3))):
        lines = text.splitlines()
        at = int(rng.integers(len(lines)))
        lines[at] = pick(rng, (
            "", "# " + lines[at], lines[at] * 2, 'type = "drop"', 'type = "category"', "lo = 99", "hi = -99",
            "decimals = 3", "missing = true", 'levels = ["u", "v"]', 'person = "a"', 'label = "a"', "lo = nan",
            "hi = 1e400", "[columns.zz]", '[columns."2015"]', "lo = '3'", "classes = [1, 2]", "decimals = -1",
            f'label = "{pick(rng, ("a", "zz", "cls"))}"', "columns = 3", "type = 3", "]", '"',
        ))  # fmt: skip
        text = "\n".join(lines) + "\n"
    return damaged(text.encode(), rng) if chance(rng, 0.1) else text.encode()


def _release(
    rng: np.random.Generator, name: str, files: dict[str, bytes], options: list[str]
) -> Case:
    """Half by the paper's method, which is quick; half into a ledger that is nearly spent."""
    options = [*options, "--epsilon", "1", "--delta", "1e-5", "-o", "r.json"]
    if chance(rng, 0.3):
        options += ["--on-bad-row", "drop"]
    if chance(rng, 0.5):
        options += ["--mechanism", "published"]
    else:
        files = {**files, "l.db": nearly_spent()}
        options += ["--ledger", "l.db"]
    return Command(("release", name, *options), files, ("r.json",), ("l.db",))


def texts(rng: np.random.Generator) -> Case:
    """Text files in the ways of other countries, also packed."""
    data, names, options = text_table(rng)
    name = pick(rng, ("t.csv", "t.tsv", "t.txt"))
    if chance(rng, 0.2):
        name, data = name + ".gz", gzip.compress(data, mtime=0)
    if chance(rng, 0.3):
        return Command(("schema", name, *options, "-o", "s.toml"), {name: data}, ("s.toml",))
    options += ["--label", "cls", "--classes", "u,v,ü", *pick(rng, _UNITS)]
    if chance(rng, 0.5):
        options += ["--columns", ",".join(f'"{n}"' for n in names)]
    return _release(rng, name, {name: data}, options)


def sheets(rng: np.random.Generator) -> Case:
    """Spreadsheets, under their name and under others."""
    name = pick(rng, ("t.xlsx", "t.xlsx", "t.xlsm", "t.csv", "t"))
    files = {name: sheet(rng)}
    if chance(rng, 0.3):
        return Command(("schema", name, "-o", "s.toml"), files, ("s.toml",))
    options = ["--label", "cls", "--classes", "u,v", *pick(rng, _UNITS)]
    return _release(rng, name, files, options)


def schemas(rng: np.random.Generator) -> Case:
    """Schema files before the commands that read them."""
    files = {"s.toml": schema(rng), "t.csv": _plain_table()}
    if chance(rng, 0.3):
        arguments = ("plan", "--n", "20", "--unit", "label", "--epsilon", "1", "--rehearsals", "1")
        return Command((*arguments, "--schema", "s.toml"), files)
    unit = pick(
        rng, (["--unit", "label"], ["--unit", "record"], ["--unit", "record", "--radius", "9"])
    )
    return _release(rng, "t.csv", files, ["--schema", "s.toml", *unit])


def pipes(rng: np.random.Generator) -> Case:
    """What standard input would bring: bytes without a file."""
    data = sheet(rng) if chance(rng, 0.3) else text_table(rng)[0]
    separator, decimal = pick(rng, ((";", ","), (",", "."), ("\t", ".")))
    encoding = pick(rng, _ENCODINGS)
    return Call(lambda: _read_pipe(data, separator, decimal, encoding), "standard input")


def _read_pipe(data: bytes, separator: str, decimal: str, encoding: str) -> None:
    from privgmm.data.opening import open_rows
    from privgmm.data.parts import TableFile
    from privgmm.data.textfile import CsvOptions

    table = TableFile("standard input", CsvOptions(separator, decimal, encoding), data)
    rows = open_rows(table, label="cls", in_memory=1 << 40)
    assert np.isfinite(rows.source.X).all()


def samples(rng: np.random.Generator) -> Case:
    """Synthetic rows into a spreadsheet, whatever the class names are."""
    kind = pick(rng, ("two", "numbers", "booleans", "floats", "mixed", "steps"))
    n = pick(rng, ("0", "1", "7", "1048576", "99999999999"))
    arguments = ("sample", "r.json", "-n", n, "-o", "o.xlsx", "--seed", "1")
    return Command(arguments, {"r.json": document(kind)}, ("o.xlsx",))


@cache
def _plain_table() -> bytes:
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{y:.3f},{'uv'[i % 2]}" for i, (x, y) in enumerate(rng.normal(size=(20, 2)))]
    return ("a,b,cls\n" + "\n".join(lines) + "\n").encode()


FAMILIES = (
    Family("foreign text files", texts, 2_000),
    Family("spreadsheets", sheets, 1_000),
    Family("schema files", schemas, 1_000),
    Family("standard input", pipes, 1_000),
    Family("spreadsheets of samples", samples, 100),
)
