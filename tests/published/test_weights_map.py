"""Prop. 3 and its repair, lambda-smoothing, and the exact uniform draw from S."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from privgmm.published.budget import smoothing_log_ratio
from privgmm.published.neighbours import adjacent_counts
from privgmm.published.objective import weight_loss
from privgmm.published.weights_map import (
    WeightsMap,
    log_grid_size,
    printed_column,
    transition_columns,
    uniform_composition,
)


def grid(n, k):
    """All of S, as counts."""
    return np.array([c for c in product(range(1, n), repeat=k) if sum(c) == n])


def example(n=9, k=3, smoothing=0.2):
    counts = np.array([4, 3, 2])
    rows = np.vstack([counts, adjacent_counts(counts, "label")])
    column = np.arange(1.0, len(rows) + 1)
    column /= column.sum()
    return WeightsMap(rows / n, column, column, smoothing, n)


def test_the_print_is_not_a_distribution():
    """K=5, eps_0=1/3, all g_i >= 0: the printed column sums to 0.73."""
    assert printed_column(np.ones(21), 1 / 3).sum() == pytest.approx(0.726, abs=1e-3)
    assert printed_column(-np.ones(21), 1 / 3).sum() > 1


@settings(max_examples=200)
@given(
    g=st.lists(st.floats(-5, 5), min_size=2, max_size=30),
    epsilon_0=st.floats(1e-4, 5),
)
def test_columns_are_distributions_within_epsilon_0(g, epsilon_0):
    g = np.array(g)
    column, other = transition_columns(g, epsilon_0)
    for one in (column, other):
        assert one.sum() == pytest.approx(1, abs=1e-12)
        assert (one > 0).all()
    loss = np.abs(np.log(column / other)).max()
    assert loss <= epsilon_0 * (1 + 1e-9) + 1e-12
    if (g < 0).any() and (g >= 0).any():  # (eq17) is tight when both signs occur
        assert loss == pytest.approx(epsilon_0, rel=1e-6)
        # outputs with g_i < 0 are the likelier ones, by the printed ratio
        neighbours = g.size - 1
        ratio = (1 + neighbours * np.exp(epsilon_0)) / (1 + neighbours * np.exp(-epsilon_0))
        assert column[g < 0][0] / column[g >= 0][0] == pytest.approx(ratio)


def test_uniform_composition_is_uniform_over_s():
    n, k = 8, 3
    everything = [tuple(c) for c in grid(n, k)]
    rng = np.random.default_rng(0)
    seen = Counter(tuple(uniform_composition(n, k, rng).tolist()) for _ in range(8000))
    assert set(seen) == set(everything)
    assert chisquare([seen[c] for c in everything]).pvalue > 1e-4
    assert np.exp(log_grid_size(n, k)) == pytest.approx(len(everything))


def test_uniform_composition_of_a_large_grid():
    parts = uniform_composition(10**6, 50, np.random.default_rng(0))
    assert parts.sum() == 10**6
    assert parts.min() >= 1


def test_expectations_equal_the_sum_over_s():
    """Sum over all of S by hand, against the closed form that never lists it."""
    mapping = example()
    everything = grid(9, 3) / 9
    uniform = np.full(len(everything), mapping.smoothing / len(everything))
    mean = (1 - mapping.smoothing) * mapping.column @ mapping.candidates + uniform @ everything
    loss = (1 - mapping.smoothing) * mapping.column @ weight_loss(
        mapping.candidates, mapping.weights
    ) + uniform @ weight_loss(everything, mapping.weights)
    np.testing.assert_allclose(mapping.mean_weights(), mean, atol=1e-12)
    assert mapping.expected_loss() == pytest.approx(loss, abs=1e-12)


def test_draws_follow_f():
    mapping = example()
    rng = np.random.default_rng(3)
    seen = Counter(
        tuple(np.round(mapping.draw(rng) * 9).astype(int).tolist()) for _ in range(20_000)
    )
    everything = [tuple(c) for c in grid(9, 3)]
    probability = {c: mapping.smoothing / len(everything) for c in everything}
    for row, p in zip(mapping.candidates, mapping.column, strict=True):
        probability[tuple(np.round(row * 9).astype(int).tolist())] += (1 - mapping.smoothing) * p
    expected = np.array([probability[c] for c in everything]) * 20_000
    assert chisquare([seen[c] for c in everything], expected).pvalue > 1e-4


def test_smoothing_does_not_keep_epsilon_0():
    """N=1000, K=5, lambda=1e-3: the log-ratio at some outputs is about 28, not eps_0."""
    assert smoothing_log_ratio(1000, 5, 1e-3) == pytest.approx(28, abs=0.5)
