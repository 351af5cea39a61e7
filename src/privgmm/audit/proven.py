"""Attack on the proven mechanism: its queries, all queries of a whole release, and what it releases.

Whole releases are made in bulk: every query, its noise and all post-processing, run after run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from privgmm.audit.front_door import front_door_attacks
from privgmm.audit.pairs import (
    MIXED,
    N_CLASSES,
    Case,
    Pair,
    informed,
    mixed_pairs,
    pairs,
    person_pairs,
    realistic,
)
from privgmm.audit.raw import (
    Claim,
    Watched,
    asks_once,
    asks_until_refused,
    attack,
    replays,
    standard_draws,
)
from privgmm.audit.scores import FEWEST_RUNS, tossed, trained
from privgmm.audit.verdict import Attack
from privgmm.data import ArraySource
from privgmm.model import Mixture
from privgmm.privacy import Curator, NoiseSource, OpenDPNoise, Query, SeededNoise
from privgmm.types import Adjacency

# With one feature the neighbours differ in few totals, and every sensitivity is still reached.
_DIM = 1
# Which questions private EM asks depends on its noise: the attacker records this many runs and replays the one that separates the tables
# best. About two runs of five come close to what the guarantee allows, so that all twelve miss it once in five hundred audits.
_SCRIPTS = 12
Releaser = Callable[[int], list[Mixture]]
# Releases made between two looks at the clock.
_BATCH = 200


def attacks(
    unit: str,
    epsilon: float,
    delta: float,
    trials: int,
    seed: int | None = None,
    seconds: float = 30.0,
) -> list[Attack]:
    """Raw answers on every kind of neighbour, then whole releases, as many as the time allows."""
    noise: NoiseSource = OpenDPNoise() if seed is None else SeededNoise(seed)
    draws = standard_draws(noise, trials)
    relations = _relations(unit)
    found = []
    for adjacency in relations:
        claim = Claim(adjacency, epsilon, delta, draws)
        found += raw_attacks(unit, claim, noise)
        if seconds > 0:
            case = informed(adjacency)
            sides = releases(case.pair, claim, noise, seconds / len(relations))
            found.append(mixture_attack(case, sides, "informed"))
            # Releases of files are slower, so they get the same time once more.
            found += front_door_attacks(adjacency, epsilon, delta, seed, seconds / len(relations))
    return found


def realistic_attacks(
    unit: str, epsilon: float, delta: float, seed: int | None = None, seconds: float = 30.0
) -> list[Attack]:
    """Two attackers on an ordinary table: one sees a release and one row and guesses; the other, who is informed,
    trains a classifier on releases of both tables."""
    noise: NoiseSource = OpenDPNoise() if seed is None else SeededNoise(seed)
    relations = _relations(unit)
    found = []
    for adjacency in relations:
        case = realistic(adjacency)
        claim = Claim(adjacency, epsilon, delta, np.empty(0))
        sides = releases(case.pair, claim, noise, seconds / len(relations))
        found.append(mixture_attack(case, sides, "realistic"))
        name = f"ordinary mixture, trained classifier ({adjacency})"
        found.append(Attack(name, case.pair.name, *trained(*sides), gaussian=True))
    return found


def raw_attacks(unit: str, claim: Claim, noise: NoiseSource) -> list[Attack]:
    """Every query alone, also to whole persons; one query asked until the curator refuses; and the queries of whole releases.

    Each is attacked on the neighbours that it separates best; then each further pair of neighbours is attacked
    with the query that separates it best.
    """
    near = pairs(claim.adjacency, _DIM)
    queries = _queries(unit)
    single = {f"{query.name} ({claim.adjacency})": asks_once(query) for query in queries}
    greedy = queries[-1]
    # The queries of one release, as one table and its noise led to them, are put to both tables.
    watched = Watched(near[0].first, noise, claim.adjacency, claim.epsilon, claim.delta)
    _released(unit, watched, near[0].first)
    clients = single | {
        f"{greedy.name}, asked until refused ({claim.adjacency})": asks_until_refused(greedy),
        f"all queries of one release ({claim.adjacency})": replays(watched.script),
    }
    found: list[Attack] = []
    if unit == "record":
        name = f"all queries of one unlabelled release, private EM ({claim.adjacency})"
        scripts = [_unlabelled_script(near[0].first, noise, claim) for _ in range(_SCRIPTS)]
        found = [_clearest([attack(name, replays(one), near, claim) for one in scripts])]
        found += mixed_attacks(noise, claim)
    found += [attack(name, client, near, claim) for name, client in clients.items()]
    persons = person_pairs(claim.adjacency, _DIM)
    found += [attack(f"{name}, persons", client, persons, claim) for name, client in single.items()]
    shown = {one.neighbours for one in found}
    for pair in near:
        if pair.name not in shown:
            tried = [attack(name, client, [pair], claim) for name, client in single.items()]
            found.append(_clearest(tried))
    return found


def mixed_attacks(noise: NoiseSource, claim: Claim) -> list[Attack]:
    """A table with categories and missing cells: its release's first histograms alone, and then all of its queries."""
    near = mixed_pairs(claim.adjacency)
    script = mixed_script(near[0].first, noise, claim)
    histograms, which = script[0][0], f"categories and missing cells ({claim.adjacency})"
    return [
        attack(f"{histograms.name}, {which}", asks_once(histograms), near, claim),
        attack(f"all queries of one release, {which}", replays(script), near, claim),
    ]


