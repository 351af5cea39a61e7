"""Attacks that try to refute a privacy claim, and lower bounds on what is really given away."""

from __future__ import annotations

from typing import Any

from privgmm.audit.success import Success, successes
from privgmm.audit.verdict import CONFIDENCE, Attack, AuditLine, judge
from privgmm.errors import InputError
from privgmm.privacy.accounting import check_epsilon_delta

__all__ = [
    "CONFIDENCE",
    "Attack",
    "AuditLine",
    "Success",
    "attacks",
    "audit",
    "inference",
    "judge",
    "successes",
]


def audit(
    mechanism: str = "proven",
    unit: str = "label",
    epsilon: float = 1.0,
    delta: float = 1e-5,
    **effort: Any,
) -> tuple[list[Attack], list[AuditLine]]:
    """Attack a mechanism on invented neighbouring tables; returns the attacks and their verdicts.

    ``effort`` is that of ``attacks``: trials, seed and seconds.
    """
    found = attacks(mechanism, unit, epsilon, delta, **effort)
    return found, judge(found, epsilon, delta)


def inference(
    mechanism: str = "proven",
    unit: str = "label",
    epsilon: float = 1.0,
    delta: float = 1e-5,
    **effort: Any,
) -> tuple[list[Attack], list[Success]]:
    """Guess a label, or whether a record is in the table; report how often the guess is right, beside the ceiling.

    It runs the attacks of ``audit``, whose attacker knows all other rows, and those of a realistic attacker
    who sees the released mixture and one row.
    """
    found = attacks(mechanism, unit, epsilon, delta, **effort, realistic=True)
    return found, successes(found, epsilon, delta)


def attacks(
    mechanism: str,
    unit: str,
    epsilon: float,
    delta: float,
    trials: int = 200_000,
    seed: int | None = None,
    seconds: float = 30.0,
    realistic: bool = False,
) -> list[Attack]:
    """Run the attacks and return their scores, without a verdict.

    Every attack on raw statistics has ``trials`` runs on each of its two tables; whole proven releases are
    slow and get as many runs as fit into ``seconds`` (none for 0). ``seed`` replaces OpenDP's noise by the
    seeded source: quick and repeatable, but not the noise that releases use. ``realistic`` adds attackers
    who know little; they share the time with the others.
    """
    check_epsilon_delta(epsilon, delta)
    if trials < 100:
        raise InputError(f"An audit needs at least 100 trials to conclude anything, got {trials}.")
    if unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {unit!r}.")
    if mechanism == "published":
        from privgmm.audit import published

        found = published.attacks(unit, epsilon, delta, trials, seed)
        if realistic:
            found += published.realistic_attacks(unit, epsilon, delta, trials, seed)
        return found
    if mechanism != "proven":
        raise InputError(f"The mechanism must be 'proven' or 'published', got {mechanism!r}.")
    from privgmm.audit import proven

    share = seconds / 2 if realistic else seconds
    found = proven.attacks(unit, epsilon, delta, trials, seed, share)
    if realistic and seconds > 0:
        found += proven.realistic_attacks(unit, epsilon, delta, seed, share)
    return found
