"""The baselines: their sensitivities, their noise, their budget, and that they can be computed."""

import numpy as np
import pytest
from scipy.special import gamma as gamma_function

from privgmm import InputError, datasets, fit, kl_divergence
from privgmm.published import baseline, baseline_design
from privgmm.published.baseline_parts import (
    COVARIANCE_PARTS,
    MEAN_PARTS,
    draw_weights,
    gather,
    gaussian_scale,
    r1smg_variance,
)
from privgmm.published.baselines import BASELINES, BaselineDesign, _budgets, best_split
from privgmm.published.neighbours import mean_shifts


@pytest.fixture(scope="module")
def facts():
    X, y = datasets.synthetic(n=400, n_classes=3, dim=4, seed=2)
    return gather(X, y, fit(X, y))


def test_sensitivities(facts):
    n, K, R = 400, 3, np.abs(facts.X).sum(axis=1).max()
    assert facts.sensitivities() == pytest.approx(
        (K / n, 4 * R * K / n, (12 * n * K * R**2 + 8 * K**2 * R**2) / n**2)
    )


def test_scales():
    assert gaussian_scale(2.0, 0.5, 1e-5) == pytest.approx(4 * np.sqrt(2 * np.log(2e5)))
    M, delta = 7, 1e-5
    psi = (delta * gamma_function(3) / (np.sqrt(np.pi) * gamma_function(3.5))) ** (2 / 5)
    assert r1smg_variance(3.0, 0.5, delta, M) == pytest.approx(2 * 9 / (0.5 * psi))


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "colored-gaussian", "r1smg"])
def test_expected_mean_cost_is_the_mean_of_draws(facts, kind):
    """E (mu~-mu)^T Sigma^-1 (mu~-mu) / 2 by closed form and by draws: pins every noise scale."""
    part, rng = MEAN_PARTS[kind], np.random.default_rng(0)
    shift = np.stack([part.draw(facts, 0.7, 1e-5, rng) - facts.fitted.means for _ in range(4000)])
    cost = 0.5 * np.einsum("tki,kij,tkj->tk", shift, facts.precisions, shift) @ facts.fitted.weights
    expected = facts.fitted.weights @ part.class_kl(facts, 0.7, 1e-5, 0)
    assert abs(cost.mean() - expected) < 5 * cost.std() / np.sqrt(len(cost))
    if kind == "r1smg":
        scale = np.sqrt(r1smg_variance(facts.sensitivities()[1], 0.7, 1e-5, 4))
        assert np.linalg.norm(shift[:, 0], axis=1).std() < scale
        assert np.square(np.linalg.norm(shift[:, 0], axis=1)).mean() == pytest.approx(
            scale**2, rel=0.15
        )
    if kind in ("laplace", "gaussian"):
        s = facts.sensitivities()[1]
        deviation = np.sqrt(2) * s / 0.7 if kind == "laplace" else gaussian_scale(s, 0.7, 1e-5)
        assert shift.std() == pytest.approx(deviation, rel=0.05)


def test_colored_noise_meets_eq10(facts):
    """The min-MSE covariance is feasible for every flip, and tight."""
    from privgmm.published.baseline_parts import _colored_shapes

    for k, shape in enumerate(_colored_shapes(facts)):
        shifts = mean_shifts(facts.X, facts.codes, k, facts.fitted.means[k], "label")
        forms = np.einsum("ni,ij,nj->n", shifts, np.linalg.inv(shape), shifts)
        assert forms.max() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "wishart"])
