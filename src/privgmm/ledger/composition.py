"""What releases cost together, and for which neighbours.

Costs: mu^2 adds up over proven releases, epsilon and delta over all others. Neighbours: what a release that protects one kind of
neighbours promises for another kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

from privgmm.errors import InputError
from privgmm.privacy.accounting import (
    SLACK_SHARE,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    TV_LIMIT,
    discretisation_slack,
    mu_from_epsilon,
)

# The same allowance for float rounding as the curator's (integer-noise.md, step 6, covers both).
_TOLERANCE = 1e-9
# Allowance for the rounding of decimal fractions, so that three releases of 0.1 fit into 0.3.
_ROUNDING = 1e-12
Relation = Literal[
    "label", "replace", "add-remove", "person-label", "person-replace", "person-add-remove"
]
# What happens between two neighbours, in words.
NEIGHBOURS: dict[Relation, str] = {
    "label": "one label changes",
    "replace": "one record is replaced",
    "add-remove": "one record is added or removed",
    "person-label": "all labels of one person change",
    "person-replace": "the rows of one person are replaced by as many others",
    "person-add-remove": "all rows of one person are added or removed",
}
# The options by which users ask for this protection.
UNITS: dict[Relation, str] = {
    "label": "--unit label",
    "replace": "--unit record",
    "add-remove": "--unit record --adjacency add-remove",
    "person-label": "--unit person --adjacency label",
    "person-replace": "--unit person",
    "person-add-remove": "--unit person --adjacency add-remove",
}
_STEPS: dict[tuple[Relation, Relation], int] = {
    ("label", "label"): 1,
    ("label", "replace"): 1,
    ("label", "add-remove"): 2,
    ("label", "person-label"): 1,
    ("label", "person-replace"): 1,
    ("label", "person-add-remove"): 2,
    ("replace", "replace"): 1,
    ("replace", "add-remove"): 2,
    ("replace", "person-replace"): 1,
    ("replace", "person-add-remove"): 2,
    ("add-remove", "add-remove"): 1,
    ("add-remove", "person-add-remove"): 2,
    ("person-label", "person-label"): 1,
    ("person-label", "person-replace"): 1,
    ("person-label", "person-add-remove"): 2,
    ("person-replace", "person-replace"): 1,
    ("person-replace", "person-add-remove"): 2,
    ("person-add-remove", "person-add-remove"): 1,
}
# Steps for each single row of a person; they are multiplied by the stated cap on rows per person.
_STEPS_PER_ROW: dict[tuple[Relation, Relation], int] = {
    ("person-label", "label"): 1,
    ("person-label", "replace"): 1,
    ("person-label", "add-remove"): 2,
    ("person-replace", "replace"): 1,
    ("person-replace", "add-remove"): 2,
    ("person-add-remove", "add-remove"): 1,
}


@dataclass(frozen=True)
class Cost:
    """The price of one release, or of several, between neighbours of one kind."""

    mu: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0
    distance: float = 0.0


def gaussian_cost(mu: float) -> Cost:
    """A proven release of mu-GDP."""
    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    return Cost(mu=mu, distance=TV_LIMIT)


def plain_cost(epsilon: float, delta: float) -> Cost:
    """Any other (epsilon, delta)-DP release; delta may be 0 (pure differential privacy)."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got {epsilon}.")
    if not 0 <= delta < 1:
        raise InputError(f"Delta must be at least 0 and below 1, got {delta}.")
    return Cost(epsilon=epsilon, delta=delta)


