"""Adequacy: which of the places that refuse input did a run reach?"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import privgmm
from privgmm.errors import InputError

_SOURCE = Path(privgmm.__file__).parent
_NAMES = ("InputError", "BudgetError")

Site = tuple[str, int]


def all_sites() -> dict[Site, int]:
    """(file, first line) of every place that makes a refusal, with its last line."""
    found = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in _NAMES:
                found[str(path.relative_to(_SOURCE)), node.lineno] = node.end_lineno or node.lineno
    return found


@contextlib.contextmanager
def watched() -> Iterator[set[Site]]:
    """Collect (file, line) of every refusal made in this process meanwhile."""
    reached: set[Site] = set()

    def note(self: InputError, *arguments: Any) -> None:
        frame = sys._getframe(1)
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_SOURCE):
            reached.add((str(path.relative_to(_SOURCE)), frame.f_lineno))
        ValueError.__init__(self, *arguments)

    with mock.patch.object(InputError, "__init__", note):
        yield reached


def report(reached: set[Site]) -> str:
    """How many were reached, and the files of the others."""
    sites = all_sites()
    hit = {
        (file, first)
        for (file, first), last in sites.items()
        if any(name == file and first <= line <= last for name, line in reached)
    }
    missed: dict[str, list[str]] = {}
    for file, first in sorted(sites.keys() - hit):
        missed.setdefault(file, []).append(str(first))
    lines = [f"{len(hit)} of {len(sites)} places that refuse input were reached; not reached:"]
    return "\n".join([*lines, *(f"  {file}: {', '.join(at)}" for file, at in missed.items())])
