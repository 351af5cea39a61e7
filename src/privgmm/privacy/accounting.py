"""One currency: mu of Gaussian differential privacy (Dong, Roth, Su 2022).

A Gaussian mechanism of L2 sensitivity Delta and noise sigma is mu-GDP with mu = Delta / sigma;
adaptive composition adds squares; delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2).
The conversions find roots of this formula; docs/proofs/integer-noise.md proves the discretisation slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from privgmm.checks import real
from privgmm.errors import InputError

# Part of delta that pays for discrete instead of continuous noise (docs/proofs/integer-noise.md).
SLACK_SHARE = 1e-3
# Total variation between a discrete and a rounded continuous Gaussian is below this over sigma^2.
TV_CONSTANT = 0.021
# No release may be further than this from its continuous twin, so that a ledger can add up many.
TV_LIMIT = 2.0**-60
# Inside this range the conversions are exact to 1e-9 (tests/privacy/test_accounting.py),
SMALLEST_EPSILON = 1e-5
SMALLEST_DELTA = 1e-30
LARGEST_EPSILON = 1e6
# and this margin covers them together with the curator's tolerance for budgets spent in parts.
_SAFETY = 1e-8
# Of the roots, absolute.
_TOLERANCE = 1e-12


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


@cache
def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian trade-off is inside (epsilon, delta), slack set aside."""
    check_epsilon_delta(epsilon, delta)
    return (1 - _SAFETY) / _sigma(epsilon, math.log(delta * (1 - SLACK_SHARE)))


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta for a mu-GDP release, slack set aside."""
    if not (math.isfinite(mu) and mu > 0):
        raise InputError(f"mu must be a positive number, got {mu}.")
    check_epsilon_delta(SMALLEST_EPSILON, delta)
    epsilon = _epsilon(1 / mu, math.log(delta * (1 - SLACK_SHARE)))
    # Below SMALLEST_EPSILON the search loses digits; reporting the larger value is still true.
    return max(epsilon * (1 + _SAFETY), SMALLEST_EPSILON)


def _log_delta(sigma: float, epsilon: float) -> float:
    """ln delta(eps) for mu = 1 / sigma (Balle, Wang 2018, arXiv:1805.06530, Eq. (6))."""
    t = epsilon * sigma + 1 / (2 * sigma)
    x, y = float(log_ndtr(1 / sigma - t)), epsilon + float(log_ndtr(-t))
    return x + float(np.log1p(-np.exp(y - x))) if y <= x else -math.inf


def _sigma(epsilon: float, log_delta: float) -> float:
    """The sigma at which delta(eps) is as asked; delta falls in sigma."""
    low, high = 0.1, 1.0
    while _log_delta(low, epsilon) < log_delta:
        low, high = low / 10, low
    while _log_delta(high, epsilon) > log_delta:
        low, high = high, high * 10
    return float(brentq(lambda s: _log_delta(s, epsilon) - log_delta, low, high, xtol=_TOLERANCE))


def _epsilon(sigma: float, log_delta: float) -> float:
    """The epsilon at which delta(eps) is as asked, or 0 where it is smaller already; delta falls in epsilon."""
    if _log_delta(sigma, 0.0) < log_delta:
        return 0.0
    low, high = 0.0, 1.0
    while _log_delta(sigma, high) > log_delta:
        low, high = high, high * 10
    return float(brentq(lambda e: _log_delta(sigma, e) - log_delta, low, high, xtol=_TOLERANCE))


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
