"""The published method is refuted by what its own noise cannot hide."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from privgmm import published
from privgmm.audit import audit
from privgmm.audit.published import log_probability, tables
from privgmm.audit.scores import gaussian_ratio, outside_support, rank_one_ratio, shift, trained


@pytest.mark.parametrize("unit", ["label", "record"])
def test_published_is_refuted_at_epsilon_one(unit):
    _, rows = audit("published", unit, 1.0, 1e-5, trials=2000, seed=5)
    found = {row.query: row for row in rows}
    covariances = found["published method, covariances"]
    assert covariances.refuted
    assert covariances.epsilon_lower > 3
    assert covariances.trials == 2000
    assert found["baseline laplace, means"].refuted
    assert found["baseline r1smg, means"].refuted
    if unit == "label":
        assert found["published method, weights"].epsilon_lower > 3


def test_released_covariances_are_impossible_under_the_neighbour():
    first, second, _ = tables("label")
    rng = np.random.default_rng(0)
    designs = [published.design(t.X, t.y, 1.0, 1e-5, classes=[0, 1, 2]) for t in (first, second)]
    own, foreign = (
        np.array([outside_support(d.draw(rng), second.fitted) for _ in range(300)])
        for d in reversed(designs)
    )
    assert (own < 0).all()
    assert (foreign > 0).mean() > 0.9


def test_weights_map_is_a_distribution_and_its_score_its_likelihood():
    first, _, _ = tables("label")
    law = published.design(first.X, first.y, 1.0, 1e-5, classes=[0, 1, 2]).weights_map
    near = sum(math.exp(log_probability(w, law)) for w in law.candidates)
    assert near == pytest.approx(1 - law.smoothing, rel=1e-3)
    far = np.array([0.2, 0.3, 0.5])
    assert log_probability(far, law) < math.log(law.smoothing)


@pytest.mark.parametrize("dim", [1, 3, 8])
def test_wishart_support_moves_with_probability_one_minus_exp(dim):
    # design 1: with the paper's calibration gamma = 2 N eps / 3 a record of norm one moves the
    # covariance by 1/N in one direction, and 1 / (u' W^-1 u) is chi-square with 2 degrees / gamma.
    n_k, epsilon, draws = 100, 1.0, 6000
    gamma = 2 * n_k * epsilon / 3
    rng = np.random.default_rng(3)
    G = rng.standard_normal((draws, dim + 1, dim))
    W = np.einsum("nij,nik->njk", G, G) / gamma
    W[:, 0, 0] -= 1 / n_k
    impossible = (np.linalg.eigvalsh(W)[:, 0] < 0).mean()
    truth = chi2.cdf(gamma / n_k, 2)
    assert truth == pytest.approx(1 - math.exp(-epsilon / 3))
    assert impossible == pytest.approx(truth, abs=4 * math.sqrt(0.25 / draws))


def test_scores_point_towards_the_second_table():
    a, b = np.zeros((2, 3)), np.zeros((2, 3))
    b[0] = 1.0
    assert shift(b, a, b) > shift(a, a, b)
    assert rank_one_ratio(b + 1e-3, a, b) > 0 > rank_one_ratio(a + 1e-3, a, b)
    noise = np.stack([np.eye(3)] * 2)
    assert gaussian_ratio(b, (a, noise), (b, noise)) == pytest.approx(1.5)
    assert gaussian_ratio(a, (a, noise), (b, noise)) == pytest.approx(-1.5)
    # A wider noise around the same mean explains a far output better.
    assert gaussian_ratio(a + 5, (a, noise), (a, 4 * noise)) > 0


def test_a_trained_classifier_tells_leaking_releases_apart():
    first, second, _ = tables("label")
    rng = np.random.default_rng(2)
    low, high = (
        [
            published.baseline(
                "laplace", t.X, t.y, 20.0, 1e-5, rng, split=(0.1, 0.8, 0.1), classes=[0, 1, 2]
            )
            for _ in range(60)
        ]
        for t in (first, second)
    )
    told = trained(low, high)
    assert told[0].size == told[1].size == 30
    assert (told[1][:, None] > told[0]).mean() > 0.95
    same = trained(low[:30], low[30:])
    assert 0.2 < (same[1][:, None] > same[0]).mean() < 0.8