def mixed_script(
    source: ArraySource, noise: NoiseSource, claim: Claim
) -> tuple[tuple[Query, float], ...]:
    """The queries that a release of a table of ``MIXED`` asks, histograms first."""
    from privgmm.proven.record.mixed import release_mixed

    asked = Watched(source, noise, claim.adjacency, claim.epsilon, claim.delta)
    n_rows = source.n_rows if claim.adjacency == "replace" else None
    release_mixed(asked, source, MIXED, N_CLASSES, n_rows)
    return asked.script


def _clearest(tried: list[Attack]) -> Attack:
    return max(tried, key=lambda one: float(one.high.mean() - one.low.mean()))


def _unlabelled_script(
    source: ArraySource, noise: NoiseSource, claim: Claim
) -> tuple[tuple[Query, float], ...]:
    asked = Watched(source, noise, claim.adjacency, claim.epsilon, claim.delta)
    _released_unlabelled(asked, source)
    return asked.script


def mixture_attack(case: Case, sides: tuple[list[Mixture], list[Mixture]], attacker: str) -> Attack:
    """Scores of whole releases; which number is the score was fixed before any release was made."""
    rng = np.random.default_rng(0)
    low, high = (tossed([case.score(mixture) for mixture in side], rng) for side in sides)
    name = f"{case.what} ({case.adjacency})"
    return Attack(name, case.pair.name, low, high, gaussian=True, attacker=attacker)


def _relations(unit: str) -> tuple[Adjacency, ...]:
    return ("label",) if unit == "label" else ("replace", "add-remove")


def _queries(unit: str) -> list[Query]:
    """One of every kind of query that releases of this unit ask."""
    from privgmm.queries.assigned import AssignedQuery, WithinClasses
    from privgmm.queries.cell_counts import CellCounts, CellCountsQuery, Partition
    from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
    from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
    from privgmm.queries.column_moments import ColumnMoments
    from privgmm.queries.radial_counts import RadialCounts, RadialCountsQuery
    from privgmm.rowwise import GaussianRule

    k = N_CLASSES
    frames = np.zeros((k, _DIM)), np.ones((k, _DIM, _DIM))
    moments = ClassMomentsQuery(ClassMoments(*frames), Shape(1.0, 1.0, 1.0))
    nearest = GaussianRule(np.array([[-0.3], [0.3]]), np.ones((2, _DIM, _DIM)), np.zeros(2))
    if unit == "label":
        return [moments, CellCountsQuery(CellCounts(Partition((nearest,), (2,), np.arange(2)), k))]
    histograms = MarginalCounts(np.full((k, _DIM), -1.0), np.full((k, _DIM), 0.25), n_bins=8)
    # Two components in every class.
    parts = ClassMoments(np.zeros((2 * k, _DIM)), np.ones((2 * k, _DIM, _DIM)))
    return [
        moments,
        AssignedQuery(ClassMomentsQuery(parts, moments.shape), WithinClasses((nearest,) * k)),
        MarginalCountsQuery(histograms),
        RadialCountsQuery(RadialCounts(*frames, np.full((k, 1), 0.5))),
        ColumnMoments((-1.0,) * _DIM, (1.0,) * _DIM),
    ]


def _released(unit: str, curator: Curator, source: ArraySource) -> Mixture:
    if unit == "label":
        from privgmm.proven.label import release_label

        return Mixture(*release_label(source.X, curator, N_CLASSES)[:3])
    from privgmm.proven.record import release_record

    n_rows = source.n_rows if curator.adjacency == "replace" else None
    return Mixture(*release_record(curator, N_CLASSES, _DIM, n_rows)[:3])


def _released_unlabelled(curator: Curator, source: ArraySource) -> Mixture:
    from privgmm.proven.unlabelled import release_unlabelled

    n_rows = source.n_rows if curator.adjacency == "replace" else None
    return Mixture(*release_unlabelled(curator, N_CLASSES, _DIM, n_rows)[:3])


def releases(
    pair: Pair, claim: Claim, noise: NoiseSource, seconds: float
) -> tuple[list[Mixture], list[Mixture]]:
    """As many releases of both tables as fit into the time, and at least a few."""
    first, second = (
        label_releaser(source, claim, noise)
        if claim.adjacency == "label"
        else partial(_record_releases, source, claim, noise)
        for source in (pair.first, pair.second)
    )
    low: list[Mixture] = []
    high: list[Mixture] = []
    started = time.monotonic()
    runs = FEWEST_RUNS
    while runs:
        low += first(runs)
        high += second(runs)
        spent = time.monotonic() - started
        # As many further releases as the remaining time allows at the pace so far.
        runs = min(int(len(low) * (seconds - spent) / spent), _BATCH) if spent < seconds else 0
    return low, high


def _curator(source: ArraySource, claim: Claim, noise: NoiseSource) -> Curator:
    return Curator(source, noise, claim.adjacency, claim.epsilon, claim.delta)


def label_releaser(source: ArraySource, claim: Claim, noise: NoiseSource) -> Releaser:
    """``release_label``, many times; the view of the public features is made once for all of them."""
    from privgmm.proven.label import public_view, release_view

    view = public_view(source.X, source.n_classes)

    def once() -> Mixture:
        curator = _curator(source, claim, noise)
        return Mixture(*release_view(view, curator)[:3])

    return lambda runs: [once() for _ in range(runs)]


def _record_releases(
    source: ArraySource, claim: Claim, noise: NoiseSource, runs: int
) -> list[Mixture]:
    """``release_record``, many times."""
    from privgmm.proven.record import release_record

    n_rows = source.n_rows if claim.adjacency == "replace" else None
    return [
        Mixture(
            *release_record(_curator(source, claim, noise), source.n_classes, source.dim, n_rows)[
                :3
            ]
        )
        for _ in range(runs)
    ]
