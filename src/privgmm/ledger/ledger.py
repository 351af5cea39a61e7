"""One data set's budget: how much there is, every release that spent from it, what remains."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from privgmm.errors import BudgetError, InputError
from privgmm.ledger.composition import (
    Cost,
    Relation,
    add,
    fits,
    gaussian_cost,
    plain_cost,
    relation,
    steps_between,
)
from privgmm.ledger.records import (
    Budget,
    Spend,
    read_budget,
    read_spends,
    write_budget,
    write_spend,
)
from privgmm.ledger.remaining import Remaining, held_relation, remaining, too_much
from privgmm.ledger.storage import transaction
from privgmm.privacy.accounting import check_epsilon_delta


@dataclass(frozen=True)
class Ledger:
    """A file that remembers what was spent. Use ``Ledger.open`` or ``Ledger.create``.

    No connection is kept between calls, so a ledger may be used from many processes; each call
    holds SQLite's write lock from its first read to its commit.
    """

    path: Path

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float,
        unit: str | None = None,
        adjacency: str | None = None,
    ) -> Ledger:
        """Make a new ledger with a total of (epsilon, delta).

        ``unit`` (and ``adjacency``) say what the total protects; without them, what the first
        release protects.
        """
        check_epsilon_delta(epsilon, delta)
        kind = None if unit is None else relation(unit, adjacency)
        ledger = cls(Path(path))
        with transaction(ledger.path, create=True) as connection:
            if read_budget(connection) is not None:
                raise InputError(f"The ledger {path} exists already; open it instead.")
            write_budget(connection, Budget(kind, epsilon, delta))
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """An existing ledger; anything else is refused with a sentence."""
        ledger = cls(Path(path))
        ledger.remaining()
        return ledger

    def set_budget(self, epsilon: float, delta: float) -> None:
        """Change the total; the old one stays on record. It cannot fall below what is spent."""
        check_epsilon_delta(epsilon, delta)
        with transaction(self.path) as connection:
            budget, rows = self._read(connection)
            if not fits(epsilon, delta, add([row.cost for row in rows])):
                raise BudgetError(
                    f"More than epsilon={epsilon:g} at delta={delta:g} is already spent, "
                    "and what was released cannot be taken back."
                )
            write_budget(connection, replace(budget, epsilon=epsilon, delta=delta))

    def spend(
        self,
        mu: float | None,
        epsilon: float,
        delta: float,
        unit: str,
        note: str = "",
        adjacency: str | None = None,
    ) -> Spend:
        """Write down a proven release of mu-GDP. Call this BEFORE any noise is drawn.

        ``mu`` None means that no proof gives one (the published method): refused, because what it
        gives away has no bound that could be added to the others.
        """
        if mu is None:
            raise BudgetError(
                "A ledger cannot hold a release of the published method, whose loss has no proven "
                "bound; use the proven mechanism, or release without a ledger."
            )
        check_epsilon_delta(epsilon, delta)
        return self._write(
            "release",
            relation(unit, adjacency),
            epsilon,
            delta,
            note,
            lambda steps: gaussian_cost(mu, steps),
        )

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
        return self._write(
            "manual", kind, epsilon, delta, note, lambda steps: plain_cost(epsilon, delta, steps)
        )

    def rows(self) -> list[Spend]:
        """Every release, in the order in which they were written."""
        with transaction(self.path) as connection:
            return self._read(connection)[1]

    def remaining(self) -> Remaining:
        """The total, what is spent of it and what one further release may ask for."""
        with transaction(self.path) as connection:
            return remaining(*self._read(connection))

    def _write(
        self,
        how: str,
        kind: Relation | None,
        epsilon: float,
        delta: float,
        note: str,
        price: Callable[[int], Cost],
    ) -> Spend:
        with transaction(self.path) as connection:
            budget, rows = self._read(connection)
            held = held_relation(budget, rows)
            cost = price(1 if held is None or kind is None else steps_between(held, kind))
            if not fits(budget.epsilon, budget.delta, add([*(row.cost for row in rows), cost])):
                raise BudgetError(too_much(epsilon, delta, remaining(budget, rows)))
            return write_spend(connection, how, kind, epsilon, delta, note, cost)

    def _read(self, connection: sqlite3.Connection) -> tuple[Budget, list[Spend]]:
        budget = read_budget(connection)
        if budget is None:
            raise InputError(
                f"The ledger {self.path} has no budget; set one with 'privgmm ledger budget'."
            )
        return budget, read_spends(connection)
