"""Bounds hold at their confidence, and are tight enough to convict."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from privgmm.audit.verdict import (
    binomial_lower,
    binomial_upper,
    epsilon_from_counts,
    epsilon_lower,
    epsilon_lower_gaussian,
    mu_lower,
)
from privgmm.privacy import mu_from_epsilon

ALPHA = 1e-3


@pytest.mark.parametrize("p", [0.003, 0.3, 0.97])
def test_binomial_bounds_cover_exactly(p):
    n, alpha = 200, 0.01
    k = np.arange(n + 1)
    mass = binom.pmf(k, n, p)
    assert mass[binomial_lower(k, n, alpha) > p].sum() <= alpha
    assert mass[binomial_upper(k, n, alpha) < p].sum() <= alpha
    # Not vacuous either: a success more and the true value would be refused.
    assert mass[binomial_lower(k, n, alpha) > p].sum() > alpha / 20


def test_binomial_bounds_at_the_ends():
    assert binomial_lower(0, 50, 0.01) == 0
    assert binomial_upper(50, 50, 0.01) == 1
    assert binomial_upper(0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50))


def test_counts_to_epsilon():
    # 10^6 trials: the binomial uncertainty is gone, ln((0.3 - 0.1) / 0.1) remains.
    assert epsilon_from_counts(300_000, 100_000, 10**6, 0.1, ALPHA) == pytest.approx(
        math.log(2), abs=0.02
    )
    assert epsilon_from_counts(5, 5, 10, 0.0, ALPHA) == 0


def gaussian_pair(mu, n, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n), rng.standard_normal(n) + mu


@pytest.mark.parametrize("runs", [1000, 6000])
def test_bounds_exceed_the_truth_no_more_often_than_stated(runs):
    epsilon, delta, alpha = 1.0, 1e-5, 0.05
    mu = mu_from_epsilon(epsilon, delta)
    above_mu = above_epsilon = 0
    for seed in range(150):
        low, high = gaussian_pair(mu, runs, seed)
        above_mu += mu_lower(low, high, alpha) > mu
        above_epsilon += epsilon_lower(low, high, delta, alpha) > epsilon
    # 5 % of 150 is 7.5; 20 would be nearly five standard deviations above.
    assert 1 <= above_mu <= 20
    assert above_epsilon <= 20


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_whole_curve_reaches_four_fifths(epsilon):
    low, high = gaussian_pair(mu_from_epsilon(epsilon, 1e-5), 100_000, 11)
    found = epsilon_lower_gaussian(low, high, 1e-5, 1e-4)
    assert 0.8 * epsilon <= found <= epsilon
    assert epsilon_lower(low, high, 1e-5, 1e-4) <= epsilon


def test_identical_outputs_give_nothing():
    rng = np.random.default_rng(0)
    low, high = rng.standard_normal((2, 20_000))
    assert epsilon_lower(low, high, 1e-5, ALPHA) == 0
    assert mu_lower(low, high, ALPHA) == 0
    ties = np.zeros(1000)
    assert epsilon_lower(ties, ties, 1e-5, ALPHA) == 0
    assert mu_lower(ties, ties, ALPHA) == 0
    assert mu_lower(np.zeros(9000), np.zeros(9000), ALPHA) == 0
    assert epsilon_lower(ties[:1], ties[:1], 1e-5, ALPHA) == 0


@pytest.mark.parametrize("flip", [False, True])
def test_an_impossible_output_is_found_in_either_direction(flip):
    rng = np.random.default_rng(1)
    low, high = rng.exponential(size=(2, 4000))
    high[rng.random(4000) < 0.3] = -1.0
    found = epsilon_lower(high, low, 1e-5, ALPHA) if flip else epsilon_lower(low, high, 1e-5, ALPHA)
    # About ln(0.27 * 2000 / ln(2000)): no event on the other table in 2000 trials.
    assert 3.5 < found < 6


@pytest.mark.parametrize("runs", [2000, 20_000])
def test_other_shapes_of_the_same_loss_are_not_overcharged(runs):
    # Randomised response with the trade-off curve inside G_mu: its AUC is below Phi(mu / sqrt 2).
    mu, rng = 0.5, np.random.default_rng(4)
    low = (rng.random(runs) < ndtr(-mu / 2)).astype(float)
    high = (rng.random(runs) < ndtr(mu / 2)).astype(float)
    assert 0 < mu_lower(low + 1e-9 * rng.random(runs), high + 1e-9 * rng.random(runs), ALPHA) < mu


@pytest.mark.parametrize("runs", [1000, 20_000])
def test_perfect_separation_gives_a_large_finite_bound(runs):
    low, high = gaussian_pair(100.0, runs, 0)
    assert 3 < mu_lower(low, high, ALPHA) < 6
    assert epsilon_lower_gaussian(low, high, 1e-5, ALPHA) > 10


def test_a_mechanism_that_leaks_twice_its_claim_is_refuted():
    low, high = gaussian_pair(2 * mu_from_epsilon(1.0, 1e-5), 20_000, 3)
    assert epsilon_lower_gaussian(low, high, 1e-5, ALPHA) > 1.5
