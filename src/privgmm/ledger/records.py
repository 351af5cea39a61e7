"""The rows of a ledger: budgets, and releases with their tables, read and written inside a transaction."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from privgmm.errors import InputError
from privgmm.ledger.composition import Cost, Relation, steps_between
from privgmm.ledger.storage import LAYOUT, VERSION

_LONGEST_TEXT = 500
# Hexadecimal digits of a digest, enough to tell tables apart; it need not keep anything secret.
_DIGITS = 16


@dataclass(frozen=True)
class Budget:
    """A total in force for neighbours of one kind; ``relation`` is None until a first release fixes it."""

    relation: Relation | None
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Stated:
    """Everything that was stated about a ledger: its totals, and a cap on the rows of one person."""

    budgets: tuple[Budget, ...]
    max_rows: int | None

    @property
    def relation(self) -> Relation | None:
        """The kind of neighbours that was stated or fixed first; a release that names none is taken to protect it."""
        return self.budgets[0].relation

    def budget(self, relation: Relation) -> Budget | None:
        """The budget that was set for this relation, if any."""
        return next((b for b in self.budgets if b.relation == relation), None)


@dataclass(frozen=True)
class Table:
    """Which table was released: a name, and a digest of its public facts (never of its rows)."""

    name: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Spend:
    """One release as it was written down; ``cost`` is between neighbours of its own kind."""

    number: int
    at: str
    kind: str
    relation: Relation | None
    epsilon: float
    delta: float
    note: str
    table: Table
    output: str
    cost: Cost


def write_budget(
    connection: sqlite3.Connection, budget: Budget, max_rows: int | None = None
) -> None:
    """Append a budget with its seal."""
    values = (_now(), budget.relation, budget.epsilon, budget.delta, max_rows)
    _append(connection, "budget", values)


def read_stated(connection: sqlite3.Connection) -> Stated | None:
    """The last total of every kind, in the order in which the kinds were stated first."""
    rows = _sealed(connection, "budget")
    if not rows:
        return None
    totals = {row[2]: Budget(*row[2:5]) for row in rows}
    if len(totals) > 1:
        # The open kind has since been fixed by a release or by a statement.
        totals.pop(None, None)
    caps = [int(row[5]) for row in rows if row[5] is not None]
    return Stated(tuple(totals.values()), caps[-1] if caps else None)


def write_spend(
    connection: sqlite3.Connection,
    kind: str,
    relation: Relation | None,
    epsilon: float,
    delta: float,
    note: str,
    table: Table,
    output: str,
    cost: Cost,
) -> Spend:
    """Append a spend with its seal."""
    names = [_text(word) for word in (note, table.name, table.digest, output)]
    row = (_now(), kind, relation, epsilon, delta, *names)
    number = _append(connection, "spend", (*row, *_cells(cost)))
    return _spend((number, *row, *_cells(cost)))


def read_spends(connection: sqlite3.Connection) -> list[Spend]:
    """All spends in the order of writing, by their row numbers, because the clock may be set back."""
    return [_spend(row) for row in _sealed(connection, "spend")]


def upgrade(connection: sqlite3.Connection) -> None:
    """Convert a ledger of version 1, whose costs were those between neighbours of the ledger's own kind."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    budgets, spends = _sealed(connection, "budget"), _sealed(connection, "spend")
    known = [row[3] for row in spends if row[3] is not None]
    held = (budgets[-1][2] if budgets else None) or (known[0] if known else None)
    for statement in ("DROP TABLE budget", "DROP TABLE spend", *LAYOUT):
        connection.execute(statement)
    for _, at, relation, epsilon, delta in budgets:
        _append(connection, "budget", (at, relation, epsilon, delta, None))
    if budgets and held is not None and budgets[-1][2] is None:
        # Version 1 let the first release fix the kind without writing that down.
        _append(connection, "budget", (budgets[-1][1], held, *budgets[-1][3:5], None))
    for _, at, kind, relation, epsilon, delta, note, mu, _, _, distance in spends:
        steps = steps_between(held, relation) if held and relation else 1
        if steps is None:
            raise sqlite3.DatabaseError("version 1 took no release without a bound")
        cost = Cost(mu / steps, distance=distance) if mu > 0 else Cost(0.0, epsilon, delta)
        words = (note, "", "", "")
        _append(connection, "spend", (at, kind, relation, epsilon, delta, *words, *_cells(cost)))


def _spend(row: tuple[Any, ...]) -> Spend:
    number, at, kind, relation, epsilon, delta, note, name, digest, output, *cost = row
    table = Table(name, digest)
    return Spend(number, at, kind, relation, epsilon, delta, note, table, output, Cost(*cost))


def _cells(cost: Cost) -> tuple[float, float, float, float]:
    return cost.mu, cost.epsilon, cost.delta, cost.distance


def _text(words: str) -> str:
    return words.encode("utf-8", "replace").decode()[:_LONGEST_TEXT]


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


def digest_of(
    columns: Sequence[str] | int,
    label: str | None,
    classes: Sequence[Any] | None,
    bounds: Sequence[Sequence[float]] | None,
) -> str:
    """A digest of facts that are public anyway: names (or the number) of columns, stated classes and bounds.

    It has two parts, because a label-level release states no bounds. Never give it anything that was read from rows.
    """
    names = columns if isinstance(columns, int) else list(columns)
    listed = None if classes is None else sorted(str(name) for name in classes)
    return f"{_hash([names, label, listed])}-{'' if bounds is None else _hash(bounds)}"


def check_table(table: Table, named: bool, rows: list[Spend]) -> None:
    """Refuse a table of which no earlier release was made, unless the user named it."""
    known = [row.table for row in rows if row.table.digest]
    if named or not table.digest or not known:
        return
    if not _known(table.digest, [other.digest for other in known]):
        raise InputError(
            f"This ledger is about {known[0].name}, and {table.name} has other columns, classes or "
            "bounds; name it with --ledger-table NAME (ledger_table=) if it is about the same people, "
            "or charge that table's own ledger."
        )


def _known(digest: str, others: list[str]) -> bool:
    """Whether names and classes are equal to those of an earlier release, and bounds too if any were stated."""
    names, bounds = digest.split("-")
    kin = [other.split("-")[1] for other in others if other.split("-")[0] == names]
    return bool(kin) and (not bounds or not any(kin) or bounds in kin)


def _hash(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:_DIGITS]
