"""Quantiles of visible rows under soft labels, brought to released means and deviations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.model.margins import SCORES
from privgmm.proven.margins import nobodys_own, row_quantiles

FINE = np.linspace(-6, 6, 200_001)
WEIGHTS = np.exp(-(FINE**2) / 2) / np.exp(-(FINE**2) / 2).sum()


def values(told: np.ndarray) -> np.ndarray:
    """Values at fine scores, as samples have them."""
    return np.interp(FINE, SCORES, told)


@pytest.fixture(scope="module")
def rows():
    """Counts of two classes, and labels that are right for most of the rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    x = rng.poisson(np.where(y == 0, 2.0, 9.0)).astype(float)
    return x, y, 0.9 * np.eye(2)[y] + 0.05


def test_released_means_and_deviations_are_kept(rows):
    x, y, labels = rows
    wanted = np.array([[x[y == k].mean() for k in (0, 1)], [x[y == k].std() for k in (0, 1)]])
    told = row_quantiles(x, labels, np.vstack([wanted, np.full((2, 2), 1e-3)]))
    for k in (0, 1):
        drawn = values(told[k])
        mean = WEIGHTS @ drawn
        assert mean == pytest.approx(wanted[0, k], abs=0.05 * wanted[1, k])
        assert np.sqrt(WEIGHTS @ (drawn - mean) ** 2) == pytest.approx(wanted[1, k], rel=0.05)
        # The soft labels alone are off by more.
        assert abs(np.average(x, weights=labels[:, k]) - wanted[0, k]) > 0.1 * wanted[1, k]


def test_rounding_gives_the_shares_of_whole_numbers_back(rows):
    x, y, _ = rows
    labels = np.eye(2)[y]
    bells = np.array([[x[y == k].mean(), x[y == k].std(), 1.0, 1.0] for k in (0, 1)]).T
    told = row_quantiles(x, labels, bells, step=1.0)
    for k in (0, 1):
        drawn = np.rint(values(told[k]))
        for value in range(5):
            share = float((x[y == k] == value).mean())
            # Quantiles are told at steps of 0.05 of the score: 2 % of a class lie between two of them.
            assert WEIGHTS @ (drawn == value) == pytest.approx(share, abs=0.01)


def test_a_value_that_many_rows_share_stays_one_value():
    x = np.concatenate([np.zeros(600), np.random.default_rng(0).gamma(2, 3, 400)])
    bells = np.array([[x.mean()], [x.std()], [1.0], [1.0]])
    drawn = values(row_quantiles(x, np.ones((1000, 1)), bells)[0])
    assert WEIGHTS @ (drawn == 0) == pytest.approx(0.6, abs=0.02)
    assert drawn.min() == 0


def test_moments_that_no_row_allows_are_approached_and_end():
    x = np.repeat([0.0, 1.0, 1.0, 2.0], 5)
    bells = np.array([[50.0], [1e-3], [0.0], [0.0]])
    told = row_quantiles(x, np.ones((20, 1)), bells)
    assert np.isfinite(told).all()
    assert told[0, 80] == pytest.approx(2.0)
    # A class that no row has is told by all rows.
    nobody = row_quantiles(x, np.zeros((20, 1)), np.array([[1.0], [0.8], [0.1], [0.1]]))
    assert nobody[0, [0, -1]].tolist() == [0.0, 2.0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=5, max_size=60),
    st.lists(st.integers(0, 3), max_size=40),
)
def test_no_row_s_own_value_shows(spread, shared):
    x = np.array([*spread, *map(float, shared)])
    told = nobodys_own(x)
    values, counts = np.unique(x, return_counts=True)
    often = np.isin(x, values[counts >= 5])
    np.testing.assert_array_equal(told[often], x[often])
    means, groups = np.unique(told[~often], return_counts=True)
    if means.size:
        assert groups.min() >= min(5, (~often).sum())
        np.testing.assert_allclose(told[~often].sum(), x[~often].sum(), rtol=1e-9, atol=1e-3)
    # Neighbours stay neighbours among the others.
    order = np.argsort(x[~often], kind="stable")
    assert (np.diff(told[~often][order]) >= -1e-9 * np.abs(x).max()).all()
