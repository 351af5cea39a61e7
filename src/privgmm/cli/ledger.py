"""``privgmm ledger``: one data set's budget as a table, and what changes it."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from privgmm.ledger import Ledger

app = typer.Typer(
    help="The privacy budget of one data set over all of its releases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Option("--ledger", help="The ledger's file (SQLite).")]
_NEIGHBOURS = {
    None: "not fixed yet; the first release fixes it",
    "label": "one label changes",
    "replace": "one record is replaced",
    "add-remove": "one record is added or removed",
}


class Unit(StrEnum):
    LABEL = "label"
    RECORD = "record"


class AdjacencyName(StrEnum):
    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


UnitOption = Annotated[Unit | None, typer.Option(help="What is protected; else as the ledger.")]
AdjacencyOption = Annotated[AdjacencyName | None, typer.Option(help="At record level.")]


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
) -> None:
    """Make a ledger, or change the total of one."""
    from privgmm.errors import InputError
    from privgmm.ledger import Ledger
    from privgmm.ledger.storage import is_unmade

    if is_unmade(path):
        Ledger.create(path, epsilon, delta, _value(unit), _value(adjacency))
    elif unit is not None or adjacency is not None:
        raise InputError("What an existing ledger protects cannot change; omit --unit.")
    else:
        Ledger.open(path).set_budget(epsilon, delta)
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
    ledger.spend_elsewhere(epsilon, delta, note, _value(unit), _value(adjacency))
    _print_rest(ledger)


def _value(choice: StrEnum | None) -> str | None:
    return None if choice is None else choice.value


def _print_rest(ledger: Ledger) -> None:
    rest = ledger.remaining()
    print(
        f"Spent epsilon={rest.spent_epsilon:.4g} of {rest.total_epsilon:g} at "
        f"delta={rest.delta:g}; one further release may take epsilon={rest.epsilon:g}."
    )


def _print_table(ledger: Ledger) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(padding=(0, 1, 0, 0))
    for heading in ("#", "when (UTC)", "kind", "protects", "epsilon", "delta", "mu"):
        table.add_column(heading, no_wrap=True)
    table.add_column("note", overflow="fold")
    for row in ledger.rows():
        cells = [
            str(row.number),
            row.at.removesuffix("+00:00"),
            row.kind,
            row.relation or "as ledger",
            f"{row.epsilon:g}",
            f"{row.delta:g}",
            f"{row.cost.mu:.4g}" if row.cost.mu else "",
            _printable(row.note),
        ]
        # A note may hold brackets: Console must not read them as markup.
        table.add_row(*[cell.replace("[", r"\[") for cell in cells])
    print(f"Ledger {_printable(str(ledger.path))}")
    print(f"Protects when {_NEIGHBOURS[ledger.remaining().relation]}.")
    Console(highlight=False).print(table)
    _print_rest(ledger)


def _printable(text: str) -> str:
    """Without control characters, which could rewrite the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _document(ledger: Ledger) -> dict[str, Any]:
    rest = ledger.remaining()
    return {
        "ledger": str(ledger.path),
        "neighbours": rest.relation,
        "epsilon": rest.total_epsilon,
        "delta": rest.delta,
        "spent_epsilon": rest.spent_epsilon,
        "remaining_epsilon": rest.epsilon,
        "remaining_mu": rest.mu,
        "releases": [
            {
                "number": row.number,
                "at": row.at,
                "kind": row.kind,
                "neighbours": row.relation,
                "epsilon": row.epsilon,
                "delta": row.delta,
                "mu": row.cost.mu or None,
                "note": row.note,
            }
            for row in ledger.rows()
        ],
    }
