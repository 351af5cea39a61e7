"""Count how often one release walks from room to room: ``python tools/rooms.py [--unit record] [--rows N]``.

A room is a folder or a module directly under ``src/privgmm``. The command ``privgmm release`` runs
twice on an invented CSV in this process: the first time loads all modules, the second time a
profiler hook notes every call of a named function of the package, in all threads. A *switch* is a
call in another room than the call before. The noise is seeded, so the calls repeat; reader threads
interleave, so the number of switches may differ by a few. On commit 02ba004: 200 to 204 switches,
167 functions, 43 files (139 switches at record level).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import privgmm
from privgmm.cli import run
from privgmm.datasets import synthetic

SOURCE = str(Path(privgmm.__file__).parent) + os.sep


@dataclass(frozen=True)
class Call:
    """One call of a function of the package."""

    path: str
    function: str

    @property
    def room(self) -> str:
        return self.path.split(os.sep)[0].removesuffix(".py")


@dataclass(frozen=True)
class Walk:
    """The calls of one release, in order."""

    calls: tuple[Call, ...]

    @property
    def switches(self) -> Counter[tuple[str, str]]:
        """How often the walk went from one room to another."""
        rooms = [call.room for call in self.calls]
        return Counter((a, b) for a, b in pairwise(rooms) if a != b)

    @property
    def functions(self) -> int:
        return len(set(self.calls))

    @property
    def files(self) -> int:
        return len({call.path for call in self.calls})


def walk(rows: int = 1000, unit: str = "label") -> Walk:
    """The walk of one release of a CSV with this many rows, two features and two classes."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        X, y = synthetic(rows, 2, 2, seed=0)
        lines = [f"{a},{b},{'xy'[k]}" for (a, b), k in zip(X.tolist(), y, strict=True)]
        table.write_text("a,b,kind\n" + "\n".join(lines) + "\n", encoding="utf-8")
        words = ["release", str(table), "--label", "kind", "--unit", unit, "--classes", "x,y"]
        words += [
            "--epsilon",
            "1",
            "--delta",
            "1e-5",
            "--seed",
            "0",
            "--overwrite",
            "-o",
            f"{folder}/r.json",
        ]
        words += ["--radius", "20"] if unit == "record" else []
        _run(words)
        with _noted() as calls:
            _run(words)
    return Walk(tuple(calls))


def _run(words: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if run(words) != 0:
            raise SystemExit("The release failed: run privgmm " + " ".join(words))


@contextlib.contextmanager
def _noted() -> Any:
    calls: list[Call] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Comprehensions and lambdas are part of the function that holds them.
        ours = code.co_filename.startswith(SOURCE)
        if event == "call" and ours and code.co_name[0] != "<":
            calls.append(Call(code.co_filename.removeprefix(SOURCE), code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/rooms.py", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--unit", choices=("label", "record"), default="label")
    options = parser.parse_args()
    walked = walk(options.rows, options.unit)
    print(
        f"{walked.switches.total()} switches of room, {walked.functions} functions, "
        f"{walked.files} files, {len(walked.calls)} calls"
    )
    for (a, b), times in walked.switches.most_common(12):
        print(f"{times:5d}  {a} -> {b}")


if __name__ == "__main__":
    main()
