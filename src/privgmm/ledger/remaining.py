"""What is left of a budget, in numbers and in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.ledger.composition import Cost, Relation, add, mu_allowed
from privgmm.ledger.records import Budget, Spend
from privgmm.privacy.accounting import SMALLEST_DELTA, TV_LIMIT, epsilon_from_mu


@dataclass(frozen=True)
class Remaining:
    """The budget now. ``epsilon``: the largest that one further proven release may ask at ``delta``."""

    relation: Relation | None
    total_epsilon: float
    delta: float
    spent_epsilon: float
    mu: float
    epsilon: float
    releases: int


def remaining(budget: Budget, rows: list[Spend]) -> Remaining:
    spent = add([row.cost for row in rows])
    # Room for the distance of one further release, as spending it will need.
    allowed = mu_allowed(budget.epsilon, budget.delta, add([spent, Cost(distance=TV_LIMIT)]))
    rest = math.sqrt(max(allowed**2 - spent.mu**2, 0.0))
    # What the rounding of a total spent exactly leaves behind is nothing.
    rest = rest if rest > 1e-4 * allowed else 0.0
    left = budget.delta - spent.delta
    spent_epsilon = spent.epsilon
    if spent.mu > 0:
        spent_epsilon += epsilon_from_mu(spent.mu, left) if left >= SMALLEST_DELTA else math.inf
    return Remaining(
        held_relation(budget, rows),
        budget.epsilon,
        budget.delta,
        spent_epsilon,
        rest,
        _one_release(rest, budget.delta),
        len(rows),
    )


def held_relation(budget: Budget, rows: list[Spend]) -> Relation | None:
    """The stated relation, or that of the first release that has one."""
    known = [row.relation for row in rows if row.relation is not None]
    return budget.relation or (known[0] if known else None)


def too_much(epsilon: float, delta: float, rest: Remaining) -> str:
    """Why a release is refused and what could be asked for instead."""
    asked = f"A release of epsilon={epsilon:g}, delta={delta:g} does not fit into the budget"
    if rest.epsilon == 0:
        return f"{asked}: nothing remains of epsilon={rest.total_epsilon:g}."
    return (
        f"{asked}: one further release may take at most epsilon={rest.epsilon:g} "
        f"at delta={rest.delta:g}."
    )


def _one_release(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP release, four digits, rounded down so that asking for it succeeds."""
    if mu == 0:
        return 0.0
    epsilon = epsilon_from_mu(mu, delta) * (1 - 1e-6)
    scale = 10.0 ** (3 - math.floor(math.log10(epsilon)))
    return math.floor(epsilon * scale) / scale
