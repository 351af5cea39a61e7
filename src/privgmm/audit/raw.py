"""Attack on raw noisy statistics: the likelihood ratio of the answers, for which the guarantee is tight.

The exact totals and the noise scales are read off the real curator by two probes: a run without noise, and one in
which every noise is exactly one standard deviation. A wrong sensitivity, scale or budget therefore shows. The noise
of the attack itself comes in bulk from the real noise source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privgmm.audit.pairs import Pair
from privgmm.audit.verdict import Attack
from privgmm.data import ArraySource
from privgmm.data.source import MappedKernel, MappedSource, Source
from privgmm.errors import BudgetError
from privgmm.privacy import Curator, NoiseSource, Query
from privgmm.types import Adjacency, Floats, Integers, Kernel

# Asks a curator some queries, and gives all of its answers as one vector.
Client = Callable[[Curator], Floats]

# Independent noise values per run; the coordinates of longer answers share them in groups.
_COORDINATES = 2
_DRAW_SCALE = 2.0**40
# An end for a curator that counts its budget wrongly and would answer for ever.
_MOST_ANSWERS = 64


@dataclass(frozen=True)
class Probe:
    """A noise source that is always ``level`` standard deviations off."""

    level: float
    publishable: bool = False

    def gaussian(self, scale: float, size: int) -> Integers:
        """The same value everywhere: ``level`` standard deviations."""
        return np.full(size, round(self.level * scale), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Claim:
    """The claim under attack: (epsilon, delta) for an adjacency. ``draws`` is noise drawn once for all attacks."""

    adjacency: Adjacency
    epsilon: float
    delta: float
    draws: Floats


def standard_draws(noise: NoiseSource, trials: int) -> Floats:
    """(2, trials, coordinates) standard noise: for D and for D'."""
    drawn = noise.gaussian(_DRAW_SCALE, 2 * trials * _COORDINATES)
    return np.asarray(drawn.reshape(2, trials, _COORDINATES) / _DRAW_SCALE)


def attack(name: str, client: Client, pairs: Sequence[Pair], claim: Claim) -> Attack:
    """The likelihood-ratio attack on the pair that this client's answers separate best."""
    shifts = [standard_shift(client, pair, claim) for pair in pairs]
    worst = int(np.argmax([np.linalg.norm(shift) for shift in shifts]))
    # Standard noise projected on a group of coordinates is standard noise again.
    parts = np.array_split(np.sort(np.abs(shifts[worst])), _COORDINATES)
    shift = np.array([np.linalg.norm(part) for part in parts])
    low, high = (side @ shift for side in claim.draws)
    return Attack(name, pairs[worst].name, low, high + shift @ shift, gaussian=True)


def standard_shift(client: Client, pair: Pair, claim: Claim) -> Floats:
    """(T(D') - T(D)) / sigma over all answers, as the curator computes them."""

    def answers(source: ArraySource, level: float) -> Floats:
        return client(Curator(source, Probe(level), claim.adjacency, claim.epsilon, claim.delta))

    exact = answers(pair.first, 0.0)
    sigma = answers(pair.first, 1.0) - exact
    return np.asarray((answers(pair.second, 0.0) - exact) / sigma)


def asks_once(query: Query) -> Client:
    """A client that spends the whole budget on one answer."""
    return lambda curator: curator.answer(query, curator.mu)


def asks_until_refused(query: Query) -> Client:
    """A client that asks the same query for 0.7 of mu at a time, then for all that is left."""

    def client(curator: Curator) -> Floats:
        found: list[Floats] = []
        mu = 0.7 * curator.mu
        while len(found) < _MOST_ANSWERS:
            try:
                found.append(curator.answer(query, mu))
            except BudgetError:
                if mu <= curator.remaining_mu or curator.remaining_mu < 1e-3 * curator.mu:
                    break
                mu = curator.remaining_mu
        return np.concatenate(found)

    return client


def replays(script: Sequence[tuple[Query, float]]) -> Client:
    """A client that asks a fixed list of queries, each for its share of mu, as one release asked them."""
    return lambda curator: np.concatenate([curator.answer(query, mu) for query, mu in script])


@dataclass(frozen=True, eq=False)
class MappedQuery:
    """A query about mapped rows, written as a query about the rows before the map: its kernel maps them first."""

    query: Query
    mapped: MappedSource

    @property
    def name(self) -> str:
        """The query's own name."""
        return self.query.name

    @property
    def kernel(self) -> Kernel:
        """The query's kernel, applied after the map and after those of the sources inside."""
        kernel = self.query.kernel
        source: Source = self.mapped
        while isinstance(source, MappedSource):
            kernel, source = MappedKernel(kernel, source.mapping), source.source
        return kernel

    @property
    def steps(self) -> Floats:
        """The query's own noise scales."""
        return self.query.steps

    def sensitivity(self, adjacency: Adjacency) -> float:
        """The query's own sensitivity, because the maps treat each row by itself."""
        return self.query.sensitivity(adjacency)


class Watched(Curator):
    """A curator that also keeps the list of its queries, as queries about the rows of its first source."""

    script: tuple[tuple[Query, float], ...] = ()

    def answer(self, query: Query, mu: float) -> Floats:
        """The curator's answer; what was asked is kept."""
        found = super().answer(query, mu)
        source = self._source
        asked = MappedQuery(query, source) if isinstance(source, MappedSource) else query
        self.script = (*self.script, (asked, mu))
        return found
