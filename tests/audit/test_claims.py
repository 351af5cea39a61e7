"""The numbers of docs/guarantees.md about the published method, measured afresh."""

import math

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import norm

import privgmm
from privgmm import published
from privgmm.audit.published import log_probability, tables
from privgmm.audit.scores import outside_support
from privgmm.published.baseline_parts import r1smg_variance
from privgmm.published.weights_map import printed_column


def gaussian_delta(epsilon, mu):
    return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def test_most_outputs_are_impossible_after_one_outlier_flips():
    first, second, _ = tables("label")
    assert np.linalg.norm(first.X[-1]) == pytest.approx(6.93, abs=0.01)
    design, rng = (
        published.design(first.X, first.y, 1.0, 1e-5, classes=[0, 1, 2]),
        np.random.default_rng(0),
    )
    fitted = second.fitted
    share = np.mean([outside_support(design.draw(rng), fitted) > 0 for _ in range(1000)])
    assert share == pytest.approx(0.978, abs=0.02)


def test_the_weights_alone_have_a_delta_of_more_than_half():
    X, y = privgmm.datasets.synthetic(1000, 5, 3, seed=0)
    counts = np.bincount(y)
    flipped = y.copy()
    flipped[np.flatnonzero(y == counts.argmax())[0]] = counts.argsort()[-2]
    law, other = (published.design(X, labels, 1.0, 1e-5).weights_map for labels in (y, flipped))
    logs = [(log_probability(w, law), log_probability(w, other)) for w in law.candidates]
    delta = sum(max(math.exp(p) - math.e * math.exp(q), 0) for p, q in logs)
    assert delta == pytest.approx(0.618, abs=0.005)
    assert max(p - q for p, q in logs) == pytest.approx(28.3, abs=0.1)


def test_a_printed_column_does_not_sum_to_one():
    assert printed_column(np.ones(21), 1 / 3).sum() == pytest.approx(0.726, abs=0.001)


def test_the_closed_form_of_the_expected_kl_is_not_the_expected_kl():
    gamma = 1000.0
    w = np.random.default_rng(1).chisquare(2, 1_000_000) / gamma
    assert 0.5 * np.mean(w - np.log1p(w)) == pytest.approx(2.0e-6, rel=0.02)
    printed = 0.5 * (math.log(gamma) + 2 / gamma) - 0.5 * (math.log(2) + digamma(1.0))
    assert printed == pytest.approx(3.40, abs=0.01)


def test_a_larger_epsilon_does_not_help_the_published_method():
    X, y = privgmm.datasets.synthetic(1000, 5, 3, seed=4)
    eight, hundred = (
        published.design(X, y, epsilon, 1e-5).true_expected_kl()[0] for epsilon in (8.0, 100.0)
    )
    assert eight == pytest.approx(0.79, abs=0.03)
    assert hundred == pytest.approx(0.74, abs=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_the_alternation_does_not_move(seed):
    X, y = privgmm.datasets.synthetic(1000, 5, 3, seed=seed)
    design = published.design(X, y, 1.0, 1e-5)
    assert len(design.history) == 2
    assert design.epsilon_weights == pytest.approx(1 / 3)


def test_noise_follows_the_private_outlier():
    _, table, _ = tables("label")
    with_it, without = (
        published.design(
            table.X[:stop], table.y[:stop], 1.0, 1e-5, adjacency="record-remove", classes=[0, 1, 2]
        )
        for stop in (None, -1)
    )
    assert np.trace(with_it.mean_noise[2]) == pytest.approx(303, rel=0.01)
    assert np.trace(without.mean_noise[2]) == pytest.approx(94.6, rel=0.01)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 2.4e-8), (10, 1.36e-5), (20, 9.7e-4)])
def test_the_logarithmic_gaussian_rule(epsilon, delta):
    mu = epsilon / math.sqrt(2 * math.log(2 / 1e-5))
    assert gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=0.02)


@pytest.mark.parametrize(("dim", "delta"), [(5, 8.4e-3), (8, 0.093), (12, 0.275)])
def test_what_rank_one_noise_really_gives(dim, delta):
    # Hockey-stick divergence at eps = 1 between z*u and its shift by one, by simulation.
    rng, n = np.random.default_rng(1), 400_000
    variance = r1smg_variance(1.0, 1.0, 1e-5, dim)
    r = np.abs(rng.standard_normal(n)) * math.sqrt(variance)
    g = rng.standard_normal(n)
    cosine = g / np.sqrt(g**2 + rng.chisquare(dim - 1, n))
    q = np.sqrt(r**2 - 2 * r * cosine + 1)
    loss = (dim - 1) * np.log(q / r) - (r**2 - q**2) / (2 * variance)
    assert np.maximum(-np.expm1(1 - loss), 0).mean() == pytest.approx(delta, rel=0.06)
