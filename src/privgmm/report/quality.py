"""Compare real rows with synthetic ones by the scores that users of synthetic data know. The scores are as private as the rows.

Scores are named as in SDMetrics (https://docs.sdv.dev/sdmetrics) where they mean the same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privgmm.model.columns import Column
from privgmm.releases import Release
from privgmm.types import Codes, Floats

# At most this many real rows, chosen by a public seed, are compared with as many synthetic ones, in at most this many columns:
# 20,000 rows of 40 columns in ten classes take 14 seconds on one core.
MOST_ROWS = 20_000
MOST_COLUMNS = 40
SEED = 0
# A value that at least this share of the real numbers has is counted as a level of its own.
_ATOM = 0.05
_TENTHS = 10
# Share of the real rows that classifiers are tested on.
_HELD_OUT = 0.3
# Standardised numbers are clipped here, so that one far value does not decide a fit.
_FARTHEST = 10.0


@dataclass(frozen=True)
class Score:
    """A score of the synthetic rows and, for comparison, of rows drawn again from the real ones, which is about the best possible."""

    name: str
    meaning: str
    synthetic: float
    real: float


@dataclass(frozen=True, eq=False)
class Quality:
    """Rows to compare: (n, c) cells with levels by position and NaN where missing.

    ``shapes`` are KSComplement or TVComplement by column, ``correlations`` those of the ``numbers``, real and synthetic.
    """

    columns: tuple[Column, ...]
    real: Floats
    synthetic: Floats
    scores: tuple[Score, ...]
    shapes: tuple[float, ...]
    numbers: tuple[int, ...]
    correlations: tuple[Floats, Floats]


def quality_of(release: Release, cells: Floats, codes: Codes) -> Quality:
    """Compare real cells (n, c) of classes (n,) with as many synthetic rows of a fixed seed."""
    rng = np.random.default_rng(SEED)
    n = min(len(cells), MOST_ROWS)
    chosen = np.sort(rng.choice(len(cells), n, replace=False))
    at = tuple(range(min(cells.shape[1], MOST_COLUMNS)))
    columns = tuple(release.columns[j] for j in at)
    real, real_codes = cells[chosen][:, at], codes[chosen]
    made, made_codes = release.draw(n, False, rng)
    made = made[:, at]
    again = rng.integers(n, size=n)
    kinds = (*columns, _class_column(release.mixture.n_classes))
    rows = [
        np.column_stack(pair).astype(np.float64)
        for pair in ((real, real_codes), (made, made_codes), (real[again], real_codes[again]))
    ]
    numbers = tuple(j for j, column in enumerate(columns) if column.type != "category")
    shapes = [column_shapes(kinds, rows[0], other) for other in rows[1:]]
    related = [correlations(part[:, numbers]) for part in rows]
    scores = [
        *_distances(kinds, rows, shapes),
        *_correlation_scores(related),
        *_missing_score(columns, rows),
        *_accuracy_score(columns, real, real_codes, made, made_codes),
    ]
    return Quality(
        columns, real, made, tuple(scores), shapes[0][:-1], numbers, (related[0], related[1])
    )


def _distances(
    kinds: tuple[Column, ...], rows: list[Floats], shapes: list[tuple[float, ...]]
) -> list[Score]:
    """Scores of single columns and of pairs; ``rows`` are real, synthetic, and real ones drawn again."""
    varied = [total_variations(kinds, rows[0], other) for other in rows[1:]]
    return [
        Score(
            "Column shapes",
            "mean over the columns of KSComplement (numbers: 1 − the largest gap between the distribution "
            "functions) and TVComplement (categories: 1 − total variation); 1 is best",
            *(float(np.mean(each)) for each in shapes),
        ),
        Score(
            "Total variation, columns",
            "mean over the columns, numbers in tenths of the real rows; 0 is best",
            *(single for single, _ in varied),
        ),
        Score(
            "Total variation, pairs",
            "mean over all pairs of columns, in the same way; 0 is best",
            *(pairs for _, pairs in varied),
        ),
    ]


def _correlation_scores(related: list[Floats]) -> list[Score]:
    """Scores of correlations (d, d) of real, synthetic, and real rows drawn again; none of a single column."""
    if len(related[0]) < 2:
        return []
    upper = np.triu_indices(len(related[0]), 1)
    off = [float(np.abs(other - related[0])[upper].mean()) for other in related[1:]]
    return [
        Score("Error of correlations", "mean over all pairs of numbers; 0 is best", *off),
        Score(
            "CorrelationSimilarity", "1 − half of that error; 1 is best", *(1 - e / 2 for e in off)
        ),
    ]


def _missing_score(columns: tuple[Column, ...], rows: list[Floats]) -> list[Score]:
    if not any(column.missing for column in columns):
        return []
    return [
        Score(
            "MissingValueSimilarity",
            "1 − the error of a column's share of missing cells, mean; 1 is best",
            *(_missing_similarity(columns, rows[0], other) for other in rows[1:]),
        )
    ]


def _accuracy_score(
    columns: tuple[Column, ...], real: Floats, real_codes: Codes, made: Floats, made_codes: Codes
) -> list[Score]:
    accuracies = _trained(columns, real, real_codes, made, made_codes)
    if accuracies is None:
        return []
    return [
        Score(
            "Accuracy of a classifier",
            f"logistic regression trained on synthetic rows, and on {1 - _HELD_OUT:.0%} of the real ones, "
            "both tested on the other real rows; more is better",
            *accuracies,
        )
    ]


def column_shapes(kinds: tuple[Column, ...], real: Floats, made: Floats) -> tuple[float, ...]:
    """For each column, KSComplement of a number or TVComplement of a category; missing cells of numbers are left out, as in SDMetrics."""
    found = []
    for j, column in enumerate(kinds):
        if column.type == "category":
            found.append(1 - _distance(*_levels(column, real[:, j], made[:, j])))
            continue
        a, b = (np.sort(x[~np.isnan(x)]) for x in (real[:, j], made[:, j]))
        if not (a.size and b.size):
            found.append(float(a.size == b.size))
            continue
        both = np.concatenate([a, b])
        gap = (
            np.searchsorted(a, both, "right") / a.size - np.searchsorted(b, both, "right") / b.size
        )
        found.append(1 - float(np.abs(gap).max()))
    return tuple(found)


def total_variations(kinds: tuple[Column, ...], real: Floats, made: Floats) -> tuple[float, float]:
    """Mean total variation of single columns and of all pairs.

    Numbers are binned by the deciles of the real ones; a value that many rows share, and missing cells, are levels of their own.
    """
    coded = []
    for j, column in enumerate(kinds):
        levels = _levels if column.type == "category" else _tenths
        coded.append(levels(column, real[:, j], made[:, j]))
    single = [_distance(*codes) for codes in coded]
    pairs = []
    for first, second in combinations(coded, 2):
        size = int(max(codes.max() for codes in second)) + 1
        pairs.append(_distance(*(a * size + b for a, b in zip(first, second, strict=True))))
    return float(np.mean(single)), float(np.mean(pairs))


def correlations(X: Floats) -> Floats:
    """(d, d) correlations over the rows in which both cells are present; zero where a column is constant."""
    found = np.eye(X.shape[1])
    # Columns are scaled first: correlations do not change, and the squares of very large values would overflow.
    with np.errstate(all="ignore"):
        X = X / np.nanmax(np.abs(X), axis=0, initial=0.0)
    there = np.isfinite(X)
    for i, j in combinations(range(X.shape[1]), 2):
        a, b = X[there[:, i] & there[:, j]][:, (i, j)].T
        if a.size < 2:
            continue
        a, b = a - a.mean(), b - b.mean()
        norm = np.sqrt((a @ a) * (b @ b))
        found[i, j] = found[j, i] = float(a @ b / norm) if norm > 0 else 0.0
    return found


def _class_column(n_classes: int) -> Column:
    return Column("class", "category", levels=tuple(map(str, range(n_classes))))


def _levels(column: Column, real: Floats, made: Floats) -> tuple[Codes, Codes]:
    last = len(column.levels)
    a, b = (np.where(np.isnan(x), last, x).astype(np.intp) for x in (real, made))
    return a, b


def _tenths(column: Column, real: Floats, made: Floats) -> tuple[Codes, Codes]:
    """Codes of the intervals between deciles, closed on the left, and of the values that many real rows share."""
    there = real[~np.isnan(real)]
    if not there.size:
        a, b = (np.isnan(x).astype(np.intp) for x in (real, made))
        return a, b
    values, counts = np.unique(there, return_counts=True)
    atoms = values[counts >= _ATOM * there.size]
    tenths = np.unique(np.quantile(there, np.linspace(0, 1, _TENTHS + 1)))
    edges = np.unique(np.concatenate([tenths[:-1], tenths[np.isin(tenths, atoms)]]))
    special = np.intersect1d(edges, atoms)

    def codes(x: Floats) -> Codes:
        inside = 2 * np.searchsorted(edges, x) + np.isin(x, special)
        return np.where(np.isnan(x), 2 * edges.size + 2, inside).astype(np.intp)

    return codes(real), codes(made)


def _distance(a: Codes, b: Codes) -> float:
    """Total variation of two lists of codes."""
    size = int(max(a.max(), b.max())) + 1
    p, q = (np.bincount(codes, minlength=size) / codes.size for codes in (a, b))
    return float(0.5 * np.abs(p - q).sum())


def _missing_similarity(columns: tuple[Column, ...], real: Floats, made: Floats) -> float:
    at = [j for j, column in enumerate(columns) if column.missing]
    gaps = np.isnan(real[:, at]).mean(axis=0) - np.isnan(made[:, at]).mean(axis=0)
    return float(1 - np.abs(gaps).mean())


def _trained(
    columns: tuple[Column, ...],
    real: Floats,
    real_codes: Codes,
    made: Floats,
    made_codes: Codes,
) -> tuple[float, float] | None:
    """Accuracy on held-out real rows after training on as many synthetic rows, and on the other real ones."""
    from sklearn.linear_model import LogisticRegression

    n = len(real)
    order = np.random.default_rng(SEED).permutation(n)
    test, train = np.split(order, [round(_HELD_OUT * n)])
    parts = (
        (made[: len(train)], made_codes[: len(train)]),
        (real[train], real_codes[train]),
    )
    if not test.size or any(np.unique(codes).size < 2 for _, codes in parts):
        return None
    accuracies = []
    for cells, codes in parts:
        rows, tested = (_design(columns, x, cells) for x in (cells, real[test]))
        with warnings.catch_warnings():
            # A warning that the fit has not quite converged is ignored: it predicts as well.
            warnings.simplefilter("ignore")
            fitted = LogisticRegression(max_iter=300).fit(rows, codes)
        accuracies.append(float((fitted.predict(tested) == real_codes[test]).mean()))
    return accuracies[0], accuracies[1]


def _design(columns: tuple[Column, ...], cells: Floats, training: Floats) -> Floats:
    """The design matrix: numbers standardised by the training rows, missing ones at the mean, and 0/1 columns for levels."""
    parts = []
    for j, column in enumerate(columns):
        x = cells[:, j]
        if column.type == "category":
            codes = np.where(np.isnan(x), len(column.levels), x)
            parts.append((codes[:, None] == np.arange(len(column.levels) + 1)).astype(np.float64))
            continue
        known = training[:, j][~np.isnan(training[:, j])]
        scale = float(np.abs(known).max(initial=0.0)) or 1.0
        known = known / scale
        mean = float(known.mean()) if known.size else 0.0
        wide = float(known.std()) if known.size else 0.0
        with np.errstate(over="ignore"):
            z = np.clip((x / scale - mean) / (wide or 1.0), -_FARTHEST, _FARTHEST)
        parts.append(np.where(np.isnan(z), 0.0, z)[:, None])
    return np.hstack(parts)
