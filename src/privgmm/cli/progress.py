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
