"""``privgmm ledger``: show the budget of one data set, set it, and write down releases made elsewhere."""

from __future__ import annotations

import json
import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from privgmm.ledger import Ledger, Remaining, Total

app = typer.Typer(
    help="The privacy budget of one data set over all of its releases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Option("--ledger", help="The ledger's file (SQLite).")]


class BudgetUnit(StrEnum):
    """What a ledger's budget protects."""

    LABEL = "label"
    RECORD = "record"
    PERSON = "person"


class SpentAdjacency(StrEnum):
    """Which neighbours a spend protects."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    LABEL = "label"


UnitOption = Annotated[
    BudgetUnit | None, typer.Option(help="What is protected; else as the ledger.")
]
AdjacencyOption = Annotated[
    SpentAdjacency | None,
    typer.Option(help="Of records or persons; label: all labels of a person."),
]


@app.command()
def show(
    path: File, as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False
) -> None:
    """What was spent, by which release, and what remains."""
    from privgmm.ledger import Ledger

    ledger = Ledger.open(path)
    if as_json:
        print(json.dumps(_document(ledger), indent=1))
    else:
        _print_table(ledger)


@app.command()
def budget(
    path: File,
    epsilon: Annotated[float, typer.Option(help="The total over all releases.")],
    delta: Annotated[float, typer.Option(help="The total over all releases, e.g. 1e-5.")],
    unit: UnitOption = None,
    adjacency: AdjacencyOption = None,
    max_rows: Annotated[
        int | None, typer.Option(help="Your word that no person has more rows than this.")
    ] = None,
) -> None:
    """Make a ledger, change the total of one, or state a total for a further unit."""
    from privgmm.ledger import Ledger
    from privgmm.ledger.storage import is_unmade

    stated = (epsilon, delta, *_protected(unit, adjacency), max_rows)
    if is_unmade(path):
        Ledger.create(path, *stated)
    else:
        Ledger.open(path).set_budget(*stated)
    _print_rest(Ledger.open(path))


@app.command()
def spend(
    path: File,
    epsilon: Annotated[float, typer.Option(help="Of the release made elsewhere.")],
    delta: Annotated[float, typer.Option(help="Of the release made elsewhere; may be 0.")],
    unit: UnitOption = None,
    adjacency: AdjacencyOption = None,
    note: Annotated[str, typer.Option(help="What it was.")] = "",
) -> None:
    """Write down a release of the same data that was made elsewhere."""
    from privgmm.ledger import Ledger

    ledger = Ledger.open(path)
    ledger.spend_elsewhere(epsilon, delta, note, *_protected(unit, adjacency))
    _print_rest(ledger)


def _protected(
    unit: BudgetUnit | None, adjacency: SpentAdjacency | None
) -> tuple[str | None, str | None]:
    from privgmm.errors import InputError

    if adjacency is not None and unit in (None, BudgetUnit.LABEL):
        raise InputError("An adjacency goes with --unit record or --unit person.")
    if adjacency is SpentAdjacency.LABEL and unit is not BudgetUnit.PERSON:
        raise InputError("The adjacency label goes with --unit person; else say --unit label.")
    return unit and unit.value, adjacency and adjacency.value


def _print_rest(ledger: Ledger) -> None:
    for rest in ledger.budgets():
        print(rest.words)


def _print_table(ledger: Ledger) -> None:
    from rich.console import Console
    from rich.table import Table

    from privgmm.ledger.composition import NEIGHBOURS

    table = Table(padding=(0, 1, 0, 0))
    for heading in ("#", "when (UTC)", "kind", "protects", "epsilon", "delta", "mu"):
        table.add_column(heading, no_wrap=True)
    for heading in ("table", "output", "note"):
        table.add_column(heading, overflow="fold")
    for row in ledger.rows():
        cells = [
            str(row.number),
            row.at.removesuffix("+00:00"),
            row.kind,
            row.relation or "as ledger",
            f"{row.epsilon:g}",
            f"{row.delta:g}",
            f"{row.cost.mu:.4g}" if row.cost.mu else "",
            *map(_printable, (row.table.name, row.output, row.note)),
        ]
        # A note may hold brackets: Console must not read them as markup.
        table.add_row(*[cell.replace("[", r"\[") for cell in cells])
    print(f"Ledger {_printable(str(ledger.path))}")
    budgets = ledger.budgets()
    if budgets[0].relation is None:
        print("What it protects is not fixed yet; the first release fixes it.")
    kept = [NEIGHBOURS[rest.relation] for rest in budgets if rest.relation and not rest.unbounded]
    if kept:
        print(f"Protects when {', and when '.join(kept)}.")
    Console(highlight=False, width=None if sys.stdout.isatty() else 150).print(table)
    _print_rest(ledger)
    if ledger.rows():
        print(f"Everything together, at delta={budgets[0].delta:g}:")
        for relation, total in ledger.totals().items():
            print(f"  when {NEIGHBOURS[relation]}: {_cost(total, budgets[0].delta)}")


def _cost(total: Total, delta: float) -> str:
    if total.unbounded:
        return f"no bound; {total.unbounded[0].words}"
    return f"epsilon={total.epsilon(delta):.4g}"


def _printable(text: str) -> str:
    """The text without control characters, which could rewrite the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _document(ledger: Ledger) -> dict[str, Any]:
    budgets = ledger.budgets()
    first = budgets[0]
    return {
        "ledger": str(ledger.path),
        **_rest(first),
        "budgets": [_rest(rest) for rest in budgets],
        "together": [
            {
                "neighbours": relation,
                "epsilon": _finite(total.epsilon(first.delta)),
                "delta": first.delta,
                "no_bound": [unbounded.words for unbounded in total.unbounded],
            }
            for relation, total in ledger.totals().items()
        ],
        "releases": [
            {
                "number": row.number,
                "at": row.at,
                "kind": row.kind,
                "neighbours": row.relation,
                "epsilon": row.epsilon,
                "delta": row.delta,
                "mu": row.cost.mu or None,
                "table": row.table.name,
                "table_digest": row.table.digest,
                "output": row.output,
                "note": row.note,
            }
            for row in ledger.rows()
        ],
    }


def _rest(rest: Remaining) -> dict[str, Any]:
    return {
        "neighbours": rest.relation,
        "epsilon": rest.total_epsilon,
        "delta": rest.delta,
        "spent_epsilon": _finite(rest.spent_epsilon),
        "remaining_epsilon": rest.epsilon,
        "remaining_mu": rest.mu,
    }


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity; null means that there is no bound."""
    return epsilon if math.isfinite(epsilon) else None
