"""Neighbouring tables that are as easy to tell apart as we can make them, and scores that do it. All are invented: no private data is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privgmm.audit.scores import label_odds, membership
from privgmm.data import ArraySource
from privgmm.data.source import Shares
from privgmm.model import Mixture
from privgmm.model.columns import ABSENT, Column
from privgmm.types import Adjacency, Codes, Floats

N_CLASSES = 3
# Rows of the person who differs: the days of one home in a table like the paper's.
PERSON_ROWS = 49
AuditLine = tuple[Sequence[float], int]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables; X (n, d) lies in the unit ball, except for records that test the clip."""

    name: str
    first: ArraySource
    second: ArraySource


def pairs(adjacency: Adjacency, dim: int) -> list[Pair]:
    """The neighbours that are easiest to tell apart, as far as we know; the third class is small or empty."""
    X, codes = _table(dim)
    if adjacency == "label":
        return _label_pairs(X, codes)
    edge = np.full(dim, 1 / np.sqrt(dim))
    inside = np.zeros(dim)
    beyond = 1e3 * edge
    moves = [
        ("a record at the bound changes class", (edge, 0), (edge, 1)),
        ("a record at one bound moves to the opposite one", (edge, 0), (-edge, 0)),
        ("an outlier far outside leaves, a record enters another class", (beyond, 0), (inside, 1)),
        ("a record crosses the ball and changes class", (edge, 0), (-edge, 1)),
        ("an empty class appears", (edge, 0), (edge, 2)),
    ]
    if adjacency == "replace":
        return [Pair(n, _with(X, codes, [a]), _with(X, codes, [b])) for n, a, b in moves]
    ins = [
        ("a record at the bound enters", (edge, 0)),
        ("an outlier far outside enters", (beyond, 0)),
        ("an empty class appears", (edge, 2)),
    ]
    return [Pair(n, _with(X, codes, []), _with(X, codes, [a])) for n, a in ins]


# A table of a number and a category, either of which may be missing.
MIXED = (
    Column("x", "number", -1.0, 1.0, missing=True),
    Column("c", "category", levels=("u", "v", "w"), missing=True),
)


def mixed_pairs(adjacency: Adjacency) -> list[Pair]:
    """Neighbours among tables of ``MIXED``; all rows but one hold a number and the first level."""
    X, codes = _table(1)
    cells = np.column_stack([X, np.zeros(len(X))])
    full, bare, rare = (np.array(row) for row in ((-1.0, 0.0), (ABSENT, ABSENT), (1.0, 2.0)))
    moves = [
        ("every cell and the class of a row change, to cells that are missing", (full, 0), (bare, 1)),
        ("every cell of a row goes missing", (full, 0), (bare, 0)),
        ("a level that no other row has appears", (full, 0), (rare, 1)),
    ]  # fmt: skip
    if adjacency == "replace":
        dropped = Pair(
            "a row can no longer be used",
            *(_with(cells, codes, rows) for rows in ([(full, 0)], [])),
        )
        return [
            *(Pair(n, _with(cells, codes, [a]), _with(cells, codes, [b])) for n, a, b in moves),
            dropped,
        ]
    ins = [
        ("a row of missing cells enters", (bare, 1)),
        ("a level that no other row has appears", (rare, 2)),
    ]  # fmt: skip
    return [Pair(n, _with(cells, codes, []), _with(cells, codes, [a])) for n, a in ins]


def person_pairs(adjacency: Adjacency, dim: int) -> list[Pair]:
    """The same neighbours, but the unit that differs is a person with PERSON_ROWS equal rows (in one pair, with one row afterwards)."""
    found = []
    for pair in pairs(adjacency, dim):
        first, second = pair.first, pair.second
        if first.n_rows == second.n_rows:
            moved = (first.X != second.X).any(axis=1) | (first.codes != second.codes)
            at = int(np.flatnonzero(moved)[0])
        else:
            at = second.n_rows - 1
        name = f"{pair.name}, as {PERSON_ROWS} rows of a person"
        found.append(
            Pair(name, _person_at(first, at, PERSON_ROWS), _person_at(second, at, PERSON_ROWS))
        )
    if adjacency == "replace":
        name = f"a person of {PERSON_ROWS} rows at one bound becomes one row at the opposite one"
        X, codes = _table(dim)
        edge = np.full(dim, 1 / np.sqrt(dim))
        one, other = (_with(X, codes, [(x, k)]) for x, k in ((edge, 0), (-edge, 1)))
        found.append(Pair(name, _person_at(one, len(X), PERSON_ROWS), _person_at(other, len(X), 1)))
    return found


