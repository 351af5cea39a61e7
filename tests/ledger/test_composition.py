"""Costs add as proven: squares of mu, plain epsilons, loose deltas, neighbour steps."""

import math

import pytest

from privgmm.errors import BudgetError, InputError
from privgmm.ledger.composition import (
    Cost,
    add,
    fits,
    gaussian_cost,
    mu_allowed,
    plain_cost,
    relation,
    steps_between,
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


@pytest.mark.parametrize(
    ("ledger", "spent", "steps"),
    [
        ("label", "label", 1),
        ("label", "replace", 1),
        ("label", "add-remove", 2),
        ("replace", "replace", 1),
        ("replace", "add-remove", 2),
        ("add-remove", "add-remove", 1),
    ],
)
def test_steps_between_neighbours(ledger, spent, steps):
    assert steps_between(ledger, spent) == steps
    assert gaussian_cost(0.2, steps).mu == pytest.approx(0.2 * steps)


@pytest.mark.parametrize(
    ("ledger", "spent"),
    [("replace", "label"), ("add-remove", "label"), ("add-remove", "replace")],
)
def test_incomparable_neighbours_are_refused(ledger, spent):
    with pytest.raises(BudgetError, match="does not bound"):
        steps_between(ledger, spent)


def test_two_steps_of_a_plain_release():
    cost = plain_cost(1.0, 1e-6, 2)
    assert cost.epsilon == 2.0
    assert cost.delta == pytest.approx((1 + math.e) * 1e-6)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_costs_without_meaning_are_refused(value):
    with pytest.raises(InputError):
        gaussian_cost(value)
    with pytest.raises(InputError):
        plain_cost(value, 1e-5)
    with pytest.raises(InputError):
        plain_cost(1.0, value or -1e-9)


def test_relations():
    assert relation("label") == "label"
    assert relation("record") == "replace"
    assert relation("record", "add-remove") == "add-remove"
    with pytest.raises(InputError, match="unit must be"):
        relation("person")
    with pytest.raises(InputError, match="adjacency must be"):
        relation("record", "swap")
