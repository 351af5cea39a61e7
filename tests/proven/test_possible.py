"""Released means and deviations are such as rows inside the stated bounds can have."""

import numpy as np
import pytest

from privgmm import release
from privgmm.proven.uncertainty import possible

NONE = np.array([np.nan, np.nan])
LOW, HIGH = np.array([0.0, -1.0]), np.array([1.0, 4.0])


def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows.mean(axis=0)[None], np.cov(rows.T, bias=True)[None]


@pytest.mark.parametrize("seed", range(20))
def test_what_rows_have_stays_as_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = np.array([1.0, 0.5])
    rows = LOW + steps * rng.integers(0, [2, 11], (rng.integers(5, 60), 2))
    rows[:2] = [LOW, HIGH]
    m, S = moments(rows)
    for step in (NONE, steps):
        found = possible(m, S, np.zeros((1, 2)), LOW, HIGH, step)
        np.testing.assert_allclose(found[0], m)
        np.testing.assert_allclose(found[1], S, rtol=1e-9, atol=1e-12)


def test_a_deviation_that_no_rows_have_becomes_the_largest_that_they_can_have() -> None:
    m, S = np.array([[0.4, 2.0]]), np.array([[[0.9, 0.5], [0.5, 4.0]]])
    mean, shape = possible(m, S, np.zeros((1, 2)), LOW, HIGH, NONE)
    np.testing.assert_allclose(np.diag(shape[0]), [0.24, 4.0])
    # Correlations stay.
    assert shape[0, 0, 1] / np.sqrt(0.24 * 4.0) == pytest.approx(0.5 / np.sqrt(0.9 * 4.0))
    np.testing.assert_array_equal(mean, m)


def test_a_yes_no_column_has_the_deviation_of_its_share() -> None:
    m, S = np.array([[0.4, 2.0]]), np.diag([0.01, 4.0])[None]
    shape = possible(m, S, np.zeros((1, 2)), LOW, HIGH, np.array([1.0, np.nan]))[1]
    assert shape[0, 0, 0] == pytest.approx(0.24)


def test_the_error_of_the_mean_leaves_room() -> None:
    m, off = np.array([[0.05, 5.0]]), np.array([[0.1, 0.1]])
    mean, shape = possible(m, np.diag([0.2, 9.0])[None], off, LOW, HIGH, np.array([1.0, 1.0]))
    # A mean of 0.15 is within reach; the other one is moved to the end of its column, and may be 3.9.
    np.testing.assert_allclose(np.diag(shape[0]), [0.15 * 0.85, 4.9 * 0.1])
    assert mean[0, 1] == 4.0


def test_noise_does_not_make_a_share_wider_than_shares_can_be() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.random(300) < 0.4, rng.normal(size=300)].astype(float)
    for seed in range(5):
        q = release(X, np.zeros(300, int), epsilon=0.5, delta=1e-5, unit="record", classes=[0],
                    bounds=([0, -5], [1, 5]), seed=seed).mixture  # fmt: skip
        assert 0 <= q.means[0, 0] <= 1
        assert q.covariances[0, 0, 0] <= 0.25 + 1e-12
