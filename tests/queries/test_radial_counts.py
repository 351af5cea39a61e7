"""Counts per class and shell: what is counted, and how far one row moves it (docs/proofs/radial-counts.md)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm.queries.radial_counts import RadialCounts, RadialCountsQuery


def query(n_classes: int = 2, d: int = 2) -> RadialCountsQuery:
    maps = np.tile(np.eye(d) * 2.0, (n_classes, 1, 1))
    return RadialCountsQuery(
        RadialCounts(np.zeros((n_classes, d)), maps, np.tile([1.0, 2.0, 4.0], (n_classes, 1)))
    )


def test_rows_are_counted_by_their_length_in_the_frame() -> None:
    X = np.array([[0.1, 0.0], [0.5, 0.0], [0.0, 0.9], [3.0, 4.0], [np.nan, 0.0], [1e308, 1e308]])
    codes = np.array([0, 0, 0, 1, 1, 1])
    got = query().kernel(X, codes).reshape(2, 4)
    np.testing.assert_array_equal(got, [[1, 2, 0, 0], [0, 0, 0, 3]])


def test_totals_do_not_depend_on_the_rows_around() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(501, 2)), rng.integers(0, 2, 501)
    kernel = query().kernel
    whole = kernel(X, codes)
    parts = sum(kernel(X[i : i + 1], codes[i : i + 1]) for i in range(501))
    np.testing.assert_array_equal(whole, parts)


row = st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 1))


@given(row, row)
def test_no_pair_of_neighbours_moves_the_counts_further(a, b) -> None:
    q = query()

    def counts(rows):
        X = np.array([r[:2] for r in rows], dtype=float).reshape(-1, 2)
        return q.kernel(X, np.array([r[2] for r in rows], dtype=np.intp)) / q.steps

    moved = np.linalg.norm(counts([a]) - counts([b]))
    gone = np.linalg.norm(counts([a]) - counts([]))
    assert moved <= q.sensitivity("replace") == pytest.approx(np.sqrt(2))
    assert gone <= q.sensitivity("add-remove") == 1.0
    relabelled = np.linalg.norm(counts([a]) - counts([(*a[:2], 1 - a[2])]))
    assert relabelled == pytest.approx(q.sensitivity("label"))
    # A dropped row under replace: to or from zero.
    assert gone <= q.sensitivity("replace")
