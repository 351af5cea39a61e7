"""What is interrupted: commands, the file that each writes, and how to tell that it is whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privgmm import Release
from privgmm.cli import run
from privgmm.datasets import synthetic
from privgmm.ledger import Ledger

DELTA = 1e-5
_ROWS = 40
_SAMPLED = 300


@dataclass(frozen=True)
class Action:
    """A command line, run in a copy of the template folder."""

    name: str
    arguments: tuple[str, ...]
    output: str | None
    whole: Callable[[Path], object]
    # Which ledger it spends from, if any.
    ledger: str = "l.db"
    charges: bool = False


def _whole_csv(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0] == '"a","b","c"'
    assert len(lines) == _SAMPLED + 1
    np.array([line.split(",")[:2] for line in lines[1:]], dtype=float)


def _whole_parquet(path: Path) -> None:
    from pyarrow import parquet

    assert parquet.read_table(path).num_rows == _SAMPLED


def _whole_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")


_COMMON = ("--label", "c", "--classes", "x,y", "--epsilon", "1", "--delta", str(DELTA))
_RELEASE = (*_COMMON, "--overwrite", "-o", "out.json", "--ledger")
_RECORDS = (*_RELEASE, "l.db", "--unit", "record", "--radius", "25")
_SAMPLE = ("sample", "r.json", "-n", str(_SAMPLED), "--overwrite", "-o")
ACTIONS = (
    Action("release", ("release", "t.csv", *_RECORDS), "out.json", Release.load, charges=True),
    Action("release parquet", ("release", "t.parquet", *_RECORDS), "out.json", Release.load, charges=True),
    Action("release labels", ("release", "t.csv", *_RELEASE, "k.db", "--unit", "label"), "out.json", Release.load, "k.db", charges=True),
    Action("spend", ("ledger", "spend", "--ledger", "l.db", "--epsilon", "0.01", "--delta", "0"), None, Ledger.open, charges=True),
    Action("budget", ("ledger", "budget", "--ledger", "n.db", "--epsilon", "1", "--delta", str(DELTA)), "n.db", Ledger.open, "n.db"),
    Action("sample csv", (*_SAMPLE, "s.csv"), "s.csv", _whole_csv),
    Action("sample parquet", (*_SAMPLE, "s.parquet"), "s.parquet", _whole_parquet),
    Action("report", ("report", "r.json", "--overwrite", "-o", "page.html"), "page.html", _whole_page),
    Action(
        "report inside",
        ("report", "r.json", "--overwrite", "-o", "inside.html", "--reference", "t.csv"),
        "inside.html",
        _whole_page,
    ),
)  # fmt: skip


def template(folder: Path) -> None:
    """A private table in two formats, two ledgers on which three releases stand, and one release."""
    X, y = synthetic(_ROWS, 2, 2, seed=0)
    lines = [f"{a!r},{b!r},{'xy'[k]}" for (a, b), k in zip(X.tolist(), y, strict=True)]
    (folder / "t.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv(folder / "t.csv"), folder / "t.parquet")
    for name, unit in (("l.db", "record"), ("k.db", "label")):
        ledger = Ledger.create(folder / name, 10.0, 1e-3, unit)
        for number in range(3):
            ledger.spend(0.01, 0.05, DELTA, unit, note=f"earlier {number}")
    columns = [*_COMMON, "--unit", "record", "--radius", "25"]
    assert run(["release", str(folder / "t.csv"), *columns, "-o", str(folder / "r.json")]) == 0


def secrets(folder: Path) -> list[bytes]:
    """Every private number of the table as it is written there; none may appear elsewhere."""
    lines = (folder / "t.csv").read_bytes().split()[1:]
    return [cell for line in lines for cell in line.split(b",")[:2]]
