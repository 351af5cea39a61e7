"""The budget of one data set: its total, every release that spent from it, and what remains.

A ``Charge`` says where a release is to be charged, and what its line will say beside the cost.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from privgmm.checks import MOST_ROWS, whole
from privgmm.errors import BudgetError, InputError
from privgmm.ledger.composition import (
    NEIGHBOURS,
    Cost,
    Relation,
    add,
    fits,
    gaussian_cost,
    no_bound,
    over_steps,
    plain_cost,
    relation,
    steps_between,
)
from privgmm.ledger.records import (
    Budget,
    Spend,
    Stated,
    Table,
    check_table,
    read_spends,
    read_stated,
    upgrade,
    write_budget,
    write_spend,
)
from privgmm.ledger.remaining import Remaining, Total, remaining, too_much, total
from privgmm.ledger.storage import transaction
from privgmm.privacy.accounting import check_epsilon_delta


@dataclass(frozen=True)
class Ledger:
    """A file that remembers what was spent. Use ``Ledger.open`` or ``Ledger.create``.

    One ledger counts every release of a table for every kind of neighbours at once, and may hold a
    budget for several kinds; a release must fit into all that it bounds. No connection is kept
    between calls, so a ledger may be used from many processes; each call holds SQLite's write lock
    from its first read to its commit.
    """

    path: Path
    # What this object tried to write; after an interrupt, ``charged`` tells which of it is in the file.
    tried: list[Spend] = field(default_factory=list, init=False, compare=False, repr=False)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        unit: str | None = None,
        adjacency: str | None = None,
        max_rows: int | None = None,
    ) -> Ledger:
        """Make a new ledger with a total of (epsilon, delta).

        ``unit`` (and ``adjacency``) say what the total protects; without them, the total protects what the first
        release protects. ``max_rows`` states that no person has more rows than that; without
        it, releases that protect single rows promise nothing to a person with several rows.
        """
        check_epsilon_delta(epsilon, delta)
        max_rows = _checked_cap(max_rows)
        kind = None if unit is None else relation(unit, adjacency)
        ledger = cls(Path(path))
        with ledger._opened(create=True) as connection:
            if read_stated(connection) is not None:
                raise InputError(f"The ledger {path} exists already; open it instead.")
            write_budget(connection, Budget(kind, epsilon, delta), max_rows)
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """An existing ledger; anything else is refused with a sentence."""
        ledger = cls(Path(path))
        ledger.remaining()
        return ledger

    def set_budget(
        self,
        epsilon: float,
        delta: float,
        unit: str | None = None,
        adjacency: str | None = None,
        max_rows: int | None = None,
    ) -> None:
        """Change a total, or state one for a further kind of neighbours; old ones stay on record.

        Without a unit the only total is changed. None can fall below what is spent.
        """
        check_epsilon_delta(epsilon, delta)
        max_rows = _checked_cap(max_rows)
        with self._opened() as connection:
            stated, rows = self._read(connection)
            if unit is None and len(stated.budgets) > 1:
                raise InputError("This ledger holds several budgets; say which with --unit.")
            kind = stated.relation if unit is None else relation(unit, adjacency)
            write_budget(connection, Budget(kind, epsilon, delta), max_rows)
            before, (stated, rows) = stated, self._read(connection)
            for budget in stated.budgets:
                if budget.relation == kind or stated.max_rows != before.max_rows:
                    _check_spent(budget, total(budget.relation, stated, rows))

    def spend(
        self,
        mu: float | None,
        epsilon: float,
        delta: float,
        unit: str,
        note: str = "",
        adjacency: str | None = None,
        table: Table | None = None,
        table_named: bool = False,
        output: str = "",
    ) -> Spend:
        """Write down a proven release of mu-GDP. Call this BEFORE any noise is drawn.

        ``mu`` None means that no proof gives one (the published method): refused, because what it
        gives away has no bound that could be added to the others. A ``table`` whose public facts no
        earlier release had is refused unless the caller named it (``table_named``).
        """
        if mu is None:
            raise BudgetError(
                "A ledger cannot hold a release of the published method, whose loss has no proven "
                "bound; use the proven mechanism, or release without a ledger."
            )
        check_epsilon_delta(epsilon, delta)
        kind, cost = relation(unit, adjacency), gaussian_cost(mu)
        about = table or Table()
        return self._write("release", kind, epsilon, delta, note, cost, about, table_named, output)

    def spend_elsewhere(
        self,
        epsilon: float,
        delta: float,
        note: str = "",
        unit: str | None = None,
        adjacency: str | None = None,
    ) -> Spend:
        """Write down any other (epsilon, delta)-DP release of the same data; delta may be 0.

        Without a unit it is taken to protect what the ledger protects.
        """
        kind = None if unit is None else relation(unit, adjacency)
        cost = plain_cost(epsilon, delta)
        return self._write("manual", kind, epsilon, delta, note, cost, Table(), True, "")

    def rows(self) -> list[Spend]:
        """Every release, in the order in which they were written."""
        with self._opened() as connection:
            return self._read(connection)[1]

    def charged(self) -> list[Spend]:
        """The releases that this object wrote and that are in the file, also if writing was interrupted."""
        found = set(self.rows()) if self.tried else set()
        return [row for row in self.tried if row in found]

    def remaining(self) -> Remaining:
        """The first total, what is spent of it and what one further release may ask for."""
        return self.budgets()[0]

    def budgets(self) -> list[Remaining]:
        """Every stated total, what is spent of it and what one further release may ask for."""
        with self._opened() as connection:
            stated, rows = self._read(connection)
            return [remaining(budget, stated, rows) for budget in stated.budgets]

    def totals(self) -> dict[Relation, Total]:
        """What all releases cost together, for every kind of neighbours."""
        with self._opened() as connection:
            stated, rows = self._read(connection)
            return {kind: total(kind, stated, rows) for kind in NEIGHBOURS}

    def _write(
        self,
        how: str,
        kind: Relation | None,
        epsilon: float,
        delta: float,
        note: str,
        cost: Cost,
        table: Table,
        table_named: bool,
        output: str,
    ) -> Spend:
        with self._opened() as connection:
            stated, rows = self._read(connection)
            check_table(table, table_named, rows)
            kind = kind or stated.relation
            if stated.relation is None and kind is not None:
                (budget,) = stated.budgets
                write_budget(connection, Budget(kind, budget.epsilon, budget.delta))
                stated, rows = self._read(connection)
            for budget in stated.budgets:
                _check_room(budget, stated, rows, kind, cost, (epsilon, delta))
            row = write_spend(connection, how, kind, epsilon, delta, note, table, output, cost)
            self.tried.append(row)
        return row

    @contextlib.contextmanager
    def _opened(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        with transaction(self.path, create) as connection:
            upgrade(connection)
            yield connection

    def _read(self, connection: sqlite3.Connection) -> tuple[Stated, list[Spend]]:
        stated = read_stated(connection)
        if stated is None:
            raise InputError(
                f"The ledger {self.path} has no budget; set one with 'privgmm ledger budget'."
            )
        return stated, read_spends(connection)


def _checked_cap(max_rows: int | None) -> int | None:
    if max_rows is None:
        return None
    return whole(max_rows, "The cap on the rows of one person", at_most=MOST_ROWS)


def _check_spent(budget: Budget, spent: Total) -> None:
    """Refuse a total that is already exceeded, or that earlier releases leave without any bound."""
    if spent.unbounded:
        assert budget.relation is not None
        raise BudgetError(
            f"No total can be kept for the case that {NEIGHBOURS[budget.relation]}: "
            f"{spent.unbounded[0].words}."
        )
    if not fits(budget.epsilon, budget.delta, spent.cost):
        raise BudgetError(
            f"More than epsilon={budget.epsilon:g} at delta={budget.delta:g} is already spent, "
            "and what was released cannot be taken back."
        )


def _check_room(
    budget: Budget,
    stated: Stated,
    rows: list[Spend],
    kind: Relation | None,
    cost: Cost,
    asked: tuple[float, float],
) -> None:
    """Refuse a release that does not fit, or that this budget cannot bound and for whose kind there is no budget."""
    steps: int | None = 1
    if budget.relation is not None and kind is not None:
        steps = steps_between(budget.relation, kind, stated.max_rows)
        if steps is None and stated.budget(kind) is None:
            raise BudgetError(no_bound(budget.relation, kind))
    if steps is None:
        return
    spent = total(budget.relation, stated, rows).cost
    if not fits(budget.epsilon, budget.delta, add([spent, over_steps(cost, steps)])):
        raise BudgetError(too_much(*asked, steps, remaining(budget, stated, rows)))


@dataclass(frozen=True)
class Charge:
    """A ledger and what one line of it will name.

    ``file`` is the table's file and ``output`` the release's, names only; ``table`` is how the user
    calls the table, which admits one whose public facts the ledger has not seen.
    """

    ledger: Ledger
    file: str = ""
    output: str = ""
    note: str = ""
    table: str | None = None

    @property
    def table_name(self) -> str:
        """How the ledger calls the table: as the user said, or by its file."""
        return self.table or self.file or "a table in memory"


def charge_of(
    ledger: str | os.PathLike[str] | Charge | None, note: str, table: str | None, source: object
) -> Charge | None:
    """The charge that the arguments of ``privgmm.release`` describe."""
    if not isinstance(note, str) or not isinstance(table, (str, type(None))):
        raise InputError("The note and the ledger's name of the table must be texts.")
    if ledger is None:
        if note or table:
            raise InputError("A note and a ledger's name of the table go with a ledger; name one.")
        return None
    if isinstance(ledger, Charge):
        return replace(ledger, note=note, table=table)
    if not isinstance(ledger, (str, os.PathLike)):
        raise InputError("The ledger must be the path of a file.")
    file = Path(source).name if isinstance(source, (str, os.PathLike)) else ""
    return Charge(Ledger(Path(ledger)), file, "", note, table)
