"""Privacy accounting in one currency: mu of Gaussian differential privacy (Dong, Roth, Su 2022).

A Gaussian mechanism of L2 sensitivity Delta and noise sigma is mu-GDP with mu = Delta / sigma;
adaptive composition adds squares; delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).
Conversions are dp-accounting's (conversions.py); docs/proofs/integer-noise.md proves the discretisation slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from privgmm.checks import real
from privgmm.errors import InputError
from privgmm.privacy.conversions import conversions

# Part of delta that pays for discrete instead of continuous noise (docs/proofs/integer-noise.md).
SLACK_SHARE = 1e-3
# Total variation between a discrete and a rounded continuous Gaussian is below this over sigma^2.
TV_CONSTANT = 0.021
# No release may be further than this, in total variation, from its twin with continuous noise, so that a ledger can add up many.
TV_LIMIT = 2.0**-60
# Inside this range dp-accounting's conversions are exact to 1e-9 (tests/privacy/test_accounting.py).
SMALLEST_EPSILON = 1e-5
SMALLEST_DELTA = 1e-30
LARGEST_EPSILON = 1e6
# This margin covers that error and the curator's tolerance for budgets spent in parts.
_SAFETY = 1e-8


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    """Refuse budgets that mean nothing or lie where their conversion loses digits."""
    if not (math.isfinite(real(epsilon, "Epsilon")) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got {epsilon}.")
    if not 0 < real(delta, "Delta") < 1:
        raise InputError(f"Delta must lie strictly between 0 and 1, got {delta}.")
    if epsilon > LARGEST_EPSILON:
        raise InputError(
            f"Epsilon must be at most {LARGEST_EPSILON:g}, which already protects nothing, "
            f"got {epsilon:g}."
        )
    if epsilon < SMALLEST_EPSILON or delta < SMALLEST_DELTA:
        raise InputError(
            f"Epsilon must be at least {SMALLEST_EPSILON:g} and delta at least {SMALLEST_DELTA:g}, "
            f"got epsilon={epsilon:g}, delta={delta:g}."
        )


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian trade-off is inside (epsilon, delta), slack set aside."""
    check_epsilon_delta(epsilon, delta)
    sigma = conversions().get_sigma_gaussian(epsilon, delta * (1 - SLACK_SHARE))
    return (1 - _SAFETY) / float(sigma)


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta for a mu-GDP release, slack set aside."""
    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    check_epsilon_delta(SMALLEST_EPSILON, delta)
    epsilon = float(conversions().get_epsilon_gaussian(1 / mu, delta * (1 - SLACK_SHARE)))
    # Below SMALLEST_EPSILON the search loses digits; reporting the larger value is still true.
    return max(epsilon * (1 + _SAFETY), SMALLEST_EPSILON)


def compose(mus: Iterable[float]) -> float:
    """Adaptive composition of Gaussian mechanisms: mu = sqrt(sum mu_i^2)."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def total_variation(scales: Iterable[float]) -> float:
    """Distance of integer noise from rounded continuous noise: sum_j 0.021 / scale_j^2 (grid steps)."""
    return math.fsum(TV_CONSTANT / (s * s) for s in scales)


def discretisation_slack(epsilon: float, distance: float) -> float:
    """Extra delta of a mechanism this far, in total variation, from a proven one: (1 + e^eps) tau."""
    # The exponent is capped where e^x is still a float; such a delta is refused anyway.
    return (1 + math.exp(min(epsilon, 700.0))) * distance
