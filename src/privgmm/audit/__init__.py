"""Attacks that try to refute a privacy claim, and lower bounds on what is really given away."""

from __future__ import annotations

from privgmm.audit.verdict import CONFIDENCE, Attack, Row, judge
from privgmm.errors import InputError
from privgmm.privacy.accounting import check_epsilon_delta

__all__ = ["CONFIDENCE", "Attack", "Row", "audit", "judge"]


def audit(
    mechanism: str = "proven",
    unit: str = "label",
    epsilon: float = 1.0,
    delta: float = 1e-5,
    trials: int = 200_000,
    seed: int | None = None,
    seconds: float = 30.0,
) -> tuple[list[Attack], list[Row]]:
    """Attack a mechanism on invented neighbouring tables; returns the attacks and their verdicts.

    ``trials`` runs on each of the two tables; whole proven releases are slow and get as many runs
    as fit into ``seconds`` (none for 0). ``seed`` swaps OpenDP's noise for the seeded source: quick and
    repeatable, but not the noise that releases use.
    """
    check_epsilon_delta(epsilon, delta)
    if trials < 100:
        raise InputError(f"An audit needs at least 100 trials to conclude anything, got {trials}.")
    if unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {unit!r}.")
    if mechanism == "published":
        from privgmm.audit.published import attacks as of_published

        found = of_published(unit, epsilon, delta, trials, seed)
    elif mechanism == "proven":
        from privgmm.audit.proven import attacks as of_proven

        found = of_proven(unit, epsilon, delta, trials, seed, seconds)
    else:
        raise InputError(f"The mechanism must be 'proven' or 'published', got {mechanism!r}.")
    return found, judge(found, epsilon, delta)
