"""Progress on a terminal, silence in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

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


class Watch:
    """What is being done, the part of the budget that is spent, and rows that were passed over.

    On a terminal one moving line; elsewhere nothing.
    """

    def __init__(self, status: Any = None) -> None:
        self._status = status
        self._words, self._spent, self._rows = "", 0.0, 0

    def stage(self, words: str, spent: float) -> None:
        """Now ``words`` is done, and so much of the budget, 0 to 1, is spent."""
        self._words, self._spent, self._rows = words, spent, 0
        self._show()

    def passed(self, rows: int) -> None:
        """So many more rows were passed over."""
        self._rows += rows
        self._show()

    def _show(self) -> None:
        if self._status is not None:
            rows = f", {self._rows:,} rows passed over" if self._rows else ""
            self._status.update(f"{self._spent:4.0%} of the budget spent; {self._words}{rows} ...")

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Leave the terminal to somebody else, e.g. to ask a question."""
        if self._status is None:
            yield
            return
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """A line that says how far a release is, on a terminal's stderr only."""
    if not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console

    with Console(stderr=True).status("...") as status:
        yield Watch(status)


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
