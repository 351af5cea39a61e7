"""Queries by class whose classes, or components within classes, are decided by a public rule from each row alone.

The rule (``rowwise.GaussianRule``) is a fixed function of earlier noisy answers, so steps and sensitivity are those
of the query itself: docs/proofs/class-moments.md, "Rows without labels". A block is a class, or a component of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.queries.class_moments import ClassMomentsQuery
from privgmm.queries.column_histograms import MarginalCountsQuery
from privgmm.queries.radial_counts import RadialCountsQuery
from privgmm.rowwise import GaussianRule
from privgmm.types import Adjacency, Codes, Floats, Integers, Kernel


@dataclass(frozen=True, eq=False)
class WithinClasses:
    """A rule for every class: a row of class k goes to one of the blocks of k, those of rule k.

    A row of no listed class (a negative code) stays in none.
    """

    rules: tuple[GaussianRule, ...]

    def blocks(self, X: Floats, codes: Codes) -> Codes:
        """(n,) blocks, class after class; a function of each row and its class alone."""
        block = np.full(X.shape[0], -1, dtype=np.intp)
        first = 0
        for k, rule in enumerate(self.rules):
            members = np.flatnonzero(codes == k)
            if rule.size == 1:
                block[members] = first
            elif members.size:
                block[members] = first + rule(np.take(X, members, axis=0))
            first += rule.size
        return block


@dataclass(frozen=True, eq=False)
class Assigned:
    """A kernel by class whose blocks come from a rule, instead of the labels or within the labelled classes."""

    kernel: Kernel
    rule: GaussianRule | WithinClasses

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """What the kernel gives for the rows in the blocks of the rule."""
        return self.kernel(X, self.rule.blocks(X, codes))


@dataclass(frozen=True, eq=False)
class AssignedQuery:
    """``query`` with classes from ``rule``, which may depend on earlier noisy answers only."""

    query: ClassMomentsQuery | MarginalCountsQuery | RadialCountsQuery
    rule: GaussianRule | WithinClasses

    @property
    def name(self) -> str:
        """The query's own name, marked because a rule chose the classes, or blocks within them."""
        within = isinstance(self.rule, WithinClasses)
        return f"{self.query.name} ({'within classes' if within else 'assigned'})"

    @property
    def kernel(self) -> Kernel:
        """The query's kernel over rows whose class the rule decides."""
        return Assigned(self.query.kernel, self.rule)

    @property
    def steps(self) -> Floats:
        """The query's own noise scales."""
        return self.query.steps

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer, see ``Counting``."""
        return self.query.rows_in(answer)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """The query's own sensitivity: the rule maps each row by itself (class-moments.md)."""
        # Where a rule decides the classes a change of label moves nothing; the query's sensitivity is still an upper bound.
        return self.query.sensitivity(adjacency)
