"""Conversions against 60-digit arithmetic and a second accountant; the slack's constants."""

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
import scipy
from dp_accounting.pld import PLDAccountant
from scipy.stats import norm

from privgmm.errors import InputError
from privgmm.privacy import conversions
from privgmm.privacy.accounting import (
    SLACK_SHARE,
    SMALLEST_EPSILON,
    TV_CONSTANT,
    compose,
    discretisation_slack,
    epsilon_from_mu,
    mu_from_epsilon,
    total_variation,
)

BUDGETS = [(0.5, 1e-5), (1.0, 1e-5), (2.0, 1e-6), (4.0, 1e-5), (8.0, 1e-10), (0.01, 1e-3)]
EXTREMES = [
    (1e-5, 1e-30),
    (1e-5, 1e-8),
    (1e-3, 1e-30),
    (40.0, 1e-30),
    (40.0, 1e-5),
    (1.0, 0.5),
    (1e6, 1e-5),
]


def exact_delta(epsilon: float, mu: "mpmath.mpf") -> "mpmath.mpf":
    """Dong, Roth, Su 2022, Corollary 1."""
    e, cdf = mpmath.mpf(epsilon), mpmath.ncdf
    return cdf(-e / mu + mu / 2) - mpmath.exp(e) * cdf(-e / mu - mu / 2)


def test_the_familiar_budget():
    assert mu_from_epsilon(1.0, 1e-5) == pytest.approx(0.2681, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_mu_to_epsilon_and_back(epsilon, delta):
    mu = mu_from_epsilon(epsilon, delta)
    assert epsilon_from_mu(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert mu_from_epsilon(epsilon_from_mu(0.7 * mu, delta), delta) == pytest.approx(
        0.7 * mu, rel=1e-6
    )


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS + EXTREMES)
def test_mu_stays_inside_delta_with_the_curators_tolerance(epsilon, delta):
    # integer-noise.md, step 6: even a budget overspent by the curator's tolerance is inside.
    with mpmath.workdps(60):
        mu = mpmath.mpf(mu_from_epsilon(epsilon, delta)) * (1 + mpmath.mpf("1e-9"))
        share = exact_delta(epsilon, mu) / mpmath.mpf(delta)
        assert share <= 1 - mpmath.mpf(SLACK_SHARE)
        assert share >= 1 - 1.1 * mpmath.mpf(SLACK_SHARE)


@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.2681, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-10, 1e-5, 1e-2])
def test_epsilon_covers_mu(mu, delta):
    epsilon = epsilon_from_mu(mu, delta)
    with mpmath.workdps(60):
        assert exact_delta(epsilon, mpmath.mpf(mu)) <= mpmath.mpf(delta) * (1 - SLACK_SHARE)
        if epsilon > 2 * SMALLEST_EPSILON:
            assert exact_delta(0.999 * epsilon, mpmath.mpf(mu)) > mpmath.mpf(delta) * 0.998


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS + EXTREMES)
def test_conversions_are_those_of_the_package_to_the_bit(epsilon, delta):
    """Its file is run without scipy.stats and scipy.optimize, of which it needs one function each."""
    alone = conversions.conversions()
    assert alone is not dp_accounting.gaussian_mechanism
    assert alone.get_sigma_gaussian(epsilon, delta) == dp_accounting.get_sigma_gaussian(
        epsilon, delta
    )
    assert alone.get_epsilon_gaussian(1 / epsilon, delta) == dp_accounting.get_epsilon_gaussian(
        1 / epsilon, delta
    )
    # Whatever else a later version may ask for is scipy's own.
    assert alone._norm.ppf(delta) == norm.ppf(delta)
    assert alone.scipy.stats.beta is scipy.stats.beta
    assert alone.scipy.optimize.bisect is scipy.optimize.bisect
    assert alone.scipy.special is scipy.special


def test_a_root_that_cannot_be_found_is_refused_as_scipy_does():
    search = conversions._brentq()
    assert search is not scipy.optimize.brentq
    for f, low, high in [(lambda x: x, 1.0, 2.0), (lambda x: math.nan, 0.0, 1.0)]:
        for solver in search, scipy.optimize.brentq:
            with pytest.raises(ValueError, match=r"different signs|NaN"):
                solver(f, low, high, xtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mus", [(0.1, 0.15, 0.2), (0.5, 0.5), (1.0, 0.3, 0.3, 0.3)])
def test_composition_agrees_with_the_privacy_loss_accountant(mus):
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    for mu in mus:
        accountant.compose(dp_accounting.GaussianDpEvent(noise_multiplier=1 / mu))
    total = compose(mus)
    assert total == pytest.approx(math.sqrt(sum(mu**2 for mu in mus)), rel=1e-12)
    # The PLD accountant is pessimistic by its grid, our epsilon by the slack share of delta.
    assert epsilon_from_mu(total, 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), rel=2e-3)


def test_composition_is_not_free():
    assert compose([0.2, 0.2]) > 1.41 * 0.2
    assert compose([]) == 0


@pytest.mark.parametrize("sigma", [64, 512])
def test_total_variation_constant_is_true_and_tight(sigma):
    # Exact sums of |discrete - rounded continuous| / 2 against 0.021 / sigma^2.
    k = np.arange(-12 * sigma, 12 * sigma + 1)
    density = norm.pdf(k, scale=sigma)
    # Cells by Gauss-Legendre: differences of cdf would lose the digits that are compared.
    nodes, weights = np.polynomial.legendre.leggauss(6)
    rounded = norm.pdf(k[:, None] + nodes / 2, scale=sigma) @ (weights / 2)
    measured = np.abs(density / density.sum() - rounded).sum() / 2
    assert measured == pytest.approx(0.020164 / sigma**2, rel=2e-3)
    assert measured < TV_CONSTANT / sigma**2 < 1.05 * measured


def test_slack_adds_over_coordinates_and_grows_with_epsilon():
    assert total_variation([1e6, 2e6]) == pytest.approx(0.021e-12 * 1.25, rel=1e-12)
    assert discretisation_slack(1.0, 1e-9) == pytest.approx((1 + math.e) * 1e-9, rel=1e-12)
    assert discretisation_slack(1e6, 1e-9) > 1


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        # From about 1e10 on the conversion would promise too much, and from 1e200 on it fails.
        *[(bad, 1e-5) for bad in (0, -1, math.nan, math.inf, 1e-6, 1.1e6, 1e12, 1e200, None, "1")],
        *[(1, bad) for bad in (0, 1, math.nan, 1e-31)],
    ],
)
def test_budgets_without_meaning_are_refused(epsilon, delta):
    with pytest.raises(InputError, match=r"must"):
        mu_from_epsilon(epsilon, delta)


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf])
def test_mu_without_meaning_is_refused(mu):
    with pytest.raises(InputError, match="mu must be a positive number"):
        epsilon_from_mu(mu, 1e-5)
