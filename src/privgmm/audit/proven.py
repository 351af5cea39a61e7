"""Attack on the proven mechanism: its queries, all queries of a whole release, and what it releases."""

from __future__ import annotations

import time

import numpy as np

from privgmm.audit.pairs import N_CLASSES, Pair, pairs
from privgmm.audit.raw import (
    Claim,
    Watched,
    asks_once,
    asks_until_refused,
    attack,
    replays,
    standard_draws,
)
from privgmm.audit.scores import trained
from privgmm.audit.verdict import Attack
from privgmm.model import Mixture
from privgmm.privacy import Adjacency, Curator, NoiseSource, OpenDPNoise, Query, SeededNoise
from privgmm.statistics import ArraySource

# One feature keeps the difference in few totals and still reaches every sensitivity.
_DIM = 1
_FEWEST_RUNS = 20


def attacks(
    unit: str,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int | None = None,
    seconds: float = 30.0,
) -> list[Attack]:
    """Every query alone, one asked until refused, a whole release replayed, and its mixture."""
    noise: NoiseSource = OpenDPNoise() if seed is None else SeededNoise(seed)
    draws = standard_draws(noise, trials)
    relations: tuple[Adjacency, ...] = ("label",) if unit == "label" else ("replace", "add-remove")
    found = []
    for adjacency in relations:
        claim = Claim(adjacency, epsilon, delta, draws)
        near = pairs(adjacency, _DIM)
        queries = _queries(unit)
        for query in queries:
            found.append(attack(f"{query.name} ({adjacency})", asks_once(query), near, claim))
        greedy = queries[-1]
        name = f"{greedy.name}, asked until refused ({adjacency})"
        found.append(attack(name, asks_until_refused(greedy), near, claim))
        # The queries of one release, chosen on one table and its noise, put to both tables.
        watched = Watched(near[0].first, noise, adjacency, epsilon, delta)
        _released(unit, watched, near[0].first)
        name = f"all queries of one release ({adjacency})"
        found.append(attack(name, replays(watched.script), near, claim))
        if seconds > 0:
            found.append(_mixture_attack(unit, near[0], claim, noise, seconds / len(relations)))
    return found


def _queries(unit: str) -> list[Query]:
    """One of every kind of query that releases of this unit ask."""
    from privgmm.privacy.class_moments import ClassMomentsQuery, Shape
    from privgmm.privacy.column_moments import ColumnMoments
    from privgmm.privacy.label_sums import CellCountsQuery
    from privgmm.privacy.marginal_counts import MarginalCountsQuery
    from privgmm.statistics.assignment import GaussianRule
    from privgmm.statistics.class_moments import ClassMoments
    from privgmm.statistics.label_sums import CellCounts, Partition
    from privgmm.statistics.marginal_counts import MarginalCounts

    k = N_CLASSES
    moments = ClassMomentsQuery(
        ClassMoments(np.zeros((k, _DIM)), np.ones((k, _DIM, _DIM))), Shape(1.0, 1.0, 1.0)
    )
    if unit == "label":
        nearest = GaussianRule(np.array([[-0.3], [0.3]]), np.ones((2, _DIM, _DIM)), np.zeros(2))
        return [moments, CellCountsQuery(CellCounts(Partition((nearest,), (2,), np.arange(2)), k))]
    histograms = MarginalCounts(np.full((k, _DIM), -1.0), np.full((k, _DIM), 0.25), n_bins=8)
    return [
        moments,
        MarginalCountsQuery(histograms),
        ColumnMoments((-1.0,) * _DIM, (1.0,) * _DIM),
    ]


def _released(unit: str, curator: Curator, source: ArraySource) -> Mixture:
    if unit == "label":
        from privgmm.proven.label import release_label

        return Mixture(*release_label(source.X, curator, N_CLASSES))
    from privgmm.proven.record import release_record

    n_rows = source.n_rows if curator.adjacency == "replace" else None
    return Mixture(*release_record(curator, N_CLASSES, _DIM, n_rows))


def _mixture_attack(
    unit: str, pair: Pair, claim: Claim, noise: NoiseSource, seconds: float
) -> Attack:
    """A classifier trained on half of the releases tries to tell the other half apart."""

    def once(source: ArraySource) -> Mixture:
        curator = Curator(source, noise, claim.adjacency, claim.epsilon, claim.delta)
        return _released(unit, curator, source)

    low: list[Mixture] = []
    high: list[Mixture] = []
    started = time.monotonic()
    while len(low) < _FEWEST_RUNS or time.monotonic() - started < seconds:
        low.append(once(pair.first))
        high.append(once(pair.second))
    scores = trained(low, high)
    name = f"released mixture ({claim.adjacency})"
    return Attack(name, pair.name, *scores, gaussian=True)