def test_covariances_stay_positive_definite(facts, kind):
    rng = np.random.default_rng(0)
    released = COVARIANCE_PARTS[kind].draw(facts, 0.5, 1e-5, rng)
    assert np.linalg.eigvalsh(released).min() > 0
    if kind == "wishart":
        noise = np.mean(
            [COVARIANCE_PARTS[kind].draw(facts, 0.5, 0.0, rng) for _ in range(2000)], axis=0
        )
        gamma = 2 * facts.counts * 0.5 / 3
        expected = facts.fitted.covariances + 5 / gamma[:, None, None] * np.eye(4)
        np.testing.assert_allclose(noise, expected, atol=0.15 * (5 / gamma).max())
    else:
        # the untouched case: almost no noise, no projection, the fit comes back
        exact = COVARIANCE_PARTS[kind].draw(facts, 1e12, 1e-5, rng)
        np.testing.assert_allclose(exact, facts.fitted.covariances, atol=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_weights_are_clipped_and_renormalised(facts, kind):
    rng = np.random.default_rng(0)
    for eps in (1e-3, 1.0, 1e9):
        weights = draw_weights(kind, facts, eps, 1e-5, rng)[0]
        assert weights.sum() == pytest.approx(1)
        assert weights.min() >= 0
    np.testing.assert_allclose(weights, facts.fitted.weights, atol=1e-6)


@pytest.mark.parametrize("name", BASELINES)
def test_parts_spend_the_same_total(name):
    budgets = _budgets(BASELINES[name], (0.1, 0.3, 0.6), 2.0, 1e-5)
    assert sum(eps for eps, _ in budgets) == pytest.approx(2.0)
    deltas = [delta for _, delta in budgets]
    assert sum(deltas) == pytest.approx(0.0 if name == "laplace" else 1e-5)


@pytest.mark.parametrize("name", BASELINES)
def test_the_grid_beats_the_equal_split(facts, name):
    def cost(split):
        return BaselineDesign(
            BASELINES[name], facts, split, _budgets(BASELINES[name], split, 1.0, 1e-5)
        ).expected_kl()

    best = best_split(BASELINES[name], facts, 1.0, 1e-5)
    assert sum(best) == pytest.approx(1)
    assert cost(best) <= cost((1 / 3, 1 / 3, 1 / 3)) * 1.02


@pytest.mark.parametrize("name", BASELINES)
def test_release(name):
    X, y = datasets.synthetic(n=300, n_classes=3, dim=3, seed=0)
    first = baseline(name, X, y, seed=3)
    tuned = baseline_design(name, X, y)
    again = baseline(name, X, y, seed=3, split=tuned.split)
    np.testing.assert_array_equal(first.means, tuned.draw(3).means)
    np.testing.assert_array_equal(first.means, again.means)
    assert (baseline(name, X, y).means != baseline(name, X, y).means).any()


@pytest.mark.parametrize("name", BASELINES)
def test_expected_kl_is_the_mean_of_draws(name):
    X, y = datasets.synthetic(n=600, n_classes=2, dim=4, seed=0)
    tuned, rng = baseline_design(name, X, y, epsilon=8.0), np.random.default_rng(0)
    kls = np.array([kl_divergence(tuned.draw(rng), tuned.facts.fitted) for _ in range(2000)])
    assert abs(tuned.expected_kl(300) - kls.mean()) < 5 * kls.std() / np.sqrt(300)


def test_refusals():
    X, y = datasets.synthetic(n=100, n_classes=2, dim=2, seed=0)
    for call, words in [
        (lambda: baseline("uniform", X, y), "Unknown baseline"),
        (lambda: baseline("r1smg", X, y), "three features"),
        (lambda: baseline("laplace", X, np.zeros(100)), "one class only"),
        (lambda: baseline("laplace", X, y, epsilon=0), "Epsilon"),
        (lambda: baseline("laplace", X, y, split=(1.0, 1.0, 1.0)), "split"),
        (lambda: baseline("laplace", X, y, covariances="none"), "covariance part"),
        (lambda: baseline("laplace", X[:5], y[:5]), "rows"),
        (lambda: baseline("r1smg", X, y, sensitivity="l1"), "sensitivity"),
        (lambda: baseline("laplace", X, y, sensitivity="l2"), "Only R1SMG"),
    ]:
        with pytest.raises(InputError, match=words):
            call()


def test_rank_one_noise_follows_its_sensitivity():
    """2K max|x|_2 / n in place of 4RK/n: the distance of the means shrinks in that proportion, exactly."""
    X, y = datasets.synthetic(n=300, n_classes=3, dim=4, seed=0)
    split = (0.1, 0.5, 0.4)
    wu, l2 = (
        baseline("r1smg", X, y, seed=3, split=split, sensitivity=name).means
        - baseline_design("r1smg", X, y, split=split).facts.fitted.means
        for name in ("wu", "l2")
    )
    ratio = np.linalg.norm(X, axis=1).max() / (2 * np.abs(X).sum(axis=1).max())
    np.testing.assert_allclose(l2, ratio * wu, rtol=1e-9)