def over_steps(cost: Cost, steps: int) -> Cost:
    """The same release between tables that are ``steps`` neighbours apart (docs/proofs/ledger.md, 2).

    mu-GDP becomes k*mu-GDP (Dong, Roth, Su 2022, Theorem 3), with a twin at the same distance, and
    (epsilon, delta)-DP becomes (k*epsilon, (1 + e^epsilon + ... + e^((k-1) epsilon)) delta)-DP.
    """
    if steps == 1:
        return cost
    delta = cost.delta
    if delta > 0:
        # Beyond e^700 floats overflow; a delta above one bounds nothing anyway.
        far = steps * cost.epsilon > 700
        delta *= math.inf if far else math.expm1(steps * cost.epsilon) / math.expm1(cost.epsilon)
    return Cost(steps * cost.mu, steps * cost.epsilon, delta, cost.distance)


def add(costs: list[Cost]) -> Cost:
    """Adaptive composition."""
    return Cost(
        math.sqrt(math.fsum(c.mu * c.mu for c in costs)),
        math.fsum(c.epsilon for c in costs),
        math.fsum(c.delta for c in costs),
        math.fsum(c.distance for c in costs),
    )


def mu_allowed(epsilon: float, delta: float, spent: Cost) -> float:
    """The largest total mu that (epsilon, delta) holds beside everything else in ``spent``."""
    rest, left = epsilon - spent.epsilon, delta - spent.delta
    if rest < SMALLEST_EPSILON or left < SMALLEST_DELTA:
        return 0.0
    if discretisation_slack(epsilon, spent.distance) > SLACK_SHARE * left:
        return 0.0
    return mu_from_epsilon(rest, left)


def fits(epsilon: float, delta: float, spent: Cost) -> bool:
    """Whether everything in ``spent`` together is (epsilon, delta)-DP."""
    if spent.epsilon > epsilon * (1 + _ROUNDING) or spent.delta > delta * (1 + _ROUNDING):
        return False
    return spent.mu == 0 or spent.mu <= mu_allowed(epsilon, delta, spent) * (1 + _TOLERANCE)


def relation(unit: str, adjacency: str | None = None) -> Relation:
    """The neighbouring relation of a unit: label, or record or person with an adjacency.

    A person's adjacency may also be label: all labels of one person change.
    """
    if unit not in ("label", "record", "person"):
        raise InputError(f"The unit must be 'label', 'record' or 'person', got {unit!r}.")
    if unit == "person" and adjacency == "label":
        return "person-label"
    if adjacency not in (None, "replace", "add-remove"):
        raise InputError(f"The adjacency must be 'replace' or 'add-remove', got {adjacency!r}.")
    if unit == "label":
        return "label"
    kind = adjacency or "replace"
    return cast(Relation, kind if unit == "record" else f"person-{kind}")


def steps_between(
    protected: Relation, released: Relation, max_rows: int | None = None
) -> int | None:
    """Steps of the released kind per step of the protected kind; None where there is no bound."""
    if (protected, released) in _STEPS:
        return _STEPS[protected, released]
    if max_rows is not None and (protected, released) in _STEPS_PER_ROW:
        return max_rows * _STEPS_PER_ROW[protected, released]
    return None


def why_no_bound(protected: Relation, released: Relation) -> str:
    """The fact that a release of this kind takes as public although neighbours of the protected kind differ in it."""
    if (protected, released) in _STEPS_PER_ROW:
        return "no cap on the rows of one person is stated"
    if released in ("label", "person-label"):
        return "it takes the features of every row to be public"
    what = "persons" if released.startswith("person") else "rows"
    return f"it takes the number of {what} to be public"


def no_bound(budget: Relation, released: Relation) -> str:
    """Why a release that a budget does not bound is refused, and how to go on in the same ledger."""
    if (budget, released) in _STEPS_PER_ROW:
        remedy = "state one with 'privgmm ledger budget --max-rows'"
    else:
        remedy = (
            "if that is so, state a budget for it in this same ledger "
            f"('privgmm ledger budget {UNITS[released]}') and lose every bound for the first case"
        )
    return (
        f"This ledger keeps a budget for the case that {NEIGHBOURS[budget]}, which a release for the "
        f"case that {NEIGHBOURS[released]} does not bound, because {why_no_bound(budget, released)}; "
        f"{remedy}."
    )
