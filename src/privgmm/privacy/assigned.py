"""A class-blocked query over rows whose class a public rule decides: same steps, same sensitivity.

docs/proofs/class-moments.md, "Rows without labels".
"""

from __future__ import annotations

from dataclasses import dataclass

from privgmm.privacy.class_moments import ClassMomentsQuery
from privgmm.privacy.marginal_counts import MarginalCountsQuery
from privgmm.privacy.query import Adjacency
from privgmm.statistics.assignment import Assigned, GaussianRule
from privgmm.statistics.source import Floats, Kernel


@dataclass(frozen=True, eq=False)
class AssignedQuery:
    """``query`` with classes from ``rule``, which may depend on earlier noisy answers only."""

    query: ClassMomentsQuery | MarginalCountsQuery
    rule: GaussianRule

    @property
    def name(self) -> str:
        return f"{self.query.name} (assigned)"

    @property
    def kernel(self) -> Kernel:
        return Assigned(self.query.kernel, self.rule)

    @property
    def steps(self) -> Floats:
        return self.query.steps

    def sensitivity(self, adjacency: Adjacency) -> float:
        # A change of label alone moves nothing here, but the bound for it is still a bound.
        return self.query.sensitivity(adjacency)
