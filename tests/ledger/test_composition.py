"""Costs add as proven: squares of mu, plain epsilons, loose deltas, neighbour steps."""

import math

import pytest

from privgmm.errors import InputError
from privgmm.ledger.composition import (
    Cost,
    add,
    fits,
    gaussian_cost,
    mu_allowed,
    over_steps,
    plain_cost,
)
from privgmm.privacy import mu_from_epsilon
from privgmm.privacy.accounting import TV_LIMIT


def test_squares_of_mu_add():
    total = add([gaussian_cost(0.3), gaussian_cost(0.4)])
    assert total.mu == pytest.approx(0.5)
    assert total.distance == 2 * TV_LIMIT
    assert (total.epsilon, total.delta) == (0, 0)


def test_a_release_as_large_as_the_budget_fits_once():
    one = gaussian_cost(mu_from_epsilon(1.0, 1e-5))
    assert fits(1.0, 1e-5, one)
    assert not fits(1.0, 1e-5, add([one, gaussian_cost(0.01)]))
    assert not fits(0.999, 1e-5, one)
    assert not fits(1.0, 0.99e-5, one)


def test_gaussian_composition_is_cheaper_than_adding_epsilons():
    # Four releases of epsilon 0.5 would plainly cost 2; as Gaussians they cost about 1.07.
    four = add([gaussian_cost(mu_from_epsilon(0.5, 1e-5))] * 4)
    assert fits(1.1, 1e-5, four)
    assert not fits(1.0, 1e-5, four)


def test_other_releases_add_plainly():
    assert fits(0.3, 1e-5, add([plain_cost(0.1, 0.0)] * 3))
    assert not fits(0.3, 1e-5, add([plain_cost(0.1, 0.0)] * 4))
    assert not fits(5.0, 1e-5, add([plain_cost(0.1, 0.6e-5)] * 2))
    mixed = add([plain_cost(0.4, 0.5e-5), gaussian_cost(mu_from_epsilon(0.6, 0.5e-5))])
    assert fits(1.0, 1e-5, mixed)
    assert not fits(0.99, 1e-5, mixed)
    assert not fits(1.0, 0.9e-5, mixed)


def test_distance_from_gaussian_twins_is_paid_for():
    cost = Cost(mu=0.01, distance=1e-9)
    # (1 + e) 1e-9 is more than a thousandth of 1e-7 and less than a thousandth of 1e-5.
    assert mu_allowed(1.0, 1e-5, cost) > 0
    assert mu_allowed(1.0, 1e-7, cost) == 0


def test_steps_of_a_proven_release():
    assert over_steps(gaussian_cost(0.2), 1) == gaussian_cost(0.2)
    three = over_steps(gaussian_cost(0.2), 3)
    assert three.mu == pytest.approx(0.6)
    # Both tables' twins are as far away as before.
    assert three.distance == TV_LIMIT


def test_steps_of_a_plain_release():
    two = over_steps(plain_cost(1.0, 1e-6), 2)
    assert two.epsilon == 2.0
    assert two.delta == pytest.approx((1 + math.e) * 1e-6)
    three = over_steps(plain_cost(1.0, 1e-6), 3)
    assert three.epsilon == 3.0
    assert three.delta == pytest.approx((1 + math.e + math.e**2) * 1e-6)
    assert over_steps(plain_cost(1.0, 0.0), 5).delta == 0


def test_steps_beyond_the_floats_bound_nothing():
    far = over_steps(plain_cost(800.0, 1e-300), 2)
    assert far.delta == math.inf
    assert not fits(1e6, 0.5, far)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_costs_without_meaning_are_refused(value):
    with pytest.raises(InputError):
        gaussian_cost(value)
    with pytest.raises(InputError):
        plain_cost(value, 1e-5)
    with pytest.raises(InputError):
        plain_cost(1.0, value or -1e-9)
