"""Malformed CSV: through the readers, and through the commands that take a table."""

from __future__ import annotations

import gzip

import numpy as np

from .case import SECRET_NUMBER, SECRET_TEXT, Call, Case, Command, Family, chance, pick
from .documents import document
from .hostile import NAMES, cell, damaged, number, ordinary
from .ledgers import nearly_spent


def table(rng: np.random.Generator) -> list[list[str]]:
    """A header and 0 to 14 rows: one to three features and a label."""
    d = int(rng.integers(1, 4))
    names = [*("ab", "bc", "cd")[: d - 1], "x", "cls"] if chance(rng, 0.1) else [*"abc"[:d], "cls"]
    n = pick(rng, (0, 1, 2, 5, 14, 20, 30))
    cell_of = ordinary if chance(rng, 0.4) else number
    rows = [[cell_of(rng) for _ in names[1:]] + [pick(rng, ("u", "v"))] for _ in range(n)]
    return [list(names), *rows]


def csv_bytes(rng: np.random.Generator) -> bytes:
    rows = table(rng)
    for _ in range(pick(rng, (0, 0, 1, 1, 2, 3))):
        _spoil(rows, rng)
    newline = pick(rng, ("\n", "\n", "\n", "\r\n", "\r", "\n\r", "\n\n"))
    text = newline.join(",".join(row) for row in rows) + pick(rng, (newline, "", " ", newline * 3))
    if chance(rng, 0.1):
        text = text.replace(",", pick(rng, (";", "\t", "|", ", ", ",,")))
    if chance(rng, 0.1):
        text = pick(rng, ("\ufeff", "\n", "#", "sep=,\n", '"', " ", "\0", "\ufeff\ufeff")) + text
    coding = pick(
        rng, ("utf-8",) * 12 + ("utf-16", "utf-16-le", "latin-1", "utf-32", "utf-7", "cp037")
    )
    data = text.encode(coding, "replace")
    if chance(rng, 0.15):
        data = damaged(data, rng)
    return data


def _spoil(rows: list[list[str]], rng: np.random.Generator) -> None:
    i, j = int(rng.integers(len(rows))), int(rng.integers(len(rows[0]) or 1))
    row, kind = rows[i], int(rng.integers(12))
    if kind <= 3 and j < len(row) and i > 0:
        row[j] = cell(rng)
    elif kind == 4:
        row.append(SECRET_TEXT if i else pick(rng, NAMES))
    elif kind == 5 and row:
        row.pop()
    elif kind == 6 and j < len(row) and i > 0:
        row[j] = pick(rng, ('"', f'"{SECRET_TEXT}', f'{SECRET_TEXT}"', '""', f'"{SECRET_TEXT}\n1"'))
    elif kind == 7 and rows[0]:
        rows[0][j % len(rows[0])] = pick(rng, (*NAMES, rows[0][0], '"', '"a'))
    elif kind == 8 and j < len(row) and i > 0:
        row[j] = SECRET_TEXT * pick(rng, (10, 7_000, 20_000))
    elif kind == 9 and len(rows) > 1 and any(c[:1].isdigit() for c in rows[1]):
        # No header: the first record stands in its place. One without any number looks like names,
        # and then they are taken for names and shown (docs/known-limits.md).
        del rows[0]
    elif kind == 10:
        rows.insert(i, [] if chance(rng, 0.5) else [SECRET_NUMBER])
    elif kind == 11 and len(rows) > 2:
        rows[-1] = list(rows[0])


def _name(rng: np.random.Generator) -> str:
    return pick(rng, ("t.csv",) * 8 + ("t", "t.CSV", "t.txt", "t.parquet", "t.csv.gz"))


def read(rng: np.random.Generator) -> Case:
    """Whole and in batches: both give the same rows, or both refuse."""
    name, data = _name(rng), csv_bytes(rng)
    if name.endswith(".gz") and chance(rng, 0.8):
        data = gzip.compress(data, mtime=0)
        data = damaged(data, rng) if chance(rng, 0.3) else data
    label = pick(rng, ("cls", "cls", "cls", None, "zz", "a"))
    columns = pick(rng, (None, None, ["a"], ["a", "a"], [], ["cls"], ["b", "a"]))
    return Call(lambda: agree(name, columns, label), "open_rows", {name: data})


def agree(name: str, columns: list[str] | None, label: str | None) -> None:
    from privgmm.data.opening import open_rows
    from privgmm.errors import InputError

    asked = {"columns": columns, "label": label, "n_components": 1 if label is None else None}
    try:
        whole = open_rows(name, **asked, in_memory=1 << 40)
    except InputError:
        try:
            open_rows(name, **asked).loaded("The fuzz")
        except InputError:
            raise
        raise AssertionError("read in passes what cannot be read whole") from None
    passes = open_rows(name, **asked).loaded("The fuzz")
    assert passes.classes == whole.classes
    assert np.array_equal(passes.source.X, whole.source.X)
    assert np.array_equal(passes.source.codes, whole.source.codes)
    assert np.isfinite(whole.source.X).all()


def release(rng: np.random.Generator) -> Case:
    """The paper's method is quick and a spent ledger refuses late: most inputs cost little."""
    name, data = _name(rng), csv_bytes(rng)
    files, options = {name: data}, ["--epsilon", "1", "--delta", "1e-5"]
    options += ["--label", pick(rng, ("cls",) * 6 + ("a", "zz"))]
    if chance(rng, 0.1):
        # The labels become the class list, which is published: they are no secret then.
        files = {name: data.replace(SECRET_TEXT.encode(), b"w")}
    else:
        options += ["--classes", pick(rng, ("u,v",) * 5 + ("u", "u,v,w", "1,2", "v,u"))]
    if chance(rng, 0.2):
        options += ["--columns", pick(rng, ("a", "a,b", "b,a", "a,a", "", ",", "zz"))]
    if chance(rng, 0.2):
        options += ["--preprocess", pick(rng, ("standardise", "log:9", "pca:1", "log"))]
    unit = pick(rng, ("label", "record"))
    options += ["--unit", unit] + (["--bounds=-50,50"] if unit == "record" else [])
    if chance(rng, 0.5):
        options += ["--mechanism", "published"]
    else:
        files["l.db"] = nearly_spent()
        options += ["--ledger", "l.db"]
    options += ["-o", "r.json"]
    return Command(("release", name, *options), files, ("r.json",), ("l.db",), None, _terminal(rng))


def reference(rng: np.random.Generator) -> Case:
    """The private table beside a finished release."""
    files = {"r.json": document("two"), "t.csv": csv_bytes(rng)}
    arguments = ("report", "r.json", "--reference", "t.csv", "--label", "cls", "-o", "p.html")
    return Command(arguments, files, ("p.html",), encoding=_terminal(rng))


def _terminal(rng: np.random.Generator) -> str:
    return "ascii" if chance(rng, 0.05) else "utf-8"


FAMILIES = (
    Family("csv readers", read, 16_000),
    Family("csv release", release, 5_000),
    Family("csv reference", reference, 600),
)
