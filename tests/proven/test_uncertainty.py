"""Intervals and errors of a release from posterior draws."""

import numpy as np
import pytest

from privgmm.model.uncertainty import split
from privgmm.proven.uncertainty import uncertainty


def draws(n=4000, seed=0, noise=0.05):
    """Two classes of 300 and 100 rows in two columns; class 0 is known ten times better."""
    rng = np.random.default_rng(seed)
    counts = np.array([300.0, 100.0]) + 4 * rng.standard_normal((n, 2))
    off = noise * np.array([1.0, 10.0])
    means = np.array([[0.0, 1.0], [5.0, 5.0]]) + off[:, None] * rng.standard_normal((n, 2, 2))
    scale = np.exp(0.1 * rng.standard_normal((n, 2, 2)))
    base = np.array([[1.0, 0.6], [0.6, 4.0]])
    covariances = base * scale[..., :, None] * scale[..., None, :]
    return counts, means, covariances


def released(counts, means, covariances):
    share = counts.mean(axis=0) / counts.mean(axis=0).sum()
    return share, means.mean(axis=0), covariances.mean(axis=0)


def test_intervals_hold_the_middle_95_percent_of_the_draws():
    counts, means, covariances = draws()
    found = uncertainty(counts, means, covariances, released(counts, means, covariances))
    shares = counts / counts.sum(axis=1, keepdims=True)
    deviations, correlations = split(covariances)
    told = found.intervals
    for part, drawn in (
        (told.weights, shares),
        (told.means, means),
        (told.deviations, deviations),
    ):
        np.testing.assert_allclose(part.holds(drawn).mean(axis=0), 0.95, atol=0.002)
    # These agree in all draws: half a row is what they may be wrong about.
    row = 0.5 / np.median(counts, axis=0)
    np.testing.assert_allclose(told.correlations.low[:, 0, 1], 0.3 - row)
    np.testing.assert_allclose(told.correlations.high[:, 0, 1], 0.3 + row)
    np.testing.assert_allclose(correlations[:, :, 0, 1], 0.3)
    length = told.means.high - told.means.low
    np.testing.assert_allclose(length, 2 * 1.96 * found.means, rtol=0.06)


def test_errors_are_about_what_is_published():
    counts, means, covariances = draws()
    weights, centre, shape = released(counts, means, covariances)
    off = uncertainty(counts, means, covariances, (weights, centre + 3.0, shape))
    spread = means.std(axis=0)
    np.testing.assert_allclose(off.means, np.sqrt(spread**2 + 9), rtol=1e-6)


def test_a_class_whose_place_is_lost_in_noise_is_not_usable():
    counts, means, covariances = draws(noise=0.2)
    found = uncertainty(counts, means, covariances, released(counts, means, covariances))
    assert found.usable.tolist() == [True, False]  # 0.2 and 2 of a deviation of one


def test_a_class_with_too_few_rows_or_no_known_width_is_not_usable():
    counts, means, covariances = draws()
    few = counts.copy()
    few[: len(few) // 20, 1] = 2.0
    assert uncertainty(few, means, covariances, released(few, means, covariances)).usable.tolist() == [
        True, False]  # fmt: skip
    wide = covariances.copy()
    wide[: len(wide) // 20, 0] *= 100
    assert not uncertainty(counts, means, wide, released(counts, means, covariances)).usable[0]


def test_a_constant_column_has_no_correlation_and_stays_usable():
    counts, means, covariances = draws()
    covariances[:, :, 1, :] = covariances[:, :, :, 1] = 0.0
    means[:, :, 1] = 7.0
    found = uncertainty(counts, means, covariances, released(counts, means, covariances))
    assert found.intervals.deviations.high[0, 1] == 0
    assert found.correlations[0, 0, 1] == 0
    assert found.usable[0]
    assert found.means[0, 1] == pytest.approx(0)


def test_draws_are_spread_out_by_their_factors():
    counts, means, covariances = draws()
    published = released(counts, means, covariances)
    plain = uncertainty(counts, means, covariances, published).intervals
    wide = uncertainty(counts, means, covariances, published, (1.0, 2.0, 1.0, 1.0)).intervals
    ratio = (wide.means.high - wide.means.low) / (plain.means.high - plain.means.low)
    np.testing.assert_allclose(ratio, 2.0, rtol=0.001)
    np.testing.assert_array_equal(wide.deviations.low, plain.deviations.low)


def test_draws_that_agree_to_the_last_digit_may_be_wrong_about_half_a_row():
    counts, means, covariances = draws()
    published = released(counts, means, covariances)
    same = np.repeat(means[:1], 50, axis=0), np.repeat(covariances[:1], 50, axis=0)
    known = uncertainty(np.full((50, 2), [300.0, 100.0]), *same, published).intervals
    row = np.array([0.5 / 300, 0.5 / 100])
    np.testing.assert_allclose(
        (known.weights.high - known.weights.low) / 2, row * [0.75, 0.25], rtol=1e-9
    )
    deviations = split(covariances[0])[0]
    np.testing.assert_allclose(
        (known.means.high - known.means.low) / 2, deviations * row[:, None], rtol=1e-9
    )


def test_a_row_is_not_added_to_draws_that_vary_by_more():
    """It used to be, and intervals of classes that vary by a few rows held the truth in 99 of 100 releases."""
    counts, means, covariances = draws()
    found = uncertainty(counts, means, covariances, released(counts, means, covariances))
    shares = counts / counts.sum(axis=1, keepdims=True)
    for told, drawn in ((found.intervals.weights, shares), (found.intervals.means, means)):
        low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
        # Up to a margin for rounding, a five-hundredth of what a row changes.
        np.testing.assert_allclose([told.low, told.high], [low, high], atol=1e-4)


def test_what_is_not_usable_is_told_more_widely_and_nothing_else_changes():
    counts, means, covariances = draws(noise=0.2)
    args = counts, means, covariances, released(counts, means, covariances)
    plain, wary = uncertainty(*args), uncertainty(*args, unsure=1.5)
    np.testing.assert_array_equal(plain.usable_columns, wary.usable_columns)
    assert plain.usable.tolist() == [True, False]
    for kind in ("weights", "means", "deviations"):
        one, two = getattr(plain.intervals, kind), getattr(wary.intervals, kind)
        ratio = (two.high - two.low) / (one.high - one.low)
        np.testing.assert_allclose(ratio[0], 1.0)
        np.testing.assert_allclose(ratio[1], 1.5, rtol=1e-3)
