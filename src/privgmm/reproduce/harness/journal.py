"""Finished tasks on disk: one JSON line each, appended, so that an interrupted run goes on."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict
from pathlib import Path

import privgmm
from privgmm.errors import InputError
from privgmm.reproduce.harness.experiment import Row, Study, Task

# Files that no number of a trial depends on; any other changed file starts a new journal, so that two
# programs are never mixed. Listed by what is left out, because a forgotten room must not go unnoticed.
_NO_NUMBERS = ("__main__.py", "audit", "cli", "ledger", "plan", "report", "reproduce/__init__.py",
               "reproduce/page", "reproduce/harness/drawing.py", "reproduce/harness/findings.py",
               "reproduce/harness/table.py", "reproduce/harness/runner.py")  # fmt: skip


class Journal:
    """The finished tasks of one study under one seed, one program and one source of data."""

    def __init__(self, folder: Path, study: Study, seed: int) -> None:
        self.path = folder / f"{study.name}-{_digest(study, seed)}.jsonl"
        self._finished: dict[tuple[float, int], list[Row]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._read()
        except OSError as problem:
            raise InputError(f"Cannot use the folder {folder}: {problem.strerror}.") from None

    def __contains__(self, task: Task) -> bool:
        return (task.x, task.trial) in self._finished

    def rows(self, task: Task) -> list[Row]:
        """The rows of a task that was finished before."""
        return self._finished[task.x, task.trial]

    def add(self, task: Task, rows: list[Row]) -> None:
        """Keep a finished task; it is on disk when this returns."""
        line = {"x": task.x, "trial": task.trial, "rows": [_packed(row) for row in rows]}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._finished[task.x, task.trial] = rows

    def _read(self) -> None:
        if not self.path.exists():
            return
        whole = 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                kept = json.loads(line)
                if not line.endswith(b"\n"):
                    break
            except ValueError:
                break  # cut off in mid-line by the interruption
            whole += len(line)
            self._finished[kept["x"], kept["trial"]] = [Row(**row) for row in kept["rows"]]
        with self.path.open("r+b") as file:
            file.truncate(whole)


def _packed(row: Row) -> dict[str, object]:
    return {name: value for name, value in asdict(row).items() if value is not None}


def _digest(study: Study, seed: int) -> str:
    description = {
        "settings": dict(study.settings),
        "methods": study.methods,
        "source": study.source(),
        "seed": seed,
        "program": _program_digest(study),
    }
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _program_digest(study: Study) -> str:
    """Of the study's own file and of every source file that may lie behind its numbers.

    The files of other figures do not: a figure that is changed leaves the others' trials as they are.
    """
    root = Path(privgmm.__file__).parent
    own = inspect.getsourcefile(study.run)
    digest = hashlib.sha256(Path(own).read_bytes() if own else b"")
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        skipped = any(name == left or name.startswith(f"{left}/") for left in _NO_NUMBERS)
        if not skipped and name not in _figures(root):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _figures(root: Path) -> set[str]:
    """Files that describe figures, told by the list of experiments they end with."""
    folder = root / "reproduce" / "figures"
    return {
        path.relative_to(root).as_posix()
        for path in folder.glob("*.py")
        if "EXPERIMENTS" in path.read_text(encoding="utf-8")
    }
