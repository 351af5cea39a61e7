import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.data import ArraySource
from privgmm.queries.assigned import Assigned
from privgmm.queries.column_histograms import MarginalCounts
from privgmm.rowwise import GaussianRule


def test_bins_are_half_open_and_the_ends_take_everything_beyond() -> None:
    kernel = MarginalCounts(np.zeros((1, 1)), np.ones((1, 1)), 3)
    X = np.array([[-7.0], [0.0], [0.99], [1.0], [2.0], [3.0], [1e300], [np.nan], [-np.inf]])
    totals = kernel(X, np.zeros(9, dtype=np.intp))
    assert totals.tolist() == [9, 5, 1, 3]


def test_each_class_has_its_own_edges() -> None:
    kernel = MarginalCounts(np.array([[0.0, 0.0], [10.0, 10.0]]), np.ones((2, 2)), 2)
    X = np.array([[0.5, 1.5], [10.5, 11.5], [11.5, 11.5]])
    totals = kernel(X, np.array([0, 1, 1]))
    assert totals[:2].tolist() == [1, 2]
    assert totals[2:].reshape(2, 2, 2).tolist() == [[[1, 0], [0, 1]], [[1, 1], [0, 2]]]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.integers(1, 60))
def test_same_bits_for_any_order_and_chunking_also_when_assigned(
    seed: int, n_classes: int, dim: int, chunk: int
) -> None:
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(80, dim)), rng.integers(0, n_classes, 80)
    plain = MarginalCounts(rng.normal(size=(n_classes, dim)), np.ones((n_classes, dim)), 5)
    rule = GaussianRule(
        rng.normal(size=(n_classes, dim)),
        np.tril(rng.normal(size=(n_classes, dim, dim))),
        rng.normal(size=n_classes),
    )
    order = rng.permutation(80)
    by_lot = dataclasses.replace(rule, salt=seed)
    for kernel in (plain, Assigned(plain, rule), Assigned(plain, by_lot)):
        whole = ArraySource(X, codes, n_classes).total(kernel)
        parts = ArraySource(X[order], codes[order], n_classes, chunk_rows=chunk).total(kernel)
        np.testing.assert_array_equal(whole, parts)
        assert whole[:n_classes].sum() == 80
        assert whole[n_classes:].sum() == 80 * dim
