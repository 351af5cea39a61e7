"""``privgmm reproduce``: the paper's figures, their tables and what became of its findings."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from privgmm.errors import InputError
from privgmm.reproduce.runner import Progress, Result


def run(
    figure: str, trials: int, jobs: int, out: Path, seed: int, page: Path | None = None
) -> None:
    from privgmm.reproduce.registry import chosen
    from privgmm.reproduce.runner import reproduce

    experiments = chosen(figure)
    if page is not None and figure != "all":
        raise InputError("The page tells of every figure; use --page with all.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot make the folder {out}: {problem.strerror}.") from None
    results: list[Result] = []
    try:
        for experiment in experiments:
            with bar(experiment.name) as progress:
                result = reproduce(experiment, out, trials, jobs, seed, progress)
            print(result.line, flush=True)
            results.append(result)
    except KeyboardInterrupt:
        print("Interrupted; finished trials are kept, the same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    if page is not None:
        from privgmm.reproduce.page import write_page

        write_page(results, out, page)
        print(f"Wrote {page}.")


@contextlib.contextmanager
def bar(name: str) -> Iterator[Progress | None]:
    """A progress bar on a terminal's stderr; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(f"{name:>15}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task(name, total=None)
        yield lambda done, total: display.update(task, completed=done, total=total)