def _person_at(source: ArraySource, at: int, rows: int) -> ArraySource:
    """The table with row ``at`` repeated ``rows`` times, all of one person; every other row is a person of its own."""
    times = np.where(np.arange(source.n_rows) == at, rows, 1)
    wholes = np.repeat(times, times).astype(np.int64)
    shares = Shares.each(np.ones_like(wholes), wholes, source.n_rows)
    X, codes = np.repeat(source.X, times, axis=0), np.repeat(source.codes, times)
    return ArraySource(X, codes, source.n_classes, shares=shares)


def _label_pairs(X: Floats, codes: Codes) -> list[Pair]:
    """One label flips; features are shared."""
    far = int(np.linalg.norm(X, axis=1).argmax())
    found = []
    for name, row, old, new in (
        ("an outlier's label flips between the two smallest classes", far, 1, 2),
        ("a label flips between the two largest classes", 0, 0, 1),
        ("an empty class appears", far, 0, 2),
    ):
        before, after = codes.copy(), codes.copy()
        before[row], after[row] = old, new
        found.append(Pair(name, _source(X, before), _source(X, after)))
    return found


def _table(dim: int) -> tuple[Floats, Codes]:
    """Two clouds of 24 and 12 rows; the third class is empty; the last row is an outlier."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((36, dim))
    X[:24] -= 0.3
    X[24:] += 0.3
    X[-1] = 1 / np.sqrt(dim)
    return X, np.repeat([0, 1], [24, 12]).astype(np.intp)


def _with(X: Floats, codes: Codes, rows: Sequence[tuple[Floats, int]]) -> ArraySource:
    if not rows:
        return _source(X, codes)
    features, labels = zip(*rows, strict=True)
    return _source(np.vstack([X, *features]), np.append(codes, labels).astype(np.intp))


def _source(X: Floats, codes: Codes) -> ArraySource:
    return ArraySource(X, codes, N_CLASSES)


@dataclass(frozen=True, eq=False)
class Case:
    """Two neighbours, and a score of a released mixture that tends to be larger on the second."""

    what: str
    adjacency: Adjacency
    pair: Pair
    score: Callable[[Mixture], float]


def informed(adjacency: Adjacency) -> Case:
    """A table so simple that one released number holds nearly all of what the noisy answers give away."""
    if adjacency == "label":
        # All rows have the same features, hence one public cell: its two noisy counts alone decide the weights.
        rows: list[AuditLine] = [([0.0], 0), ([0.0], 1), ([0.0], 1)]
        name = "a label flips between two small classes of equal rows"
        pair = _pair(name, rows, [([0.0], 0)], [([0.0], 1)], 2)
        return Case("released mixture", adjacency, pair, lambda m: float(m.weights[1]))
    if adjacency == "replace":
        name = "a record at one bound moves to the opposite one"
        pair = _pair(name, [([0.0], 0)] * 6, [([1.0], 0)], [([-1.0], 0)], 1)
        return Case("released mixture", adjacency, pair, lambda m: -float(m.means[0, 0]))
    small: list[AuditLine] = [([0.0], 0), ([0.0], 1)] * 3
    pair = _pair("a record at the bound enters", small, [], [([1.0], 1)], 2)
    return Case("released mixture", adjacency, pair, lambda m: float(m.means[1, 0]))


def realistic(adjacency: Adjacency) -> Case:
    """Three clouds and one row far from them, whose label or presence the attacker guesses."""
    dim = 3 if adjacency == "label" else 1
    centres = np.array([-0.5, 0.0, 0.4])[:, None] / np.sqrt(dim)
    codes = np.repeat([0, 1, 2], [11, 6, 5])
    X = centres[codes] + 0.1 * np.random.default_rng(0).standard_normal((codes.size, dim))
    rows: list[AuditLine] = [(row.tolist(), int(k)) for row, k in zip(X, codes, strict=True)]
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
    name: str,
    shared: Sequence[AuditLine],
    first: Sequence[AuditLine],
    second: Sequence[AuditLine],
    n_classes: int,
) -> Pair:
    return Pair(name, *(_stacked([*shared, *own], n_classes) for own in (first, second)))


def _stacked(rows: Sequence[AuditLine], n_classes: int) -> ArraySource:
    X: Floats = np.array([x for x, _ in rows], dtype=np.float64)
    return ArraySource(X, np.array([k for _, k in rows], dtype=np.intp), n_classes)
