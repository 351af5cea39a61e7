"""Text from elsewhere, such as a path, made fit for a terminal."""

from __future__ import annotations

import sys


def plain(text: object) -> str:
    """One line without control and direction characters, which could rewrite the screen."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in str(text))


def forgive_encodings() -> None:
    """Escape on stdout what its encoding lacks, as Python does on stderr.

    A release that is written must not end in a complaint that its name cannot be printed.
    """
    change = getattr(sys.stdout, "reconfigure", None)
    if change is not None:
        change(errors="backslashreplace")
