"""``privgmm show``: a release in words and tables for a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from privgmm.releases.budget import budget_rows
from privgmm.releases.guarantee import Guarantee
from privgmm.releases.registry import registry_yaml
from privgmm.releases.release import Release
from privgmm.releases.wording import badges, best_guess, guess_between, known_limits, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["print_statement", "registry_yaml", "statement_text"]

# A terminal shows so many columns and rows of parameters; --json and the report hold the rest.
_MAX_FEATURES = 8
_MAX_CLASSES = 40
_STYLE = {"good": "bold green", "warning": "bold yellow", "stop": "bold red"}


def print_statement(release: Release, console: Console | None = None) -> None:
    """Print the statement, the budget and the parameters to the terminal (or another console)."""
    from rich.console import Console

    screen = console if console is not None else Console()
    for part in _parts(release):
        screen.print(part, markup=False, highlight=False, emoji=False)
        screen.print()


def statement_text(release: Release, width: int = 100) -> str:
    """What ``print_statement`` prints, without colours."""
    from rich.console import Console

    lines = io.StringIO()
    print_statement(release, Console(file=lines, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines()) + "\n"


def _parts(release: Release) -> Iterator[Any]:
    from rich.text import Text

    guarantee = release.guarantee
    for badge in badges(guarantee):
        yield Text.assemble((badge.title.upper(), _STYLE[badge.kind]), "  ", badge.meaning)
    yield Text(guarantee.promise, style="bold")
    yield _facts(release)
    if guarantee.mechanisms:
        yield _budget(guarantee)
    yield _weights(release)
    yield _means(release)
    for title, lines in (
        ("Assumed public", guarantee.assumed_public),
        ("Not protected", guarantee.not_protected),
        ("Notes", guarantee.notes),
        ("Known limits", known_limits(guarantee)),
    ):
        if lines:
            yield _bullets(title, lines)


def _table(title: str, *headings: str, numbers_from: int = 1) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for index, heading in enumerate(headings):
        justify: Any = "right" if index >= numbers_from else "left"
        table.add_column(_text(heading), justify=justify, overflow="fold")
    return table


def _text(value: object, limit: int = 40) -> Any:
    """Names go in as Text, so that brackets in them are never markup."""
    from rich.text import Text

    return Text(printable(value, limit))


def _facts(release: Release) -> Table:
    from rich.table import Table

    guarantee, guess = release.guarantee, best_guess(release.guarantee)
    claimed = " (claimed)" if guarantee.status == "as-published" else ""
    facts = [
        ("unit", guarantee.unit),
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
        ("model", f"{release.mixture.n_classes} classes, {release.mixture.dim} features"),
        ("software", ", ".join(f"{name} {v}" for name, v in release.software.items())),
    ]
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(_text(name), _text(value, 300))
    return grid


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
    mixture = release.mixture
    table = _table("Classes", printable(release.label_name, 40), "weight")
    for name, weight in list(zip(mixture.classes, mixture.weights, strict=True))[:_MAX_CLASSES]:
        table.add_row(_text(name), f"{weight:.2%}")
    if mixture.n_classes > _MAX_CLASSES:
        table.add_row(f"and {mixture.n_classes - _MAX_CLASSES} more", "")
    return table


def _means(release: Release) -> Table:
    mixture = release.mixture
    shown = range(min(mixture.dim, _MAX_FEATURES))
    spread = np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))
    hidden = mixture.dim - len(shown)
    title = "Mean ± standard deviation"
    if hidden:
        title += f" (first {_MAX_FEATURES} of {mixture.dim} features; --json has all)"
    table = _table(
        title,
        printable(release.label_name, 40),
        *(printable(release.model_names[j], 24) for j in shown),
    )
    for k in range(min(mixture.n_classes, _MAX_CLASSES)):
        cells = [f"{mixture.means[k, j]:.4g} ± {spread[k, j]:.3g}" for j in shown]
        table.add_row(_text(mixture.classes[k]), *cells)
    return table


def _bullets(title: str, lines: tuple[str, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(""), Text(title, style="bold"))
    for line in lines:
        grid.add_row("-", _text(line, 600))
    return grid
