import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.data import ArraySource
from privgmm.errors import InputError
from privgmm.queries.class_moments import (
    GRID,
    ClassMoments,
    clipped_to_grid,
    grid_scale,
)


def kernel(seed: int, n_classes: int, dim: int) -> ClassMoments:
    rng = np.random.default_rng(seed)
    maps = np.tril(rng.normal(size=(n_classes, dim, dim)))
    return ClassMoments(rng.normal(size=(n_classes, dim)), maps)


def rows(seed: int, n: int, n_classes: int, dim: int):
    rng = np.random.default_rng(seed)
    return 3 * rng.standard_normal((n, dim)), rng.integers(0, n_classes, n).astype(np.intp)


def by_hand(query: ClassMoments, X, codes):
    """The same totals, one row at a time in Python integers."""
    n_classes, d = query.centres.shape
    totals = [[0] * query.width for _ in range(n_classes)]
    for x, k in zip(X, codes, strict=True):
        v = clipped_to_grid((query.transforms[k] @ (x - query.centres[k]))[:, None])[:, 0]
        v = [int(e) for e in v]
        row = [1, *v, *(v[i] * v[j] for i in range(d) for j in range(i, d))]
        totals[k] = [a + b for a, b in zip(totals[k], row, strict=True)]
    return np.array(totals)


def test_totals_are_those_of_rows_taken_one_by_one() -> None:
    query = kernel(0, 3, 4)
    X, codes = rows(1, 200, 3, 4)
    np.testing.assert_array_equal(query(X, codes).reshape(3, -1), by_hand(query, X, codes))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 7), st.integers(1, 97))
def test_same_bits_for_any_order_and_chunking(
    seed: int, n_classes: int, dim: int, chunk: int
) -> None:
    query = kernel(seed, n_classes, dim)
    X, codes = rows(seed + 1, 150, n_classes, dim)
    whole = ArraySource(X, codes, n_classes).total(query)
    order = np.random.default_rng(seed).permutation(150)
    parts = ArraySource(np.asfortranarray(X[order]), codes[order], n_classes, chunk_rows=chunk)
    np.testing.assert_array_equal(whole, parts.total(query))


def test_rows_inside_keep_their_value_and_rows_outside_their_direction() -> None:
    u = np.array([[0.3, 3.0], [-0.4, -4.0]])
    v = clipped_to_grid(u.copy()) / grid_scale(2)
    np.testing.assert_allclose(v, [[0.3, 0.6], [-0.4, -0.8]], atol=2 / GRID)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 60),
    st.floats(allow_nan=True, allow_infinity=True, width=64),
    st.integers(0, 10**6),
)
def test_no_row_ever_leaves_the_integer_ball(dim: int, size: float, seed: int) -> None:
    with np.errstate(all="ignore"):
        u = np.random.default_rng(seed).standard_normal((dim, 20)) * size
        u[:, 0] = size
        v = clipped_to_grid(u)
    exact = [sum(int(e) ** 2 for e in column) for column in v.T]
    assert max(exact) <= GRID**2


def test_absent_classes_and_no_rows_total_zero() -> None:
    query = kernel(0, 3, 2)
    none = query(np.empty((0, 2)), np.empty(0, dtype=np.intp))
    assert none.shape == (3 * query.width,)
    assert not none.any()
    X, _ = rows(0, 10, 1, 2)
    assert not query(X, np.zeros(10, dtype=np.intp)).reshape(3, -1)[1:].any()


def test_chunks_too_long_to_be_exact_are_refused() -> None:
    X = np.broadcast_to(np.zeros((1, 1)), (2**23 + 1, 1))
    with pytest.raises(InputError, match="summed exactly"):
        kernel(0, 1, 1)(X, np.zeros(1, dtype=np.intp))
