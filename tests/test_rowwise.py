"""A row's image is the same bits whatever rows stand around it: linear maps, projections, logarithms."""

import math

import numpy as np
import pytest

from privgmm.rowwise import _gumbel, columns, linear_map, log, project
from privgmm.transform import Log, Pca

RNG = np.random.default_rng(7)


def pca(d, m):
    return Pca(RNG.normal(size=d), np.linalg.qr(RNG.normal(size=(d, m)))[0].T)


# Columns and rows at which a BLAS product was seen to round the rows it shares with another table
# differently: odd numbers of rows and single rows with one thread, the others with two.
@pytest.mark.parametrize(
    ("d", "m", "rows", "more"),
    [
        (784, 5, 240, 241),
        (784, 5, 241, 300),
        (500, 2, 524, 600),
        (500, 2, 599, 600),
        (1000, 3, 332, 333),
        (1000, 3, 333, 400),
        (30, 30, 511, 513),
    ],
)
def test_a_projection_is_rowwise_to_the_bit(d, m, rows, more):
    step, X = pca(d, m), RNG.normal(size=(more, d)) * 10.0 ** RNG.uniform(-3, 3, size=d)
    whole = step.apply(X)
    np.testing.assert_array_equal(step.apply(X[:rows]), whole[:rows])
    np.testing.assert_array_equal(step.apply(X[::-1])[::-1], whole)
    np.testing.assert_array_equal([step.apply(X[i : i + 1])[0] for i in range(9)], whole[:9])
    exact = (X - step.mean) @ step.components.T
    np.testing.assert_allclose(whole, exact, atol=1e-9 * np.abs(X).max())


@pytest.mark.parametrize("d", [1, 3, 50, 64])
@pytest.mark.parametrize("rows", [1, 7, 240, 333, 500])
def test_a_linear_map_is_rowwise_to_the_bit_before_rounding(d, rows):
    lower, X = np.tril(RNG.normal(size=(d, d))), RNG.normal(size=(1000, d))
    whole = linear_map(columns(X, X[0]), lower)
    np.testing.assert_array_equal(linear_map(columns(X[:rows], X[0]), lower), whole[:, :rows])
    np.testing.assert_allclose(whole, lower @ (X - X[0]).T, atol=1e-9)


@pytest.mark.parametrize("d", [3, 20])
def test_a_linear_map_is_ieee_products_and_sums_in_the_stated_order(d):
    """To the bit: a fused or reordered sum of some library would be another map on another machine."""
    lower, X = np.tril(RNG.normal(size=(d, d))), RNG.normal(size=(9, d))
    expected = np.empty((d, 9))
    for n, i in np.ndindex(9, d):
        total = float(X[n, i]) * float(lower[i, i])
        for j in range(i):
            total = total + float(X[n, j]) * float(lower[i, j])
        expected[i, n] = total
    np.testing.assert_array_equal(linear_map(columns(X, np.zeros(d)), lower), expected)


def test_projections_of_no_rows_and_of_one_column():
    assert project(np.empty((0, 3)), np.zeros(3), np.eye(3)[:2]).shape == (0, 2)
    assert project(np.array([[3.0]]), np.array([1.0]), np.array([[-1.0]])).tolist() == [[-2.0]]


def scalar_log(x):
    m, k = math.frexp(x)
    if m < math.sqrt(0.5):
        m, k = 2 * m, k - 1
    s = (m - 1) / (m + 1)
    series = 2 / 21
    for j in range(19, 0, -2):
        series = series * (s * s) + 2 / j
    return k * (0x162E42FEE / 2**33) + (s * series + k * float.fromhex("0x1.a39ef35793c76p-33"))


def test_the_logarithm_is_close_and_never_another_path():
    x = np.concatenate([
        np.exp(RNG.uniform(-700, 700, 20_000)), RNG.uniform(0.5, 2, 20_000),
        1 + RNG.normal(size=20_000) * 1e-6, [5e-324, 1.7e308, 1.0],
    ])  # fmt: skip
    true = np.array([math.log(v) for v in x])
    assert (np.abs(log(x) - true) <= 4 * np.spacing(np.abs(true))).all()
    # Python's floats, one by one, know no vector units: the same operations give the same bits.
    np.testing.assert_array_equal(log(x[:30_000:7]), [scalar_log(v) for v in x[:30_000:7].tolist()])
    pinned = {
        0.1: "-0x1.26bb1bbb55515p+1",
        3.7: "0x1.4eeee650ae550p+0",
        1e10: "0x1.7069e2aa2aa5bp+4",
    }
    assert {v: float(log(np.array([v]))[0]).hex() for v in pinned} == pinned
    np.testing.assert_array_equal(log(x[:7]), log(x)[:7])
    np.testing.assert_array_equal(Log(0.5).apply(x[:9, None])[:, 0], log(x[:9] + 0.5))


def test_the_table_of_lots_is_made_of_the_same_arithmetic():
    table = _gumbel()
    p = (np.arange(table.size) + 0.5) / table.size
    np.testing.assert_array_equal(table, -log(-log(p)))
    np.testing.assert_allclose(table, -np.log(-np.log(p)), rtol=1e-13, atol=1e-15)
