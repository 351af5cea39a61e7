"""One trial: a fresh folder, a fault, the properties, and the same command again without a fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from . import shim
from .actions import ACTIONS, Action
from .child import Outcome, beside, outcome_of
from .properties import CLEAN, KEPT, NEXT, Verdict, after, before, stray_files


@dataclass
class World:
    """The template, the scratch folder, and what a fault-free run of each action takes."""

    template: Path
    scratch: Path
    counted: dict[tuple[str, int], int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    turns: int = 0

    def fresh(self, action: Action, old: bool) -> Path:
        """A copy of the template; with ``old``, an earlier output is there to be replaced."""
        self.turns += 1
        folder = self.scratch / f"t{self.turns}"
        shutil.copytree(self.template, folder)
        if old and action.output and action.output != action.ledger:
            (folder / action.output).write_text("an older file")
        return folder

    def forget(self, folder: Path) -> None:
        for path in (folder, *(beside(folder, name) for name in ("tmp", "stdout", "stderr"))):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def steps(self, action: Action, kinds: int) -> int:
        """How many steps of these kinds a fault-free run makes."""
        if (action.name, kinds) not in self.counted:
            folder = self.fresh(action, old=False)
            outcome = outcome_of(
                folder, action.arguments, lambda: shim.arm(folder, kinds, shim.NOTHING), shim.steps
            )
            assert outcome.code == 0, outcome
            self.counted[action.name, kinds] = outcome.steps
            self.seconds[action.name] = outcome.seconds
            self.forget(folder)
        return self.counted[action.name, kinds]


# Cheap and file-heavy actions more often.
WEIGHTS = {
    "release": 3,
    "release labels": 3,
    "spend": 4,
    "budget": 3,
    "report": 1,
    "report inside": 1,
}


def choose_action(rng: Random) -> Action:
    return rng.choices(ACTIONS, [WEIGHTS.get(action.name, 2) for action in ACTIONS])[0]


def run_trial(
    world: World,
    action: Action,
    folder: Path,
    hurt: Callable[[Path], Outcome],
    heal: Callable[[Path], None] = lambda folder: None,
    helpless: bool = False,
) -> tuple[Verdict, Outcome]:
    """``hurt`` runs the command under a fault; ``heal`` mends what no program could (the disk).

    ``helpless``: nobody could have cleaned up during the fault.
    """
    verdict, was = Verdict(), before(folder, action)
    outcome = hurt(folder)
    heal(folder)
    after(verdict, folder, action, was, outcome, helpless)
    if any(name == KEPT for name, _ in verdict.wrong):
        return verdict, outcome  # the ledger is lost or unreadable: there is no next run to judge
    now = before(folder, action) if action.charges else was
    again = outcome_of(folder, action.arguments, lambda: None, lambda: 0)
    verdict.check(NEXT, again.code == 0, f"{again}")
    after(verdict, folder, action, _ready_again(now, was), again)
    strays = stray_files(folder, action, was)
    verdict.check(CLEAN, not strays, f"{strays} still there after the next run")
    return verdict, outcome


def _ready_again(now, was):
    """The retry is judged against the folder as the fault left it, strays not forgiven."""
    return type(was)(was.names, now.rows, now.output)
