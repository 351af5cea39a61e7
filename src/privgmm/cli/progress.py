"""Progress on a terminal, silence in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int], None]


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a moving line on a terminal's stderr while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


@contextlib.contextmanager
def passing(what: str) -> Iterator[Progress]:
    """Like ``working``, with a count of the rows that were passed over."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console

    total = 0
    with Console(stderr=True).status(f"{what} ...") as status:

        def passed(rows: int) -> None:
            nonlocal total
            total += rows
            status.update(f"{what} ... {total:,} rows passed over")

        yield passed


@contextlib.contextmanager
def counting(what: str, total: int) -> Iterator[Progress]:
    """A bar that fills as rows are reported, on a terminal's stderr only."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda rows: bar.advance(task, rows)
