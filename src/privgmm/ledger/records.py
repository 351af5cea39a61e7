"""What stands in a ledger: budgets and releases, read and written inside a transaction."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from privgmm.ledger.composition import Cost, Relation

_LONGEST_NOTE = 500


@dataclass(frozen=True)
class Budget:
    """The total in force. ``relation`` is None until it is stated or a first release fixes it."""

    relation: Relation | None
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Spend:
    """One release as it was written down; ``cost`` is under the ledger's own relation."""

    number: int
    at: str
    kind: str
    relation: Relation | None
    epsilon: float
    delta: float
    note: str
    cost: Cost


def write_budget(connection: sqlite3.Connection, budget: Budget) -> None:
    _append(connection, "budget", (_now(), budget.relation, budget.epsilon, budget.delta))


def read_budget(connection: sqlite3.Connection) -> Budget | None:
    rows = _sealed(connection, "budget")
    return Budget(*rows[-1][2:]) if rows else None


def write_spend(
    connection: sqlite3.Connection,
    kind: str,
    relation: Relation | None,
    epsilon: float,
    delta: float,
    note: str,
    cost: Cost,
) -> Spend:
    text = note.encode("utf-8", "replace").decode()[:_LONGEST_NOTE]
    row = (_now(), kind, relation, epsilon, delta, text)
    number = _append(connection, "spend", (*row, cost.mu, cost.epsilon, cost.delta, cost.distance))
    return Spend(number, *row, cost)


def read_spends(connection: sqlite3.Connection) -> list[Spend]:
    """In the order of writing: row numbers only grow, whatever the clock does."""
    return [
        Spend(number, at, kind, relation, epsilon, delta, note, Cost(*cost))
        for number, at, kind, relation, epsilon, delta, note, *cost in _sealed(connection, "spend")
    ]


def _append(connection: sqlite3.Connection, table: str, values: tuple[Any, ...]) -> int:
    rows = _sealed(connection, table)
    number = rows[-1][0] + 1 if rows else 1
    # Numbers are stored as the floats they are compared as.
    row = (number, *(float(v) if isinstance(v, int) else v for v in values))
    marks = ", ".join("?" * (len(row) + 1))
    connection.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, _seal(row)))
    return int(number)


def _sealed(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """All rows, without their seals; a row that was damaged or lost in the middle is refused.

    SQLite checks its pages' structure, not their content: a flipped bit could make a cost smaller.
    """
    rows = []
    for number, found in enumerate(connection.execute(f"SELECT * FROM {table} ORDER BY id"), 1):
        *row, seal = found
        if row[0] != number or seal != _seal(tuple(row)):
            raise sqlite3.DatabaseError(f"row {number} of {table} is damaged")
        rows.append(tuple(row))
    return rows


def _seal(row: tuple[Any, ...]) -> str:
    # A flipped bit can also turn a number or a text into bytes, which JSON cannot hold.
    return hashlib.sha256(json.dumps(row, default=repr).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
