"""``python -m bench.coverage --unit label``: how often 95 % intervals hold (eq2)'s value, over small tables.

Per family and kind, pooled over the entries of all tables that are not flagged unusable (design section 10: 93 to 97 %), and,
beside it, over those that are (at least 93 %). A mean or deviation is flagged with its column, a correlation with one of
its columns, a weight with any column of its class. Noise is seeded: figures repeat.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from privgmm import datasets, fit
from privgmm.data import ArraySource
from privgmm.data.region import stated_region
from privgmm.data.source import MappedSource
from privgmm.model.uncertainty import KINDS, Errors, split
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.label import release_label
from privgmm.proven.record import release_record

Table = tuple[np.ndarray, np.ndarray]
DELTA = 1e-5
# Table t has SIZES[t % 3] rows and is released at EPSILONS[t // 3 % 3].
SIZES = (400, 1000, 3000)
EPSILONS = (0.5, 1.0, 4.0)


def bells(seed: int, n: int) -> Table:
    """The paper's mixtures, which cells mostly tell apart."""
    return datasets.synthetic(n=n, n_classes=3, dim=3, seed=90_000 + seed)


def spikes(seed: int, n: int) -> Table:
    """A 0/1 column, a zero-heavy one with a tail and a normal one; labels depend on all, and on chance."""
    rng = np.random.default_rng([1, seed])
    binary = rng.random(n) < rng.uniform(0.2, 0.8)
    tail = np.where(rng.random(n) < 0.6, 0.0, rng.exponential(2.0, n))
    X = np.c_[binary, tail, rng.standard_normal(n)]
    score = X @ rng.normal(0.0, [1.5, 0.5, 1.0]) + rng.logistic(size=n)
    return X, (score > np.quantile(score, rng.uniform(0.3, 0.6))).astype(int)


def overlapping(seed: int, n: int) -> Table:
    """Three Gaussian classes on top of one another."""
    rng = np.random.default_rng([2, seed])
    y = rng.choice(3, n, p=0.1 + 0.7 * rng.dirichlet(np.full(3, 5.0)))
    shapes = rng.normal(0.0, 0.4, (3, 3, 3)) + np.diag(rng.uniform(0.6, 1.4, 3))
    centres = rng.normal(0.0, 0.8, (3, 3))
    return np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((n, 3))) + centres[y], y


def counts(seed: int, n: int) -> Table:
    """Two classes in five columns, three of them counts."""
    rng = np.random.default_rng([3, seed])
    y = (rng.random(n) < rng.uniform(0.25, 0.5)).astype(int)
    rate = np.exp(rng.normal(0.5, 0.7, (2, 3)))
    base = rng.normal(0.0, 1.0, (n, 2)) + rng.normal(0.0, 0.9, (2, 2))[y]
    return np.c_[base, rng.poisson(rate[y])].astype(float), y


def five(seed: int, n: int) -> Table:
    """Five classes in two columns."""
    rng = np.random.default_rng([4, seed])
    y = rng.choice(5, n, p=0.08 + 0.6 * rng.dirichlet(np.full(5, 3.0)))
    shapes = rng.normal(0.0, 0.35, (5, 2, 2)) + np.diag([0.8, 0.8])
    centres = rng.normal(0.0, 2.5, (5, 2))
    return np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((n, 2))) + centres[y], y


def heavy(seed: int, n: int) -> Table:
    """Three classes of Student t rows, three degrees of freedom."""
    rng = np.random.default_rng([5, seed])
    y = rng.choice(3, n, p=0.15 + 0.55 * rng.dirichlet(np.full(3, 4.0)))
    centres = rng.normal(0.0, rng.choice([1.0, 3.0]), (3, 3))
    z = rng.standard_normal((n, 3)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3)
    return z @ (rng.normal(0.0, 0.3, (3, 3)) + np.eye(3)).T + centres[y], y


