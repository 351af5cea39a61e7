"""How a command is stopped from outside, and what it says then."""

from __future__ import annotations

INTERRUPTED = "Interrupted; no file was left half-written."


class Terminated(BaseException):
    """The process was asked to end; raised so that temporary files are removed on the way out.

    ``spent`` says what a ledger was charged before; ``code`` is the exit code.
    """

    def __init__(self, spent: str = "", code: int = 143) -> None:
        super().__init__(spent)
        self.spent = spent
        self.code = code
