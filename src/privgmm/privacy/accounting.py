"""One currency: mu of Gaussian differential privacy (Dong, Roth, Su 2022).

A Gaussian mechanism of L2 sensitivity Delta and noise sigma is mu-GDP with mu = Delta / sigma;
adaptive composition adds squares; delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).
Conversions are dp-accounting's; docs/proofs/integer-noise.md proves the discretisation slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from privgmm.errors import InputError

# Part of delta that pays for discrete instead of continuous noise (docs/proofs/integer-noise.md).
SLACK_SHARE = 1e-3
# Total variation between a discrete and a rounded continuous Gaussian is below this over sigma^2.
TV_CONSTANT = 0.021
# dp-accounting searches to 1e-12; this keeps every rounding on the safe side.
_SAFETY = 1e-9


def check_epsilon_delta(epsilon: float, delta: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got {epsilon}.")
    if not 0 < delta < 1:
        raise InputError(f"Delta must lie strictly between 0 and 1, got {delta}.")


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian trade-off is inside (epsilon, delta), slack set aside."""
    from dp_accounting import get_sigma_gaussian

    check_epsilon_delta(epsilon, delta)
    sigma = get_sigma_gaussian(epsilon, delta * (1 - SLACK_SHARE))
    return (1 - _SAFETY) / float(sigma)


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta for a mu-GDP release, slack set aside."""
    from dp_accounting import get_epsilon_gaussian

    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    return float(get_epsilon_gaussian(1 / mu, delta * (1 - SLACK_SHARE))) * (1 + _SAFETY)


def compose(mus: Iterable[float]) -> float:
    """Adaptive composition of Gaussian mechanisms: mu = sqrt(sum mu_i^2)."""
    return math.sqrt(math.fsum(mu * mu for mu in mus))


def discretisation_slack(epsilon: float, scales: Iterable[float]) -> float:
    """Extra delta of integer noise: (1 + e^eps) * sum_j 0.021 / scale_j^2, scales in grid steps."""
    return (1 + math.exp(epsilon)) * math.fsum(TV_CONSTANT / (s * s) for s in scales)
