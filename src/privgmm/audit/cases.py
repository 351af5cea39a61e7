"""Tables whose release is attacked as a whole, each with the score that tells it from its neighbour.

The informed attacker picks the tables and inverts the post-processing: on tables this small the
released parameters follow the noisy answers closely, and one of them carries most of the difference.
The realistic attacker sees an ordinary table's release and one row of it, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privgmm.audit.guesses import label_odds, membership
from privgmm.audit.pairs import Pair
from privgmm.data import ArraySource
from privgmm.data.source import Floats
from privgmm.model import Mixture
from privgmm.privacy import Adjacency

Row = tuple[Sequence[float], int]


@dataclass(frozen=True, eq=False)
class Case:
    """Two neighbours and a score of releases that is larger, if anything, on the second."""

    what: str
    adjacency: Adjacency
    pair: Pair
    score: Callable[[Mixture], float]


def informed(adjacency: Adjacency) -> Case:
    """Nearly all that the noisy answers say survives in one released number."""
    if adjacency == "label":
        # All rows alike: one public cell, whose two noisy counts decide the weights alone.
        rows: list[Row] = [([0.0], 0), ([0.0], 1), ([0.0], 1)]
        name = "a label flips between two small classes of equal rows"
        pair = _pair(name, rows, [([0.0], 0)], [([0.0], 1)], 2)
        return Case("released mixture", adjacency, pair, lambda m: float(m.weights[1]))
    if adjacency == "replace":
        name = "a record at one bound moves to the opposite one"
        pair = _pair(name, [([0.0], 0)] * 6, [([1.0], 0)], [([-1.0], 0)], 1)
        return Case("released mixture", adjacency, pair, lambda m: -float(m.means[0, 0]))
    small: list[Row] = [([0.0], 0), ([0.0], 1)] * 3
    pair = _pair("a record at the bound enters", small, [], [([1.0], 1)], 2)
    return Case("released mixture", adjacency, pair, lambda m: float(m.means[1, 0]))


def realistic(adjacency: Adjacency) -> Case:
    """Three clouds and a row apart from them, whose label or presence is guessed."""
    dim = 3 if adjacency == "label" else 1
    centres = np.array([-0.5, 0.0, 0.4])[:, None] / np.sqrt(dim)
    codes = np.repeat([0, 1, 2], [11, 6, 5])
    X = centres[codes] + 0.1 * np.random.default_rng(0).standard_normal((codes.size, dim))
    rows: list[Row] = [(row.tolist(), int(k)) for row, k in zip(X, codes, strict=True)]
    x = np.full(dim, 0.9 / np.sqrt(dim))
    if adjacency == "label":
        name = "the label of a row apart flips"
        pair = _pair(name, rows, [(x.tolist(), 1)], [(x.tolist(), 2)], 3)
        return Case(
            "label guessed by the mixture", adjacency, pair, lambda m: label_odds(m, x, 1, 2)
        )
    instead = [([0.4], 2)] if adjacency == "replace" else []
    pair = _pair("a row far from its class enters", rows, instead, [(x.tolist(), 2)], 3)
    return Case("membership by density", adjacency, pair, lambda m: membership(m, x, 2))


def _pair(
    name: str, shared: Sequence[Row], first: Sequence[Row], second: Sequence[Row], n_classes: int
) -> Pair:
    return Pair(name, *(_source([*shared, *own], n_classes) for own in (first, second)))


def _source(rows: Sequence[Row], n_classes: int) -> ArraySource:
    X: Floats = np.array([x for x, _ in rows], dtype=np.float64)
    return ArraySource(X, np.array([k for _, k in rows], dtype=np.intp), n_classes)
