"""``privgmm reproduce``: the paper's figures, their tables and what became of its findings."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privgmm.errors import InputError

if TYPE_CHECKING:
    from privgmm.reproduce.harness.runner import Progress, Result


def reproduce(
    figure: Annotated[str, typer.Argument(metavar="FIGURE|all", help="A figure's name, or all.")],
    trials: Annotated[
        int, typer.Option(help="Trials at each point; the paper has 100, and 200 for ci.")
    ] = 20,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; as many as cores if omitted.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and kept trials.")] = Path(
        "reproduction"
    ),
    seed: Annotated[int, typer.Option(help="The paper's is 42.")] = 42,
    page: Annotated[
        Path | None,
        typer.Option(
            help="With all: also write the page of results here; ci and epsilon then take five "
            "times the trials."
        ),
    ] = None,
    paper_only: Annotated[
        bool, typer.Option("--paper-only", help="Leave the proven mechanism out; no page.")
    ] = False,
) -> None:
    """Measure the paper's figures anew, with the proven mechanism beside the published one.

    Names: ci, epsilon, n, k, d, d-large, iris-epsilon, iris-marginals, ami-epsilon, ami-marginals,
    ami-sizes, mnist-epsilon, mnist-accuracy, mnist-pca, mnist-mlp, record-b, record-epsilon,
    record-large. Data is read from the folder PRIVGMM_DATA. An interrupted run goes on where it
    stopped.
    """
    run(figure, trials, jobs or os.cpu_count() or 1, out, seed, page, paper_only)


def run(
    figure: str,
    trials: int,
    jobs: int,
    out: Path,
    seed: int,
    page: Path | None = None,
    paper_only: bool = False,
) -> None:
    """``privgmm reproduce``: figures of the paper's section V."""
    from privgmm.reproduce.figures import chosen
    from privgmm.reproduce.figures.methods import PROVEN
    from privgmm.reproduce.harness.runner import reproduce

    experiments = chosen(figure)
    if page is not None and (figure != "all" or paper_only):
        raise InputError("The page tells of every figure and mechanism; use --page with all.")
    if paper_only:
        experiments = tuple(experiment.without(PROVEN) for experiment in experiments)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"Cannot make the folder {out}: {problem.strerror}.") from None
    results: list[Result] = []
    try:
        for experiment in experiments:
            with bar(experiment.name) as progress:
                times = 1 if page is None else experiment.page_factor
                result = reproduce(experiment, out, times * trials, jobs, seed, progress)
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
