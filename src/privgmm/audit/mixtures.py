"""Whole proven releases in bulk: every query, its noise and all post-processing, run after run."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from privgmm.audit.pairs import Pair
from privgmm.audit.raw import Claim
from privgmm.data import ArraySource
from privgmm.model import Mixture
from privgmm.privacy import Curator, NoiseSource

Releaser = Callable[[int], list[Mixture]]

# So many releases between two looks at the clock.
_BATCH = 200
_FEWEST_RUNS = 20


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
    runs = _FEWEST_RUNS
    while runs:
        low += first(runs)
        high += second(runs)
        spent = time.monotonic() - started
        # As many more as the time left allows at the pace so far.
        runs = min(int(len(low) * (seconds - spent) / spent), _BATCH) if spent < seconds else 0
    return low, high


def _curator(source: ArraySource, claim: Claim, noise: NoiseSource) -> Curator:
    return Curator(source, noise, claim.adjacency, claim.epsilon, claim.delta)


def label_releaser(source: ArraySource, claim: Claim, noise: NoiseSource) -> Releaser:
    """``release_label``, many times; what it takes from the public features is found once."""
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
