"""The terminal: text made safe for it, progress lines (none in a pipe), and the exception of a command that is stopped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int], None]
INTERRUPTED = "Interrupted; no file was left half-written."


def plain(text: object) -> str:
    """One line without control and direction characters, which could rewrite the screen."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in str(text))


def forgive_encodings() -> None:
    """Escape characters that the encoding of stdout lacks, as Python does on stderr.

    Otherwise a release that was made and written would end with an error, because its name cannot be printed.
    """
    change = getattr(sys.stdout, "reconfigure", None)
    if change is not None:
        change(errors="backslashreplace")


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
    """Shows the current stage, the part of the budget that is spent, and the rows passed over.

    It is one moving line on a terminal, and nothing elsewhere.
    """

    def __init__(self, status: Any = None) -> None:
        self._status = status
        self._words, self._spent, self._rows = "", 0.0, 0

    @property
    def told(self) -> dict[str, Any]:
        """The callbacks by which ``privgmm.release`` reports its progress; none where nobody would see it."""
        return {} if self._status is None else {"progress": self.passed, "stage": self.stage}

    def stage(self, words: str, spent: float) -> None:
        """The stage ``words`` begins, and the part ``spent`` of the budget, 0 to 1, is spent."""
        self._words, self._spent, self._rows = words, spent, 0
        self._show()

    def passed(self, rows: int) -> None:
        """Count ``rows`` further rows that were passed over."""
        self._rows += rows
        self._show()

    def _show(self) -> None:
        if self._status is not None:
            rows = f", {self._rows:,} rows passed over" if self._rows else ""
            self._status.update(f"{self._spent:4.0%} of the budget spent; {self._words}{rows} ...")

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Stop the moving line while the block runs, e.g. to ask a question."""
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


class Terminated(BaseException):
    """The process was asked to end; raised so that temporary files are removed on the way out.

    ``spent`` says what the ledger was charged before that; ``code`` is the exit code.
    """

    def __init__(self, spent: str = "", code: int = 143) -> None:
        super().__init__(spent)
        self.spent = spent
        self.code = code
