"""Ceilings are the true optima, and measured success breaks them only where it should."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from privgmm.audit.success import best_accuracy, most_hits, successes
from privgmm.audit.verdict import Attack
from privgmm.privacy import mu_from_epsilon

DELTA = 1e-5


def gaussian_attack(mu, runs, seed):
    low, high = np.random.default_rng(seed).standard_normal((2, runs))
    return Attack("q", "n", low, high + mu, gaussian=True)


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_best_accuracy_is_the_best_point_of_the_curve(epsilon, gaussian):
    alarms = np.linspace(1e-6, 1 - 1e-6, 20_001)
    best = (1 + np.max(most_hits(alarms, epsilon, DELTA, gaussian) - alarms)) / 2
    assert best == pytest.approx(best_accuracy(epsilon, DELTA, gaussian), abs=1e-4)


def test_ceilings_of_the_two_claims():
    mu = mu_from_epsilon(1.0, DELTA)
    assert best_accuracy(1.0, DELTA, gaussian=True) == pytest.approx(ndtr(mu / 2))
    assert best_accuracy(1.0, 0.0, gaussian=False) == pytest.approx(math.e / (1 + math.e))
    # The stronger claim sets the lower ceiling.
    for alarms in (1e-3, 0.1, 0.9):
        assert most_hits(alarms, 1.0, DELTA, True) < most_hits(alarms, 1.0, DELTA, False)


def test_success_of_the_best_attacker_is_at_the_ceiling_and_not_above():
    (found,) = successes([gaussian_attack(mu_from_epsilon(2.0, DELTA), 100_000, 1)], 2.0, DELTA)
    assert not found.broken
    assert found.accuracy.low < found.accuracy.ceiling < found.accuracy.high
    assert found.accuracy.value == pytest.approx(found.accuracy.ceiling, abs=0.01)
    # Thresholds come from the other half: they have a few more or fewer false alarms.
    assert found.hits[1e-2].value == pytest.approx(found.hits[1e-2].ceiling, rel=0.15)
    assert found.hits[1e-3].value == pytest.approx(found.hits[1e-3].ceiling, rel=0.6)


def test_ceilings_are_broken_no_more_often_than_stated():
    # 0.2 % of 300 is 0.6: more than 5 has probability 1e-4.
    mu = mu_from_epsilon(1.0, DELTA)
    attacks = [gaussian_attack(mu, 2000, seed) for seed in range(300)]
    assert sum(successes([one], 1.0, DELTA)[0].broken for one in attacks) <= 5


def test_half_the_noise_breaks_the_ceiling():
    found = [
        successes([gaussian_attack(2 * mu_from_epsilon(4.0, DELTA), 4000, seed)], 4.0, DELTA)[0]
        for seed in range(20)
    ]
    assert all(one.accuracy.broken for one in found)


def test_a_score_that_points_the_other_way_is_turned():
    attack = gaussian_attack(-2.0, 4000, 3)
    (found,) = successes([attack], 1.0, DELTA)
    assert found.accuracy.value > 0.8


def test_too_few_runs_say_nothing_about_rare_alarms():
    (found,) = successes([gaussian_attack(1.0, 600, 3)], 1.0, DELTA)
    assert set(found.hits) == {1e-2}
    assert found.as_dict()["hits"]["0.01"]["ceiling"] == found.hits[1e-2].ceiling
