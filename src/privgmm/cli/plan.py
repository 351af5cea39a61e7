"""``privgmm plan``: expected KL and accuracy against epsilon, without touching private data."""

from __future__ import annotations

import sys
from pathlib import Path

from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.plan import Forecast, Question, forecasts, smallest_epsilon, write_chart

PLOT_KINDS = (".svg", ".png", ".pdf")


def run(question: Question, target_kl: float | None, output: Path | None) -> None:
    if target_kl is not None and not target_kl > 0:
        raise InputError(f"The target KL must be positive, got {target_kl}.")
    if output is not None and output.suffix.lower() not in PLOT_KINDS:
        raise InputError(f"Name the plot {', '.join(PLOT_KINDS)}, got {output.name!r}.")
    rows = _with_progress(question)
    _print_table(question, rows)
    if target_kl is not None:
        _print_answer(rows, target_kl)
    if output is not None:
        write_chart(rows, output, target_kl)
        print(f"Wrote {plain(output)}.")


def numbers(text: str, kind: type[int] | type[float], what: str) -> tuple[float, ...]:
    """Comma-separated numbers of the command line."""
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what} must be numbers separated by commas, got {text!r}.") from None


def _with_progress(question: Question) -> list[Forecast]:
    if not sys.stderr.isatty():
        return list(forecasts(question))
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Rehearsing", total=None)
        return list(
            forecasts(
                question, lambda done, total: progress.update(task, completed=done, total=total)
            )
        )


def _print_table(question: Question, rows: list[Forecast]) -> None:
    from rich.console import Console
    from rich.table import Table

    where = f", ball of radius {question.stated_radius:.3g}" if question.unit == "record" else ""
    table = Table(
        title=f"{question.unit}-level release, {question.n_classes} classes, {question.dim} columns, "
        f"delta {question.delta:g}{where}; {question.rehearsals} rehearsals on invented tables"
    )
    headers = ("rows", "epsilon", "mean KL", "median KL", "accuracy", "without privacy")
    for header in headers:
        table.add_column(header, justify="right")
    for row in rows:
        table.add_row(
            f"{row.n:,}", f"{row.epsilon:g}", f"{row.kl_mean:.3g}", f"{row.kl_median:.3g}",
            f"{row.accuracy:.3f}", f"{row.accuracy_without_privacy:.3f}",
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def _print_answer(rows: list[Forecast], target_kl: float) -> None:
    for n, epsilon in smallest_epsilon(rows, target_kl).items():
        if epsilon is None:
            print(
                f"With {n:,} rows no rehearsed epsilon reaches a mean KL of {target_kl:g}; "
                "allow a larger epsilon or gather more rows."
            )
        else:
            print(f"With {n:,} rows epsilon {epsilon:g} reaches a mean KL of {target_kl:g}.")
