"""Which guess of the labels? The one that the noisy table and the noisy moments make likeliest together.

Every way to guess is tried with all classes doubted. If clusterings may explain the table, labels that follow them are tried as well:
all classes held to them, and all but the two, three, ... that this explains worst.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privgmm.proven.label.guesses import Guesses, Way
from privgmm.proven.label.tilt import Answer, Guess, weigh
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats


def choose(
    guesses: Guesses,
    bases: list[Floats],
    shares: Floats,
    coordinates: Sequence[Floats],
    answer: Answer,
    weight: float,
    tuning: Tuning,
) -> tuple[Way, Guess]:
    """The likeliest way, and its guess of the rows that ``bases``, ``shares`` and ``coordinates`` are of."""
    n_labels, last = guesses.gains.size, len(bases) - 1
    follows = last if guesses.models else -1

    def tried(way: Way) -> tuple[Floats, Way, Guess]:
        """The evidence of every class, for the table first: nothing is gained by mixed cells."""
        labels = guesses.labels(bases, way)
        guess = weigh(labels, way.held, shares, coordinates, answer, weight, tuning)
        told = np.maximum(guesses.gains, 0.0) if way.base == follows else np.zeros(n_labels)
        told = np.where(way.held, guesses.gains, told)
        return told[: guess.log_evidence.size] + guess.log_evidence, way, guess

    def total(found: tuple[Floats, Way, Guess]) -> float:
        return float(found[0].sum()) - tuning.doubted * int((~found[1].held).sum())

    nothing = np.zeros(n_labels, dtype=bool)
    found = [tried(Way(base, nothing)) for base in range(len(bases))]
    if guesses.models:
        sharp = tried(Way(last, ~nothing))
        for loose in (found[last], max(found[:last], key=total)):
            order = np.argsort(sharp[0] - loose[0])
            least = 2 - (n_labels - order.size)
            for n_loose in range(least, order.size):
                held = ~nothing
                held[order[:n_loose]] = False
                held[order.size :] = False
                found.append(tried(Way(loose[1].base, held)))
        found.append(sharp)
    _, way, guess = max(found, key=total)
    return way, guess
