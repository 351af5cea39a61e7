"""Section V-A: N=1000, K=5, d=3, delta=1e-5. Medians as first measured, and who beats whom."""

import numpy as np
import pytest

from privgmm import datasets, kl_divergence
from privgmm.published import baseline, design
from privgmm.published.baselines import BASELINES, tuned_split

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
    ours = np.mean([divergences(X, y, epsilon, s, 6) for s, (X, y) in enumerate(data[:12])])
    for name in BASELINES:
        theirs = []
        for seed, (X, y) in enumerate(data[:12]):
            split = tuned_split(name, X, y, epsilon=epsilon)
            reference = design(X, y).fitted
            theirs += [
                kl_divergence(
                    baseline(name, X, y, epsilon, seed=10 * seed + j, split=split), reference
                )
                for j in range(2)
            ]
        assert ours < np.mean(theirs), name
