"""One tape, one table, some neighbours: all that comes out must be the same."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from .doors import ALL_DOORS, Outcome, Wishes
from .memory import remembered
from .tables import Table
from .tape import MANNERS, Asked, SidePathError, Tape, recording, replaying

_SHOWN = 300


UNRELEASED = "The table was not released"


@dataclass(frozen=True)
class Case:
    """A table, its neighbours under the adjacency of ``wishes``, and how they come in."""

    door: str
    wishes: Wishes
    table: Table
    neighbours: tuple[Table, ...]
    manner: str = "drawn"
    seed: int = 0
    # Of the person who differs, in either table.
    most_rows: int = 1


def check(case: Case, fresh: bool = False) -> list[Asked]:
    """Raise SidePathError for the first neighbour that shows itself; the queries that were asked.

    ``fresh``: compute everything anew in every run.
    """
    door = ALL_DOORS[case.door]
    tape = Tape(MANNERS[case.manner], case.seed, case.most_rows)
    with contextlib.nullcontext() if fresh else remembered():
        with recording(tape):
            first = door(case.table, case.wishes)
        if not first.released and case.manner == "drawn":
            raise SidePathError(f"{UNRELEASED}: {_words(first)}")
        for number, neighbour in enumerate(case.neighbours):
            with replaying(tape) as faults:
                second = door(neighbour, case.wishes)
            found = [*faults, *differences(first, second)]
            if found:
                raise SidePathError(f"neighbour {number}: " + "; ".join(found))
    return tape.asked


def differences(first: Outcome, second: Outcome) -> list[str]:
    """Where two runs let something else out."""
    return [
        f"{name} differs: {_excerpt(first, second, name)}"
        for name in sorted(first.shown.keys() | second.shown.keys())
        if first.shown.get(name) != second.shown.get(name)
    ]


def _excerpt(first: Outcome, second: Outcome, name: str) -> str:
    """The first place where the two differ."""
    a, b = (outcome.shown.get(name, b"(nothing)") for outcome in (first, second))
    at = next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    start = max(at - 40, 0)
    return f"{a[start : at + _SHOWN // 3]!r} / {b[start : at + _SHOWN // 3]!r}"


def _words(outcome: Outcome) -> str:
    return "; ".join(f"{k}: {v.decode()[:_SHOWN]}" for k, v in outcome.shown.items() if v)
