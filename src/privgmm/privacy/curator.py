"""The curator holds the rows, answers queries with noise, and writes down what each answer cost."""

from __future__ import annotations

import math

import numpy as np

from privgmm.data import Source
from privgmm.errors import BudgetError, InputError
from privgmm.privacy.accounting import (
    SLACK_SHARE,
    TV_LIMIT,
    compose,
    discretisation_slack,
    mu_from_epsilon,
    total_variation,
)
from privgmm.privacy.noise import NoiseSource
from privgmm.queries import Counting, Query
from privgmm.types import Adjacency, Floats, Mechanism, Stage

# Every coordinate is multiplied up until its noise spans at least this many grid steps, which
# makes the difference between discrete and continuous noise negligible (integer-noise.md).
FINEST_SCALE = 2.0**40
# With noise beyond this scale a draw of 256 standard deviations would leave 64 bits: refused, never wrapped around.
COARSEST_SCALE = 2.0**55
# Shares of rows (one over the number of rows of their person) are rounded down to multiples of 2^-20, or of a coarser step if the
# noise of a query leaves room for no finer one. A person of m rows loses at most m / 2^20: half a permille for 500 rows.
FINEST_SHARE = 20
# Sensitivities and scales are floats; this factor rounds them up by more than their rounding error.
_ROUND_UP = 1 + 2.0**-40
# Budgets handed out in parts may miss the total by float rounding only.
_BUDGET_TOLERANCE = 1e-9


class Curator:
    """Answers integer queries over private rows with discrete Gaussian noise.

    Guarantee: all answers together are mu-GDP up to the discretisation slack, hence
    (epsilon, delta)-DP under ``adjacency``, for any adaptive choice of queries
    (docs/proofs/integer-noise.md).
    """

    def __init__(
        self,
        source: Source,
        noise: NoiseSource,
        adjacency: Adjacency,
        epsilon: float,
        delta: float,
        stage: Stage | None = None,
    ) -> None:
        self._source = source
        self._noise = noise
        self.adjacency: Adjacency = adjacency
        self.epsilon = epsilon
        self.delta = delta
        self._stage = stage
        self.mu = mu_from_epsilon(epsilon, delta)
        self._distance = 0.0
        self._records: list[Mechanism] = []
        # The number of rows according to the last answer that counted them: noisy, hence public.
        self.noisy_rows: float | None = None

    def look_at(self, source: Source) -> None:
        """From now on answer about the same records in other coordinates; budget and list of mechanisms continue.

        Every row of ``source`` must be a function of one row of the source before, chosen from
        public facts and earlier answers. Neighbours stay neighbours then, and composition is
        adaptive (integer-noise.md, step 2).
        """
        self._source = source

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What was answered so far, in order, with its cost."""
        return tuple(self._records)

    @property
    def remaining_mu(self) -> float:
        """The mu that one further answer may spend."""
        spent = compose(record.mu for record in self._records)
        return math.sqrt(max(self.mu**2 - spent**2, 0.0))

    def _tell(self, words: str, until: int | None = None) -> None:
        """Report what is being done and the spent part of the budget, in squares of mu; ``until=-1`` leaves out the last answer."""
        if self._stage is not None:
            spent = sum(record.mu**2 for record in self._records[:until]) / self.mu**2
            self._stage(words, min(1.0, spent))

    def answer(self, query: Query, mu: float) -> Floats:
        """T(D) plus Gaussian noise of standard deviation steps * sensitivity / mu, in grid units."""
        if not mu > 0:
            raise BudgetError(f"A query needs a positive share of the budget, got mu={mu}.")
        spent = compose([*(record.mu for record in self._records), mu])
        if spent > self.mu * (1 + _BUDGET_TOLERANCE):
            raise BudgetError(
                f"The queries would spend mu={spent:.6g} of a budget of mu={self.mu:.6g}."
            )
        sensitivity = query.sensitivity(self.adjacency)
        sigma = sensitivity / mu * _ROUND_UP
        scales = np.asarray(query.steps, dtype=np.float64) * sigma
        multipliers = [_power_of_two(scale) for scale in scales]
        shift = _share_bits(scales)
        multipliers = [max(m, 1 << shift) for m in multipliers]
        fine = [float(scale * m) for scale, m in zip(scales, multipliers, strict=True)]
        distance = self._distance + total_variation(fine)
        slack = discretisation_slack(self.epsilon, distance)
        if distance > TV_LIMIT or slack > SLACK_SHARE * self.delta:
            raise InputError(
                f"Epsilon {self.epsilon:g} with delta {self.delta:g} is too extreme for integer "
                "noise; choose a smaller epsilon or a larger delta."
            )
        # The cost is written down before anything is drawn: a crash can waste budget, not leak.
        self._distance = distance
        self._records.append(Mechanism(query.name, len(fine), sensitivity, sigma, mu))
        self._tell(f"asking for {query.name}", -1)
        exact = self._source.fixed_point(query.kernel, shift)
        answer = _noised(exact, shift, fine, multipliers, self._noise)
        self._tell("weighing the noisy answers")
        if isinstance(query, Counting):
            self.noisy_rows = query.rows_in(answer)
        return answer


def _power_of_two(scale: float) -> int:
    """The multiplier that brings this noise scale to at least FINEST_SCALE grid steps."""
    if not 0 < scale <= COARSEST_SCALE:
        raise InputError(f"Noise scales must lie in (0, 2^55] grid steps, got {scale}.")
    return 1 << max(0, math.ceil(math.log2(FINEST_SCALE / scale)))


def _share_bits(scales: Floats) -> int:
    """The bits of a row's share, persons.md (1): a function of the noise alone, equal for neighbours.

    The answer's lattice has this step or a finer one whether or not rows are shared, so that a table of
    one row per person gets the answer it would get without persons.
    """
    room = math.log2(COARSEST_SCALE / max(scales.max(initial=0.0), 1.0))
    return min(math.floor(room), FINEST_SHARE)


def _noised(
    exact: list[int], shift: int, scales: list[float], multipliers: list[int], noise: NoiseSource
) -> Floats:
    """(exact * multiplier / 2^shift + noise) / multiplier per coordinate, in Python integers: exact, because
    2^shift divides every multiplier."""
    if len(exact) != len(scales):
        raise InputError(f"A query of {len(exact)} totals names {len(scales)} noise scales.")
    drawn = np.empty(len(exact), dtype=np.int64)
    # Coordinates that share a scale are drawn together; there are few distinct scales.
    distinct, group = np.unique(np.array(scales), return_inverse=True)
    for index, scale in enumerate(distinct):
        members = np.flatnonzero(group == index)
        drawn[members] = noise.gaussian(float(scale), members.size)
    return np.array(
        [
            (total * (multiplier >> shift) + extra) / multiplier
            for total, multiplier, extra in zip(exact, multipliers, drawn.tolist(), strict=True)
        ]
    )
