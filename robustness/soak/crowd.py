"""Many processes spend from one ledger at once, and some are killed while they do."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from random import Random

from privgmm import InputError
from privgmm.errors import BudgetError
from privgmm.ledger import Ledger
from privgmm.privacy import mu_from_epsilon

from . import shim
from .actions import DELTA
from .child import finish, start
from .properties import KEPT, NEXT, PAID, Verdict
from .trial import World

_TOTAL, _EACH = 0.3, 0.1


def crowd(world: World, rng: Random) -> tuple[Verdict, str]:
    """2 to 8 spenders until the budget is gone; about half are killed at a random step."""
    capacity()  # now, lest each spender finds out for itself
    world.turns += 1
    folder = world.scratch / f"t{world.turns}"
    folder.mkdir()
    ledger = Ledger.create(folder / "c.db", _TOTAL, DELTA, "label")
    spenders = []
    for _ in range(rng.randint(2, 8)):
        step = rng.randint(1, 120) if rng.random() < 0.5 else 0
        spenders.append(start(functools.partial(_spend_all, ledger, step), folder))
    ends = [finish(*spender) for spender in spenders]
    verdict = Verdict()
    _judge(verdict, ledger, ends)
    world.forget(folder)
    return verdict, "killed" if any(code < 0 for code, *_ in ends) else "finished"


def _spend_all(ledger: Ledger, step: int) -> int:
    shim.arm(ledger.path.parent, shim.ALL, shim.KILL_BEFORE, 0, step)
    return 0 if spends_until_refused(ledger) <= capacity() else 1


def spends_until_refused(ledger: Ledger, most: int = 50) -> int:
    """How many spends the ledger takes; a ledger that refuses nothing is left alone in the end."""
    for number in range(most):
        try:
            ledger.spend(mu_from_epsilon(_EACH, DELTA), _EACH, DELTA, "label")
        except BudgetError:
            return number
    return most


def _judge(verdict: Verdict, ledger: Ledger, ends) -> None:
    told = sum(told.count("s") for _, told, *_ in ends)
    killed = sum(code < 0 for code, *_ in ends)
    try:
        found = len(ledger.rows())
    except InputError as problem:
        verdict.check(KEPT, False, problem)
        return
    kept = told <= found <= told + killed
    verdict.check(KEPT, kept, f"{told} spends returned, {killed} killed, {found} found")
    verdict.check(PAID, found <= capacity(), f"{found} spends where {capacity()} fit")
    fine = all(code in (0, -9) and not hung for code, _, hung, _ in ends)
    verdict.check(NEXT, fine, f"spenders ended with {ends}")
    # The lock of a killed holder is free again, and what is left can be spent, no more.
    spends_until_refused(ledger)
    verdict.check(NEXT, len(ledger.rows()) == capacity(), "the rest cannot be spent")


@functools.cache
def capacity() -> int:
    """How many spends fit, found by one process alone."""
    with tempfile.TemporaryDirectory() as folder:
        return spends_until_refused(Ledger.create(Path(folder) / "a.db", _TOTAL, DELTA, "label"))
