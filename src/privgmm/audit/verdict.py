"""Attacks and what follows from them: lower confidence bounds on epsilon, one row per attack, corrected for their number.

The bounds come from runs on two neighbouring tables and assume no model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from privgmm.privacy.accounting import epsilon_from_mu
from privgmm.types import Floats

Counts = NDArray[np.integer[Any]] | int

# Candidate thresholds: enough to resolve the tail, few enough to cost no time.
_CANDIDATES = 400
# From here on the normal limit of the Mann-Whitney statistic is trusted.
_MANY_RUNS = 5000
_EXTREME_AREA = 0.95
# All bounds of one audit hold together with this probability.
CONFIDENCE = 0.998
# Where both tests apply, the one of the whole ROC curve is stronger, and the one of a single event gets only this share of the error.
_EVENT_SHARE = 0.1


def binomial_lower(successes: Counts, trials: int, alpha: float) -> Floats:
    """Clopper-Pearson: P(probability < bound) <= alpha."""
    k = np.asarray(successes, dtype=np.float64)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, alpha), 0.0)


def binomial_upper(successes: Counts, trials: int, alpha: float) -> Floats:
    """Clopper-Pearson: P(probability > bound) <= alpha."""
    k = np.asarray(successes, dtype=np.float64)
    return np.where(k < trials, betaincinv(k + 1, np.maximum(trials - k, 1), 1 - alpha), 1.0)


def epsilon_from_counts(
    inside: Counts, outside: Counts, trials: int, delta: float, alpha: float
) -> Floats:
    """(eps, delta)-DP says p <= e^eps q + delta: eps >= ln((p - delta) / q) with confidence 1 - alpha."""
    p = binomial_lower(inside, trials, alpha / 2)
    q = binomial_upper(outside, trials, alpha / 2)
    return np.log(np.maximum((p - delta) / q, 1.0))


def epsilon_lower(low: Floats, high: Floats, delta: float, alpha: float) -> float:
    """Lower bound on eps at delta from one threshold event, chosen on one half, counted on the other."""
    half = min(low.size, high.size) // 2
    if half < 1:
        return 0.0
    best, chosen = -1.0, (high, low, 1.0, 0.0)
    # Either table may be the one that is inside, and either tail the event.
    for inside, outside in ((high, low), (low, high)):
        for sign in (1.0, -1.0):
            a, b = np.sort(sign * inside[:half]), np.sort(sign * outside[:half])
            t = thresholds(a, b)
            found = epsilon_from_counts(
                half - np.searchsorted(a, t), half - np.searchsorted(b, t), half, delta, alpha
            )
            if found.max() > best:
                best = float(found.max())
                chosen = (inside, outside, sign, float(t[found.argmax()]))
    inside, outside, sign, threshold = chosen
    hits, misses = (
        int((sign * scores[half : 2 * half] >= threshold).sum()) for scores in (inside, outside)
    )
    return float(epsilon_from_counts(hits, misses, half, delta, alpha))


def mu_lower(low: Floats, high: Floats, alpha: float) -> float:
    """Lower bound on mu from the whole ROC curve.

    Under mu-GDP no ROC curve lies above that of N(0,1) against N(mu,1), so the area under it,
    P(high > low), is at most Phi(mu / sqrt 2).
    """
    runs = min(low.size, high.size)
    area = _area_lower(low[:runs], high[:runs], alpha) if runs else 0.0
    return max(math.sqrt(2) * float(ndtri(area)), 0.0) if area > 0 else 0.0


def _area_lower(low: Floats, high: Floats, alpha: float) -> float:
    """Lower bound on P(high > low); ties count as losses.

    Disjoint pairs make an exact binomial test. With many runs, all pairs (Mann-Whitney, with the
    variance of DeLong et al. 1988) do better as long as the curve is not extreme; its normal limit
    gets most of alpha, and its z is made a fiftieth larger for safety.
    """
    wins = int((high > low).sum())
    if low.size < _MANY_RUNS:
        return float(binomial_lower(wins, low.size, alpha))
    beaten = np.searchsorted(np.sort(low), high, side="left") / low.size
    winners = 1 - np.searchsorted(np.sort(high), low, side="right") / high.size
    deviation = math.sqrt(beaten.var() / high.size + winners.var() / low.size)
    normal = float(beaten.mean() + 1.02 * ndtri(0.9 * alpha) * deviation)
    return max(min(normal, _EXTREME_AREA), float(binomial_lower(wins, low.size, 0.1 * alpha)))


def epsilon_lower_gaussian(low: Floats, high: Floats, delta: float, alpha: float) -> float:
    """``mu_lower`` as epsilon at delta: refutes the claim that an output is mu-GDP for less."""
    mu = mu_lower(low, high, alpha)
    return epsilon_from_mu(mu, delta) if mu > 0 else 0.0


def thresholds(a: Floats, b: Floats) -> Floats:
    """Quantiles of both samples, denser in the upper tail, where the ratio is large."""
    tail = 1 - np.geomspace(1 / a.size, 1, _CANDIDATES // 2)
    at = np.concatenate([np.quantile(a, tail), np.quantile(b, tail), [np.nextafter(b[-1], np.inf)]])
    return np.unique(at)


@dataclass(frozen=True, eq=False)
class Attack:
    """Scores of outputs on D (``low``) and on its neighbour D' (``high``).

    ``gaussian``: the claim under attack is mu-GDP, which the whole ROC curve can refute; otherwise
    it is only (epsilon, delta)-DP. ``attacker``: one that is "informed" knows the code and every other row.
    """

    query: str
    neighbours: str
    low: Floats
    high: Floats
    gaussian: bool = False
    attacker: str = "informed"


@dataclass(frozen=True)
class AuditLine:
    """One line of the audit; ``refuted``: the claim is false with probability above CONFIDENCE."""

    query: str
    neighbours: str
    method: str
    trials: int
    epsilon_claimed: float
    delta: float
    epsilon_lower: float

    @property
    def refuted(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.epsilon_lower > self.epsilon_claimed

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "query": self.query,
            "neighbours": self.neighbours,
            "method": self.method,
            "trials": self.trials,
            "epsilon_claimed": self.epsilon_claimed,
            "delta": self.delta,
            "epsilon_lower": self.epsilon_lower,
            "refuted": self.refuted,
        }


def judge(attacks: Sequence[Attack], epsilon: float, delta: float) -> list[AuditLine]:
    """Lower bounds that hold together: Bonferroni over attacks and the tests of each."""
    alpha = (1 - CONFIDENCE) / max(len(attacks), 1)
    rows = []
    for attack in attacks:
        share = _EVENT_SHARE if attack.gaussian else 1.0
        bound = epsilon_lower(attack.low, attack.high, delta, share * alpha)
        method = "one event, counted on held-out runs"
        if attack.gaussian:
            curve = epsilon_lower_gaussian(attack.low, attack.high, delta, (1 - share) * alpha)
            if curve > bound:
                bound, method = curve, "whole ROC curve (mu-GDP)"
        rows.append(
            AuditLine(
                attack.query,
                attack.neighbours,
                method,
                min(attack.low.size, attack.high.size),
                epsilon,
                delta,
                bound,
            )
        )
    return rows
