"""What all releases cost together for one kind of neighbours, and what is left of a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.ledger.composition import (
    NEIGHBOURS,
    Cost,
    Relation,
    add,
    mu_allowed,
    over_steps,
    steps_between,
    why_no_bound,
)
from privgmm.ledger.records import Budget, Spend, Stated
from privgmm.privacy.accounting import SMALLEST_DELTA, TV_LIMIT, epsilon_from_mu


@dataclass(frozen=True)
class Unbounded:
    """A release that bounds nothing for these neighbours, and why."""

    number: int
    reason: str

    @property
    def words(self) -> str:
        """Which release, and why."""
        return f"release {self.number} bounds nothing there, because {self.reason}"


@dataclass(frozen=True)
class Total:
    """What all releases cost together, for one kind of neighbours.

    ``cost`` adds those that have a bound; where ``unbounded`` names others, there is no bound at all.
    """

    cost: Cost
    unbounded: tuple[Unbounded, ...]

    def epsilon(self, delta: float) -> float:
        """The epsilon of everything together at this delta; infinite where there is no bound."""
        left = delta - self.cost.delta
        if self.unbounded or (self.cost.mu > 0 and left < SMALLEST_DELTA) or left < 0:
            return math.inf
        return self.cost.epsilon + (epsilon_from_mu(self.cost.mu, left) if self.cost.mu else 0.0)


@dataclass(frozen=True)
class Remaining:
    """One budget now. ``epsilon``: the largest that one further proven release may ask at ``delta``.

    ``spent_epsilon`` is infinite if a release in ``unbounded`` has no bound for these neighbours.
    """

    relation: Relation | None
    total_epsilon: float
    delta: float
    spent_epsilon: float
    mu: float
    epsilon: float
    releases: int
    unbounded: tuple[Unbounded, ...] = ()

    @property
    def words(self) -> str:
        """One sentence for the person who keeps the budget."""
        case = "" if self.relation is None else f" for the case that {NEIGHBOURS[self.relation]}"
        if self.unbounded:
            return f"There is no bound any more{case}: {self.unbounded[0].words}."
        return (
            f"Spent epsilon={self.spent_epsilon:.4g} of {self.total_epsilon:g} at "
            f"delta={self.delta:g}{case}; one further release may take epsilon={self.epsilon:g}."
        )


def total(relation: Relation | None, stated: Stated, rows: list[Spend]) -> Total:
    """Every release converted to neighbours of one kind (docs/proofs/ledger.md, 1), then added."""
    costs, unbounded = [], []
    for row in rows:
        released = row.relation or stated.relation
        steps: int | None = 1
        if relation is not None and released is not None:
            steps = steps_between(relation, released, stated.max_rows)
            if steps is None:
                unbounded.append(Unbounded(row.number, why_no_bound(relation, released)))
                continue
        assert steps is not None
        costs.append(over_steps(row.cost, steps))
    return Total(add(costs), tuple(unbounded))


def remaining(budget: Budget, stated: Stated, rows: list[Spend]) -> Remaining:
    """What is left of one of the stated budgets."""
    spent = total(budget.relation, stated, rows)
    # The next release will also add its distance from continuous noise, so room is left for it.
    allowed = mu_allowed(budget.epsilon, budget.delta, add([spent.cost, Cost(distance=TV_LIMIT)]))
    rest = math.sqrt(max(allowed**2 - spent.cost.mu**2, 0.0))
    # A rest this small is what rounding leaves of a total that was spent exactly: it counts as nothing.
    rest = rest if rest > 1e-4 * allowed else 0.0
    return Remaining(
        budget.relation,
        budget.epsilon,
        budget.delta,
        spent.epsilon(budget.delta),
        rest,
        _one_release(rest, budget.delta),
        len(rows),
        spent.unbounded,
    )


def too_much(epsilon: float, delta: float, steps: int, rest: Remaining) -> str:
    """Why a release is refused and what could be asked for instead."""
    asked = f"A release of epsilon={epsilon:g}, delta={delta:g} does not fit into the budget"
    if rest.relation is not None:
        asked += f" for the case that {NEIGHBOURS[rest.relation]}"
    if rest.epsilon == 0:
        return f"{asked}: nothing remains of epsilon={rest.total_epsilon:g}."
    # A release that counts as several neighbour steps may only have mu / steps.
    most = rest.epsilon if steps == 1 else _one_release(rest.mu / steps, rest.delta)
    return (
        f"{asked}: one further release of its kind may take at most epsilon={most:g} "
        f"at delta={rest.delta:g}."
    )


def _one_release(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP release, four digits, rounded down so that asking for it succeeds."""
    if mu == 0:
        return 0.0
    epsilon = epsilon_from_mu(mu, delta) * (1 - 1e-6)
    scale = 10.0 ** (3 - math.floor(math.log10(epsilon)))
    return math.floor(epsilon * scale) / scale
