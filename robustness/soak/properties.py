"""What must hold after any fault; each returns a sentence when it does not."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from privgmm import InputError, Release
from privgmm.ledger import Ledger, Spend

from .actions import Action, secrets
from .child import Outcome, beside

PAID = "paid before noise was drawn or a release was visible"
KEPT = "every acknowledged spend is still in the ledger"
WHOLE = "files are whole, the old one or absent"
CLEAN = "nothing is left behind"
PRIVATE = "no private value outside the table"
SENTENCE = "one sentence and the right exit code"
NEXT = "the next run works"


@dataclass
class Verdict:
    """Which properties were checked how often, and what was wrong."""

    checked: dict[str, int] = field(default_factory=dict)
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def check(self, name: str, holds: bool, otherwise: object) -> None:
        self.checked[name] = self.checked.get(name, 0) + 1
        if not holds:
            self.wrong.append((name, str(otherwise)))


@dataclass(frozen=True)
class Before:
    """The folder before the fault."""

    names: frozenset[str]
    rows: tuple[Spend, ...]
    output: tuple[int, int] | None


def before(folder: Path, action: Action) -> Before:
    rows = tuple(Ledger.open(folder / action.ledger).rows()) if action.charges else ()
    return Before(frozenset(os.listdir(folder)), rows, _stamp(folder, action))


def after(
    verdict: Verdict,
    folder: Path,
    action: Action,
    was: Before,
    outcome: Outcome,
    helpless: bool = False,
) -> None:
    """Check everything that must hold when the command has ended, however it ended."""
    verdict.check(SENTENCE, _said_well(outcome), f"{outcome}")
    new = _stamp(folder, action) != was.output
    if action.charges:
        _check_ledger(verdict, folder, action, was, outcome, new)
    if new and action.output != action.ledger:
        verdict.check(WHOLE, _is_whole(folder, action), f"{action.output} is in part")
    if outcome.code == 0 and action.output:
        verdict.check(WHOLE, new, f"said that it wrote {action.output} and did not")
    strays = stray_files(folder, action, was)
    if not outcome.killed and not helpless:
        verdict.check(CLEAN, not strays, f"left {strays} with code {outcome.code}")
    for path in strays:
        closed = stat.S_IMODE(path.stat().st_mode) == 0o600
        verdict.check(
            PRIVATE, closed or _is_whole(folder, action, path), f"{path.name} is readable"
        )
    check_private(verdict, folder)


def _check_ledger(
    verdict: Verdict, folder: Path, action: Action, was: Before, outcome: Outcome, new: bool
) -> None:
    try:
        rows = tuple(Ledger.open(folder / action.ledger).rows())
    except InputError as problem:
        verdict.check(KEPT, False, problem)
        return
    added = rows[len(was.rows) :]
    acknowledged = outcome.told.count("s")
    kept = rows[: len(was.rows)] == was.rows and acknowledged <= len(added) <= 1
    verdict.check(KEPT, kept, f"{len(was.rows)} + {acknowledged} acknowledged, {len(rows)} found")
    seen = "n" in outcome.told or (new and action.output is not None)
    verdict.check(PAID, bool(added) or not seen, f"events {outcome.told!r}, nothing spent")
    if new and added and action.output and _is_whole(folder, action):
        promised = Release.load(folder / action.output).guarantee
        verdict.check(PAID, promised.mu <= added[0].cost.mu, "paid less than was released")


def stray_files(folder: Path, action: Action, was: Before) -> list[Path]:
    sqlite = (f"{action.ledger}{end}" for end in ("-wal", "-shm", "-journal"))
    known = {*was.names, action.output, *sqlite}
    own = [path for path in folder.iterdir() if path.name not in known]
    return own + list(beside(folder, "tmp").iterdir())


def check_private(verdict: Verdict, folder: Path) -> None:
    """No number of the table in any other file, nor in what was printed."""
    cells = secrets(folder)
    places = [path for path in folder.iterdir() if path.stem != "t"]
    places += [beside(folder, name) for name in ("stdout", "stderr")]
    for path in places:
        text = path.read_bytes()
        verdict.check(PRIVATE, not any(cell in text for cell in cells), f"found in {path.name}")


def _said_well(outcome: Outcome) -> bool:
    """Silent when killed; else exit 0, or one line on stderr that is not a traceback."""
    if outcome.hung:
        return False
    if outcome.killed:
        return "Traceback" not in outcome.stderr
    line = outcome.stderr
    if outcome.code == 0:
        return line == ""
    one = line.count("\n") == 1 and line.rstrip().endswith(".") and "Traceback" not in line
    if outcome.code == 2:
        return one and line.startswith("Error: ")
    return one and outcome.code in (130, 143) and line.startswith("Interrupted")


def _is_whole(folder: Path, action: Action, path: Path | None = None) -> bool:
    try:
        action.whole(path or folder / (action.output or action.ledger))
    except Exception:
        return False
    return True


def _stamp(folder: Path, action: Action) -> tuple[int, int] | None:
    """Tells an output from an older one, even if it holds the same bytes."""
    path = folder / (action.output or "")
    if not (action.output and path.is_file()):
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns
