"""Prop. 2 as printed, the paper's toy example to 1e-12, and the truth beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma
from scipy.stats import wishart

from privgmm import datasets, kl_divergence
from privgmm.published import design
from privgmm.published.objective import (
    best_gamma,
    component_cost,
    expected_log_det_ratio,
    printed_expected_kl,
    true_component_kl,
    wishart_constant,
)

positive = st.floats(1e-3, 1e3)


@given(sigma2=positive, mean_variance=positive, gamma=positive)
def test_toy_example_of_the_paper(sigma2, mean_variance, gamma):
    """d = K = 1: E[KL] = (v/s2 + 2/(gamma s2) + ln gamma)/2 - (ln 2 + psi(1))/2, gamma* = 2/s2."""
    cost = component_cost(
        np.array([gamma]), np.array([1 / sigma2]), np.array([mean_variance / sigma2]), 1
    )
    found = printed_expected_kl(np.ones(1), 0.0, cost, 1)
    printed = 0.5 * (mean_variance / sigma2 + 2 / (gamma * sigma2) + np.log(gamma))
    printed -= 0.5 * (np.log(2) + digamma(1))
    assert found == pytest.approx(printed, rel=1e-12, abs=1e-12)
    assert best_gamma(np.array([1 / sigma2]), 1)[0] == pytest.approx(2 / sigma2, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_constant_is_the_mean_log_determinant(d):
    """E ln |W| of Wishart_d(I, d+1) is d ln 2 + psi_d((d+1)/2), twice the constant."""
    draws = np.atleast_3d(wishart.rvs(d + 1, np.eye(d), size=20_000, random_state=0))
    log_det = np.linalg.slogdet(draws.reshape(-1, d, d))[1]
    error = log_det.std() / np.sqrt(len(draws))
    assert abs(log_det.mean() - 2 * wishart_constant(d)) < 4 * error


@pytest.mark.parametrize("d", [1, 3, 8])
def test_best_gamma_is_stationary(d):
    """d/gamma - (d+1) tr Sigma^-1 / gamma^2 = 0 at (d+1)/d tr Sigma^-1."""
    trace = np.array([2.7])
    gamma = best_gamma(trace, d)
    assert d / gamma - (d + 1) * trace / gamma**2 == pytest.approx(0, abs=1e-14)


def test_the_print_and_the_truth_part_at_large_gamma():
    """d=1, sigma^2=1, gamma=1000: the print says 3.40, the truth is 2e-6."""
    cost = component_cost(np.array([1000.0]), np.ones(1), np.zeros(1), 1)
    assert printed_expected_kl(np.ones(1), 0.0, cost, 1) == pytest.approx(3.40, abs=0.01)
    value, error = true_component_kl(np.ones((1, 1, 1)), np.zeros((1, 1, 1)), np.array([1000.0]))
    assert value[0] == pytest.approx(1.992e-6, rel=1e-3)
    assert error[0] == 0


def test_exact_log_det_agrees_with_monte_carlo():
    rng = np.random.default_rng(0)
    for gamma in (0.1, 1.0, 30.0):
        exact, _ = expected_log_det_ratio(np.array([[2.0]]), gamma, 0, rng)
        draws = np.log1p(rng.chisquare(2, 200_000) / gamma / 2.0)
        assert abs(exact - draws.mean()) < 4 * draws.std() / np.sqrt(draws.size)


def test_true_expected_kl_is_the_mean_of_the_draws():
    X, y = datasets.synthetic(n=600, n_classes=3, dim=2, seed=4)
    found = design(X, y, epsilon=6.0)
    value, error = found.true_expected_kl(samples=2000)
    rng = np.random.default_rng(1)
    draws = np.array([kl_divergence(found.draw(rng), found.fitted) for _ in range(1500)])
    assert abs(draws.mean() - value) < 4 * (draws.std() / np.sqrt(draws.size) + error)
    assert value < found.objective
