"""What releases cost together: mu^2 adds over proven releases, epsilon and delta over all others.

A total of (E, D) is kept when every release of the second kind, together (e, d)-DP by plain adaptive
composition, leaves room for the first kind:

    delta_GDP(E - e; mu) + (1 + e^E) * distance <= D - d,      mu^2 = sum of mu_i^2,

where *distance* sums what the releases are away from Gaussian twins, each at most TV_LIMIT
(docs/proofs/integer-noise.md, steps 2 and 4). The two kinds may be interleaved and releases chosen after
seeing earlier ones: docs/proofs/ledger.md, 3, cites the theorems and says where amounts may be chosen so too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
# Sums of decimal fractions: three times 0.1 is 0.3.
_ROUNDING = 1e-12


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
        # e^700 is the last float; a delta above one bounds nothing anyway.
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
