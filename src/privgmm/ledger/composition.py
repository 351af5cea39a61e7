"""What releases cost together: mu^2 adds over proven releases, epsilon and delta over all others.

A total of (E, D) is kept when every release of the second kind, together (e, d)-DP by plain adaptive
composition, leaves room for the first kind:

    delta_GDP(E - e; mu) + (1 + e^E) * distance <= D - d,      mu^2 = sum of mu_i^2,

where *distance* sums what the releases are away from Gaussian twins, each at most TV_LIMIT
(docs/proofs/integer-noise.md, steps 2 and 4; releases may be chosen after seeing earlier ones).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

from privgmm.errors import BudgetError, InputError
from privgmm.privacy.accounting import (
    SLACK_SHARE,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    TV_LIMIT,
    discretisation_slack,
    mu_from_epsilon,
)

Relation = Literal["label", "replace", "add-remove"]

# How many neighbours of the release's kind make one neighbour of the ledger's kind. A flipped label
# is one replaced row, and a replaced row is one row removed and one added. Missing pairs are not
# comparable: a label-level release protects no features, and a replace-level one not the row count.
_STEPS: dict[tuple[Relation, Relation], int] = {
    ("label", "label"): 1,
    ("label", "replace"): 1,
    ("label", "add-remove"): 2,
    ("replace", "replace"): 1,
    ("replace", "add-remove"): 2,
    ("add-remove", "add-remove"): 1,
}
# The same allowance for float rounding as the curator's (integer-noise.md, step 6, covers both).
_TOLERANCE = 1e-9
# Sums of decimal fractions: three times 0.1 is 0.3.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cost:
    """The price of one release, or of several, under the ledger's relation."""

    mu: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0
    distance: float = 0.0


def relation(unit: str, adjacency: str | None = None) -> Relation:
    """The neighbouring relation of a unit: label, or record with an adjacency."""
    if unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {unit!r}.")
    if unit == "label":
        return "label"
    if adjacency not in (None, "replace", "add-remove"):
        raise InputError(f"The adjacency must be 'replace' or 'add-remove', got {adjacency!r}.")
    return cast(Relation, adjacency or "replace")


def steps_between(ledger: Relation, spent: Relation) -> int:
    """Neighbour steps of the release per neighbour step of the ledger; refuses the incomparable."""
    if (ledger, spent) not in _STEPS:
        raise BudgetError(
            f"This ledger keeps a budget for neighbours of kind '{ledger}', which a release for "
            f"neighbours of kind '{spent}' does not bound; use a ledger of its own kind."
        )
    return _STEPS[ledger, spent]


def gaussian_cost(mu: float, steps: int = 1) -> Cost:
    """A proven release: k neighbour steps of mu-GDP are k*mu-GDP (Dong, Roth, Su 2022, Theorem 3)."""
    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    return Cost(mu=steps * mu, distance=TV_LIMIT)


def plain_cost(epsilon: float, delta: float, steps: int = 1) -> Cost:
    """Any other (epsilon, delta)-DP release; delta may be 0 (pure differential privacy)."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got {epsilon}.")
    if not 0 <= delta < 1:
        raise InputError(f"Delta must be at least 0 and below 1, got {delta}.")
    # Two neighbour steps of (eps, delta)-DP are (2 eps, (1 + e^eps) delta)-DP.
    total = delta if steps == 1 else discretisation_slack(epsilon, delta)
    return Cost(epsilon=steps * epsilon, delta=total)


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
