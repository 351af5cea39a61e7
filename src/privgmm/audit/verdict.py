"""Attacks and what follows from them: one row per attack, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privgmm.audit.bounds import Floats, epsilon_lower, epsilon_lower_gaussian

# All bounds of one audit hold together with this probability.
CONFIDENCE = 0.998
# Where both tests apply, the whole curve is the stronger one and gets most of the error.
_EVENT_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Attack:
    """Scores of outputs on D (``low``) and on its neighbour D' (``high``).

    ``gaussian``: the claim under attack is mu-GDP, which the whole ROC curve can refute; otherwise
    it is only (epsilon, delta)-DP. ``attacker``: "informed" knows the code and every other row.
    """

    query: str
    neighbours: str
    low: Floats
    high: Floats
    gaussian: bool = False
    attacker: str = "informed"


@dataclass(frozen=True)
class Row:
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


def judge(attacks: Sequence[Attack], epsilon: float, delta: float) -> list[Row]:
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
            Row(
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