def rare(seed: int, n: int) -> Table:
    """Two classes, and a third of 3 % of the rows."""
    rng = np.random.default_rng([6, seed])
    y = rng.choice(3, n, p=[0.57, 0.4, 0.03])
    # (eq2) needs four rows of a class.
    y[:4] = 2
    centres = rng.normal(0.0, rng.choice([0.8, 2.5]), (3, 3))
    shapes = rng.normal(0.0, 0.3, (3, 3, 3)) + np.diag(rng.uniform(0.5, 1.2, 3))
    return np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((n, 3))) + centres[y], y


FAMILIES: dict[str, Callable[[int, int], Table]] = {
    "bells": bells,
    "spikes": spikes,
    "overlapping": overlapping,
    "counts": counts,
    "five": five,
    "heavy": heavy,
    "rare": rare,
}


def label_level(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Errors:
    n_classes = int(y.max()) + 1
    source = ArraySource(X, y, n_classes)
    curator = Curator(source, SeededNoise(seed), "label", epsilon, DELTA)
    found = release_label(X, curator, n_classes).errors
    assert found is not None
    return found


def record_level(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> Errors:
    """In a stated box that somebody who knows the columns would give."""
    n_classes = int(y.max()) + 1
    region = stated_region(X.shape[1], _box(X), None, None)
    source = MappedSource(ArraySource(X, y, n_classes), region.to_unit)
    curator = Curator(source, SeededNoise(seed), "replace", epsilon, DELTA)
    args = n_classes, X.shape[1], len(X), "balanced", region.extent
    found = release_record(curator, *args).errors
    assert found is not None
    return found.moved(region.scale, region.center)


def _box(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns' ranges and a quarter of them more on each side: rows are never outside."""
    low, high = X.min(axis=0), X.max(axis=0)
    return low - (high - low) / 4, high + (high - low) / 4


UNITS = {"label": label_level, "record": record_level}


@dataclass
class Tally:
    """Entries whose interval holds the truth, and all entries; for usable ones and others."""

    held: np.ndarray
    seen: np.ndarray

    def __str__(self) -> str:
        usable, flagged = (
            f"{h / s:.3f} of {s}" if s else "none"
            for h, s in zip(self.held, self.seen, strict=True)
        )
        return f"{usable:16s} flagged {flagged}"


def coverage(unit: str, family: str, tables: int, first: int = 0) -> dict[str, Tally]:
    """Of ``tables`` releases, per kind."""
    tallies = {kind: Tally(np.zeros(2, int), np.zeros(2, int)) for kind in KINDS}
    for t in range(first, first + tables):
        size, epsilon = SIZES[t % 3], EPSILONS[t // 3 % 3]
        X, y = FAMILIES[family](t, size)
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.intp)
        found = UNITS[unit](X, y, epsilon, t)
        fitted = fit(X, y)
        deviations, correlations = split(fitted.covariances)
        truth = (fitted.weights, fitted.means, deviations, correlations)
        for kind, values in zip(KINDS, truth, strict=True):
            held, usable = getattr(found.intervals, kind).holds(values), found.usable_columns
            if kind == "weights":
                usable = found.usable
            if kind == "correlations":
                i, j = np.triu_indices(X.shape[1], 1)
                held, usable = held[:, i, j], usable[:, i] & usable[:, j]
            for place, chosen in enumerate((usable, ~usable)):
                tallies[kind].held[place] += held[chosen].sum()
                tallies[kind].seen[place] += held[chosen].size
    return tallies


def lines(unit: str, families: list[str], tables: int, first: int) -> Iterator[str]:
    for family in families:
        for kind, tally in coverage(unit, family, tables, first).items():
            yield f"{unit} {family:12s} {kind:13s} {tally}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unit", choices=sorted(UNITS), required=True)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append")
    asked = parser.parse_args()
    for line in lines(asked.unit, asked.family or list(FAMILIES), asked.tables, asked.first):
        print(line, flush=True)
