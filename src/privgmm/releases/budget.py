"""Where the privacy budget went: each mechanism's share of mu squared."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.releases.guarantee import Guarantee
from privgmm.types import Mechanism

# Float rounding of a budget handed out in parts is not an unspent rest.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class BudgetRow:
    """One mechanism and its share of the budget."""

    share: float
    mechanism: Mechanism | None  # None: what was left unspent


def budget_rows(guarantee: Guarantee) -> tuple[BudgetRow, ...]:
    """Shares mu_i^2 / mu^2 in the order in which the mechanisms ran, then the rest if any."""
    spent = math.fsum(m.mu**2 for m in guarantee.mechanisms)
    if not guarantee.mechanisms:
        return ()
    total = max(spent, 0.0 if guarantee.mu is None else guarantee.mu**2)
    rows = [BudgetRow(m.mu**2 / total, m) for m in guarantee.mechanisms]
    rest = 1 - spent / total
    if rest > _ROUNDING:
        rows.append(BudgetRow(rest, None))
    return tuple(rows)
