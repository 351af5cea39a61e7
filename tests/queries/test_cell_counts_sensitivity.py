"""Flipped labels by brute force: never above the stated sensitivity, and on it (label-sums.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm.data import ArraySource
from privgmm.errors import InputError
from privgmm.proven.label.frames import choose_frames
from privgmm.proven.label.tuning import TUNING
from privgmm.queries.cell_counts import CellCounts, CellCountsQuery, Partition
from privgmm.rowwise import GaussianRule


def change(query: object, X: np.ndarray, y: np.ndarray, row: int, to: int, k: int) -> float:
    """|| (T(D) - T(D')) / steps || for one flipped label."""
    flipped = y.copy()
    flipped[row] = to
    gap = ArraySource(X, y, k).total(query.kernel) - ArraySource(X, flipped, k).total(query.kernel)
    return float(np.linalg.norm(gap / query.steps))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 6),
    n_cells=st.integers(1, 9),
    spread=st.sampled_from([1e-3, 1.0, 1e6]),
)
def test_every_flip_of_a_cell_count_costs_sqrt_two(
    seed: int, n_classes: int, n_cells: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 2)) * spread
    rules = tuple(
        GaussianRule(
            rng.standard_normal((n_cells, 2)),
            np.tril(rng.standard_normal((n_cells, 2, 2))),
            rng.standard_normal(n_cells),
        )
        for _ in range(2)
    )
    keys = np.unique(rng.integers(0, n_cells**2, 5))  # many rows are in no listed cell
    query = CellCountsQuery(CellCounts(Partition(rules, (n_cells, n_cells), keys), n_classes))
    y = rng.integers(0, n_classes, 20)
    row = int(rng.integers(20))
    to = (int(y[row]) + int(rng.integers(1, n_classes))) % n_classes
    assert change(query, X, y, row, to, n_classes) == pytest.approx(math.sqrt(2), rel=1e-15)
    assert query.sensitivity("label") == pytest.approx(math.sqrt(2), rel=1e-15)
    # A label outside the class list contributes nothing: to or from it the change is one.
    assert change(query, X, y, row, -2, n_classes) == 1.0 <= query.sensitivity("label")


def test_cells_are_refused_where_features_are_private() -> None:
    rule = GaussianRule(np.zeros((1, 1)), np.ones((1, 1, 1)), np.zeros(1))
    query = CellCountsQuery(CellCounts(Partition((rule,), (1,), np.zeros(1, np.int64)), 2))
    for adjacency in ("replace", "add-remove"):
        with pytest.raises(InputError, match="unit='label'"):
            query.sensitivity(adjacency)


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 5),
    n_classes=st.integers(2, 4),
    far=st.sampled_from([0.01, 1.0, 100.0, 1e200]),
)
def test_no_flip_of_class_moments_exceeds_the_stated_sensitivity(
    seed: int, dim: int, n_classes: int, far: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, dim))
    labels = rng.dirichlet(np.ones(n_classes), 30)
    frames = choose_frames(X, labels, np.ones(dim), 1.0, 0.2, TUNING)
    X[0] *= far
    y = rng.integers(0, n_classes, 30)
    to = (int(y[0]) + 1) % n_classes
    assert change(frames.query, X, y, 0, to, n_classes) <= frames.query.sensitivity("label")


@pytest.mark.parametrize("dim", [1, 3, 12])
def test_a_far_row_reaches_the_sensitivity_of_class_moments(dim: int) -> None:
    rng = np.random.default_rng(dim)
    X = rng.standard_normal((200, dim))
    X[0] = 50.0
    labels = rng.dirichlet(np.ones(3), 200)
    frames = choose_frames(X[1:], labels[1:], np.ones(dim), 1.0, 0.01, TUNING)
    y = rng.integers(0, 3, 200)
    y[0] = 1
    got = change(frames.query, X, y, 0, 2, 3)
    assert 0.99 * frames.query.sensitivity("label") <= got <= frames.query.sensitivity("label")
