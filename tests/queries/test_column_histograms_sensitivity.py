"""The histograms' sensitivity is met by every removal and by the worst replacement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery


@settings(max_examples=1000, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6), st.floats(1e-2, 1e200))
def test_no_neighbour_exceeds_it(seed: int, n_classes: int, dim: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    kernel = MarginalCounts(rng.normal(size=(n_classes, dim)), rng.random((n_classes, dim)), 4)
    query = MarginalCountsQuery(kernel)
    X, codes = rng.standard_normal((5, dim)) * size, rng.integers(0, n_classes, 5)
    X2, codes2 = X.copy(), codes.copy()
    X2[0], codes2[0] = rng.standard_normal(dim), rng.integers(0, n_classes)
    moved = np.linalg.norm(kernel(X, codes) - kernel(X2, codes2))
    assert moved <= query.sensitivity("replace") + 1e-12
    gone = np.linalg.norm(kernel(X, codes) - kernel(X[1:], codes[1:]))
    assert gone == pytest.approx(query.sensitivity("add-remove"))
    # Replacing by a row that is dropped: it stays a neighbour, and contributes nothing.
    assert gone <= query.sensitivity("replace")


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_a_change_of_class_attains_it(dim: int) -> None:
    kernel = MarginalCounts(np.zeros((2, dim)), np.ones((2, dim)), 4)
    x = np.full((1, dim), 1.5)
    moved = kernel(x, np.array([0])) - kernel(x, np.array([1]))
    for adjacency in ("replace", "label"):
        stated = MarginalCountsQuery(kernel).sensitivity(adjacency)
        assert np.linalg.norm(moved) == pytest.approx(stated)
