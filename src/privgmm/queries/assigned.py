"""Rows without labels: a public rule gives each row its class, from that row alone.

Random-looking numbers that are a fixed public function of a row: lots drawn by hashing.

Integer arithmetic and one look into a table of IEEE arithmetic alone (``rowwise.log``), so a row's lots
are the same bits in whatever chunk, and on whatever worker, it comes. Nothing private rests on them: a class chosen by them is a function of its row, no more.
A class-blocked query over rows whose class a public rule decides: same steps, same sensitivity.

docs/proofs/class-moments.md, "Rows without labels".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.queries.class_moments import ClassMomentsQuery
from privgmm.queries.column_histograms import MarginalCountsQuery
from privgmm.queries.radial_counts import RadialCountsQuery
from privgmm.rowwise import (
    WORD_STEP,
    Columns,
    linear_map,
    log,
    mixed,
    row_words,
    squared_norm,
)
from privgmm.types import Adjacency, Codes, Floats, Integers, Kernel


@dataclass(frozen=True, eq=False)
class GaussianRule:
    """x goes to the class of largest offset_k - ||W_k (x - centre_k)||^2 / 2.

    With W_k the lower whitening factor of class k and offset_k = ln pi_k + ln det W_k this is the
    most probable component; with equal W_k and zero offsets it is the nearest centre. With a ``salt``
    every score gets a Gumbel number that depends on the row and the salt only, and x goes to class k
    in proportion to exp(score): over many rows, the shares of a mixture's responsibilities.
    """

    centres: Floats
    whiten: Floats
    offsets: Floats
    salt: int | None = None

    @property
    def size(self) -> int:
        """The number of classes that the rule makes."""
        return int(self.offsets.size)

    def blocks(self, X: Floats, codes: Codes) -> Codes:
        """(n,) classes of the rows by the rule alone, whatever their labels."""
        return self(X)

    def __call__(self, X: Floats) -> Codes:
        """(n,) classes of the rows, each by itself."""
        best = np.full(X.shape[0], -np.inf)
        codes = np.zeros(X.shape[0], dtype=np.intp)
        turned = np.ascontiguousarray(X.T)
        drawn = None if self.salt is None else lots(turned, self.salt)
        for k in range(self.centres.shape[0]):
            z = linear_map(turned - self.centres[k][:, None], self.whiten[k])
            score = self.offsets[k] - squared_norm(z) / 2
            if drawn is not None:
                score += next(drawn)
            better = score > best
            codes[better] = k
            best[better] = score[better]
        return codes


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


def mixture_rule(
    weights: Floats, centres: Floats, whiten: Floats, salt: int | None = None
) -> GaussianRule:
    """The rule of a mixture whose covariances are (W_k^T W_k)^-1."""
    log_det = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    return GaussianRule(centres, whiten, np.log(weights) + log_det, salt)


def mixture_rules(mixtures: list[tuple[Floats, Floats, Floats]]) -> list[GaussianRule]:
    """The rules of several mixtures (weights, centres, whitening factors)."""
    return [mixture_rule(*mixture) for mixture in mixtures]


@dataclass(frozen=True, eq=False)
class Assigned:
    """A class-blocked kernel whose blocks come from a rule instead of labels, or within them."""

    kernel: Kernel
    rule: GaussianRule | WithinClasses

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """What the kernel gives for the rows in the blocks of the rule."""
        return self.kernel(X, self.rule.blocks(X, codes))


_TABLE_BITS = 16
# Quantiles of the Gumbel law at the middle of equal steps of probability.
_GUMBEL = -log(-log((np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)))


def lots(turned: Columns, salt: int) -> Iterator[NDArray[np.float64]]:
    """Endless (n,) arrays of standard Gumbel numbers for the rows in the columns of a (d, n) array."""
    state = row_words(turned, salt)
    while True:
        state = state + np.uint64(WORD_STEP)
        yield _GUMBEL[mixed(state) >> np.uint64(64 - _TABLE_BITS)]


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
        # Without classes a change of label alone moves nothing, but the bound for it is still a bound.
        return self.query.sensitivity(adjacency)
