"""Section V-A: N=1000, K=5, d=3, delta=1e-5. Medians as first measured, and who beats whom."""

import numpy as np
import pytest

from privgmm import datasets, kl_divergence
from privgmm.published import baseline_design, design
from privgmm.published.baselines import BASELINES

pytestmark = pytest.mark.slow

# Median KL(released || fitted) of an independent prototype of Algorithm 1 over 60 data sets. At
# eps <= 1 the median of 60 sets scatters by more than the tolerance: on seeds 0..59 it is 26.7 and
# 5.8 with 60 draws each (few draws can miss the band), on 300 sets 23 and 4.7.
MEDIAN = {0.5: 35.0, 1.0: 6.9, 2.0: 1.7, 4.0: 0.99, 8.0: 0.80}


@pytest.fixture(scope="module")
def data():
    return [datasets.synthetic(seed=seed) for seed in range(60)]


def divergences(X, y, epsilon, seed, draws):
    found = design(X, y, epsilon=epsilon)
    rng = np.random.default_rng(seed)
    return [kl_divergence(found.draw(rng), found.fitted) for _ in range(draws)]


@pytest.mark.parametrize("epsilon", MEDIAN)
def test_median_of_algorithm_1(data, epsilon):
    values = [divergences(X, y, epsilon, seed, 10) for seed, (X, y) in enumerate(data)]
    assert np.median(values) == pytest.approx(MEDIAN[epsilon], rel=0.25)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_beats_every_baseline_on_the_mean(data, epsilon):
    ours = [design(X, y, epsilon=epsilon).true_expected_kl(500)[0] for X, y in data[:12]]
    for name in BASELINES:
        theirs = []
        for seed, (X, y) in enumerate(data[:12]):
            tuned, rng = baseline_design(name, X, y, epsilon=epsilon), np.random.default_rng(seed)
            theirs += [kl_divergence(tuned.draw(rng), tuned.facts.fitted) for _ in range(3)]
        assert np.mean(ours) < np.mean(theirs), name


def test_expected_kl_is_the_mean_of_draws(data):
    """What figures show is what draws average to; one draw can be far from it."""
    for X, y in data[:3]:
        found = design(X, y, epsilon=2.0)
        rng = np.random.default_rng(0)
        kls = np.array([kl_divergence(found.draw(rng), found.fitted) for _ in range(3000)])
        expected, error = found.true_expected_kl()
        assert abs(expected - kls.mean()) < 4 * (error + kls.std() / np.sqrt(kls.size))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_readings_are_ordered(data, epsilon):
    """Fewer neighbours need less noise, a ball around all rows needs more."""
    for X, y in data[:6]:
        radius = float(np.linalg.norm(X, axis=1).max())
        departures, both, ball = (
            design(X, y, epsilon=epsilon, **choice).true_expected_kl(200)[0]
            for choice in (
                {"neighbours": "departures"},
                {},
                {"scalable": True, "radius": radius},
            )
        )
        assert departures < both < ball
