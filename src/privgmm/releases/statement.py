"""``privgmm show``: a release in words and tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from privgmm.releases.column_lines import column_lines
from privgmm.releases.guarantee import Guarantee, budget_rows
from privgmm.releases.release import Release
from privgmm.releases.wording import (
    HOW_FAR_OFF,
    badges,
    best_guess,
    counted,
    guess_between,
    known_limits,
    not_usable,
    printable,
    share_with_error,
    short_number,
    with_error,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# The most classes, and rows and columns of parameters, that a terminal shows; --json and the report have the rest.
_MAX_CLASSES = 40
_MOST_DOWN = 40
_MOST_ACROSS = 8
_LONGEST_NAME = 30
_STYLE = {"good": "bold green", "warning": "bold yellow", "stop": "bold red"}


def print_statement(release: Release, console: Console | None = None) -> None:
    """Print the statement, the budget and the parameters to the terminal (or another console)."""
    from rich.console import Console

    screen = console if console is not None else Console()
    for part in _parts(release, screen.width):
        screen.print(part, markup=False, highlight=False, emoji=False)
        screen.print()


def statement_text(release: Release, width: int = 100) -> str:
    """What ``print_statement`` prints, without colours."""
    from rich.console import Console

    lines = io.StringIO()
    print_statement(release, Console(file=lines, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines()) + "\n"


def _parts(release: Release, width: int) -> Iterator[Any]:
    from rich.text import Text

    guarantee = release.guarantee
    for badge in badges(guarantee):
        yield Text.assemble((badge.title.upper(), _STYLE[badge.kind]), "  ", badge.meaning)
    yield Text(printable(guarantee.promise, 900), style="bold")
    yield _weights(release)
    yield from _means(release, width)
    if release.errors is not None:
        yield _bullets("How far off", (HOW_FAR_OFF, *not_usable(release)))
    yield _facts(release)
    if guarantee.mechanisms:
        yield _budget(guarantee)
    for title, lines in (
        ("Assumed public", guarantee.assumed_public),
        ("Not protected", guarantee.not_protected),
        ("Notes", guarantee.notes),
        ("Known limits", known_limits(release)),
    ):
        if lines:
            yield _bullets(title, lines)


def _table(title: str, *headings: str) -> Table:
    """An empty table whose first column holds names and whose others hold numbers."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for index, heading in enumerate(headings):
        justify: Any = "right" if index > 0 else "left"
        table.add_column(_text(heading), justify=justify, overflow="fold")
    return table


def _text(value: object, limit: int = 40) -> Any:
    """A name as rich Text, so that brackets in it are not read as markup."""
    from rich.text import Text

    return Text(printable(value, limit))


def _facts(release: Release) -> Table:
    from rich.table import Table

    guarantee, guess = release.guarantee, best_guess(release.guarantee)
    claimed = " (claimed)" if guarantee.status == "as-published" else ""
    facts = [
        ("unit", guarantee.unit),
        ("protected", guarantee.protected),
        ("neighbours", guarantee.neighbours),
        ("epsilon", f"{guarantee.epsilon:g}{claimed}"),
        ("delta", f"{guarantee.delta:g}{claimed}"),
        ("mu", "not stated" if guarantee.mu is None else f"{guarantee.mu:.6g}"),
    ]
    if guess is not None:
        facts.append(
            (
                "best guess",
                f"at most {guess:.1%} right on {guess_between(guarantee)}; a coin gives 50%",
            )
        )
    facts += [
        ("model", _model(release)),
        ("software", ", ".join(f"{name} {v}" for name, v in release.software.items())),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(_text(name), _text(value, 300))
    return grid


def _model(release: Release) -> str:
    words = f"{counted(release.mixture.n_classes, 'class', 'classes')}, {counted(len(release.columns), 'column')}"
    if release.preprocessing:
        words += f" ({release.mixture.dim} after preprocessing)"
    if release.components is None:
        return words
    return f"{words}, {release.components.owners.size} Gaussians"


def _budget(guarantee: Guarantee) -> Table:
    table = _table(
        "Where the budget went", "query", "coordinates", "sensitivity", "sigma", "mu", "share"
    )
    for row in budget_rows(guarantee):
        m, share = row.mechanism, f"{row.share:.1%}"
        if m is None:
            table.add_row("unspent", "", "", "", "", share)
            continue
        numbers = (f"{value:#.4g}" for value in (m.sensitivity, m.sigma, m.mu))
        table.add_row(_text(m.query, 60), str(m.coordinates), *numbers, share)
    return table


def _weights(release: Release) -> Table:
    mixture, errors = release.mixture, release.errors
    table = _table("Share of each class", printable(release.label_name, 40), "share")
    for k, name in enumerate(mixture.classes[:_MAX_CLASSES]):
        error = None if errors is None else errors.weights[k]
        table.add_row(_text(name), share_with_error(mixture.weights[k], error))
    if mixture.n_classes > _MAX_CLASSES:
        table.add_row(f"and {mixture.n_classes - _MAX_CLASSES} more", "")
    return table


def _means(release: Release, width: int) -> Iterator[Table]:
    """Tables of means and shares, with the longer of columns and classes as rows, split so that each fits the width."""
    lines = [line for column in column_lines(release) for line in column]
    columns = [printable(line.name, _LONGEST_NAME) for line in lines]
    classes = [printable(name, _LONGEST_NAME) for name in release.mixture.classes]
    down_columns = len(columns) > len(classes)
    down, across = (columns, classes) if down_columns else (classes, columns)

    def cell(row: int, column: int) -> str:
        k, line = (column, lines[row]) if down_columns else (row, lines[column])
        error = None if line.error is None else float(line.error[k])
        if line.deviations is None:
            return share_with_error(float(line.values[k]), error)
        return f"{with_error(float(line.values[k]), error)} ({short_number(line.deviations[k])})"

    title = "Mean ± error (standard deviation)"
    if any(line.share for line in lines):
        title = "Mean (standard deviation) or share, ± error"
    if release.errors is None:
        title = title.replace(", ± error", "").replace(" ± error", "")
    left_out = [
        f"first {most} of {len(names)} {what}"
        for names, most, what in (
            (down, _MOST_DOWN, "lines" if down_columns else "classes"),
            (across, _MOST_ACROSS, "classes" if down_columns else "columns"),
        )
        if len(names) > most
    ]
    if left_out:
        title += f" ({', '.join(left_out)}; --json has all)"
    down, across = down[:_MOST_DOWN], across[:_MOST_ACROSS]
    corner = "column" if down_columns else printable(release.label_name, _LONGEST_NAME)
    cells = [[cell(row, column) for column in range(len(across))] for row in range(len(down))]
    named = max(len(name) for name in (corner, *down))
    wide = [max(map(len, texts)) for texts in zip(across, *cells, strict=True)]
    for shown in _side_by_side(wide, width - named):
        table = _table(title, corner, *(across[i] for i in shown))
        for name, line in zip(down, cells, strict=True):
            table.add_row(_text(name), *(line[i] for i in shown))
        yield table
        title = ""


def _side_by_side(widths: list[int], room: int) -> Iterator[range]:
    """Neighbouring columns that fit into the room together, at least one at a time."""
    start, used = 0, 0
    for i, width in enumerate(widths):
        # Columns are three characters apart, and a table keeps one character from either edge.
        if i > start and used + width + 3 > room - 2:
            yield range(start, i)
            start, used = i, 0
        used += width + 3
    yield range(start, len(widths))


def _bullets(title: str, lines: tuple[str, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(""), Text(title, style="bold"))
    for line in lines:
        grid.add_row("-", _text(line, 600))
    return grid
