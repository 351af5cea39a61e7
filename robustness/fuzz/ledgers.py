"""Ledger files: edited byte by byte, or something else altogether."""

from __future__ import annotations

import sqlite3
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from .case import Case, Command, Family, chance, pick
from .hostile import NAMES, NUMBERS, damaged


@cache
def ledger(spent: float = 0.5) -> bytes:
    """A ledger with a total of one and one release on record."""
    from privgmm.ledger import Ledger

    with tempfile.TemporaryDirectory() as folder:
        made = Ledger.create(Path(folder) / "l.db", 1.0, 1e-5)
        made.spend_elsewhere(spent, 1e-7, "a note")
        return made.path.read_bytes()


def nearly_spent() -> bytes:
    """So little is left that every release is refused, after all other checks."""
    return ledger(0.9999)


@cache
def other_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "o.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE budget (id INTEGER, x BLOB)")
            connection.execute("INSERT INTO budget VALUES (1, zeroblob(100))")
        connection.close()
        return path.read_bytes()


def _content(rng: np.random.Generator) -> bytes:
    kind = int(rng.integers(10))
    if kind == 0:
        return pick(
            rng, (b"", b"\0", b"SQLite format 3\0", rng.bytes(300), b"{}", other_database())
        )
    if kind == 1:
        return ledger()[: int(rng.integers(len(ledger())))]
    if kind == 2:
        return ledger()
    return damaged(ledger(), rng)


def make(rng: np.random.Generator) -> Case:
    files = {"l.db": _content(rng)}
    if chance(rng, 0.1):
        files["l.db-wal"] = rng.bytes(200)
    where = ["--ledger", "l.db"]
    kind = int(rng.integers(4))
    if kind == 0:
        arguments = ["show", *where, *pick(rng, ([], ["--json"]))]
    else:
        arguments = [pick(rng, ("spend", "budget")), *where]
        arguments += ["--epsilon", _amount(rng, "0.1"), "--delta", _amount(rng, "1e-6")]
        if chance(rng, 0.3):
            arguments += ["--unit", pick(rng, ("label", "record", "person"))]
        if chance(rng, 0.3):
            arguments += ["--adjacency", pick(rng, ("replace", "add-remove", ""))]
        if arguments[0] == "spend" and chance(rng, 0.5):
            arguments += ["--note", pick(rng, NAMES)]
    # SQLite repairs, empties or keeps its log beside the ledger as it sees fit.
    may_change = ("l.db", "l.db-wal", "l.db-shm", "l.db-journal")
    return Command(("ledger", *arguments), files, changes=may_change)


def _amount(rng: np.random.Generator, usual: str) -> str:
    return usual if chance(rng, 0.6) else pick(rng, NUMBERS)


FAMILIES = (Family("ledger files", make, 2_000),)
