"""Progress on a terminal, silence in a pipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a moving line on a terminal's stderr while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield
