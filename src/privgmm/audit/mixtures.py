"""Whole proven releases in bulk: every query, its noise and all post-processing, run after run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from privgmm.audit.pairs import Pair
from privgmm.audit.raw import Claim
from privgmm.model import Mixture
from privgmm.privacy import Curator, NoiseSource
from privgmm.proven.record import asked, finished
from privgmm.proven.record_rounds import Answers, Session, classwise
from privgmm.statistics import ArraySource

Releaser = Callable[[int], list[Mixture]]

# Record level samples a posterior per release; so many are sampled side by side.
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
    from privgmm.proven.label import release_label
    from privgmm.proven.label_cells import public_view

    view = public_view(source.X, source.n_classes)

    def once() -> Mixture:
        curator = _curator(source, claim, noise)
        return Mixture(*release_label(source.X, curator, source.n_classes, view=view))

    return lambda runs: [once() for _ in range(runs)]


def _record_releases(
    source: ArraySource, claim: Claim, noise: NoiseSource, runs: int
) -> list[Mixture]:
    """``release_record``, many times; answers with equally many rounds are finished together."""
    n_rows = source.n_rows if claim.adjacency == "replace" else None
    answers = []
    for _ in range(runs):
        curator = _curator(source, claim, noise)
        session = Session(
            curator.answer, claim.adjacency, curator.mu, source.n_classes, source.dim, n_rows
        )
        answers.append(asked(session))
    answers.sort(key=lambda answer: len(answer.rounds))
    found = [
        mixture
        for _, alike in groupby(answers, key=lambda answer: len(answer.rounds))
        for mixture in finish_together(list(alike))
    ]
    # Sorting put releases with few rounds first, but an audit takes runs in their order.
    return [found[at] for at in np.random.default_rng(runs).permutation(runs)]


def finish_together(answers: Sequence[Answers]) -> list[Mixture]:
    """The mixtures that ``finished`` gives for each of these answers alone."""
    copies = len(answers)
    stacked = classwise(lambda *arrays: np.concatenate(arrays), *answers)
    parts = finished(stacked, "kl", copies)
    split = (part.reshape(copies, -1, *part.shape[1:]) for part in parts)
    return [Mixture(*one) for one in zip(*split, strict=True)]
