"""The mixture: what it refuses, and that density, prediction and sampling agree with each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from privgmm import InputError, Mixture
from privgmm.datasets import synthetic
from privgmm.model import fit

TWO = dict(weights=[0.25, 0.75], means=[[0.0, 1.0], [3.0, -1.0]])
COVARIANCES = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 0.5]]])


def two(**changes):
    return Mixture(**{**TWO, "covariances": COVARIANCES, "classes": ("a", "b"), **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": [0.5, 0.6]}, "sum to one"),
        ({"weights": [-0.1, 1.1]}, "non-negative"),
        ({"weights": [np.nan, 1.0]}, "finite"),
        ({"means": [[0.0], [1.0]]}, "shape"),
        ({"means": [[0.0, 1.0]]}, "means"),
        ({"covariances": COVARIANCES + np.triu(np.ones((2, 2)), 1)}, "symmetric"),
        ({"covariances": -COVARIANCES}, "class 'a' is not positive definite"),
        ({"covariances": np.zeros((2, 2, 2))}, "positive definite"),
        ({"classes": ("a",)}, "class names"),
        ({"classes": ("a", "a")}, "distinct"),
        ({"classes": (1, True)}, "distinct"),
        ({"classes": (None, "a")}, "strings, numbers"),
        ({"classes": ("a", "a\0")}, "NUL"),
    ],
)
def test_refuses_what_is_not_a_mixture(changes, words):
    with pytest.raises(InputError, match=words):
        two(**changes)


def test_is_frozen():
    m = two()
    with pytest.raises(ValueError, match="read-only"):
        m.means[0, 0] = 5
    with pytest.raises(AttributeError):
        m.weights = np.ones(2)


def test_density_and_posterior_match_scipy():
    m = two()
    x = np.random.default_rng(0).normal(size=(50, 2)) * 3
    joint = np.stack(
        [
            w * multivariate_normal(mu, s).pdf(x)
            for w, mu, s in zip(m.weights, m.means, m.covariances, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_allclose(m.log_joint(x), np.log(joint), rtol=1e-12)
    np.testing.assert_allclose(m.log_density(x), np.log(joint.sum(1)), rtol=1e-12)
    np.testing.assert_allclose(m.predict_proba(x), joint / joint.sum(1, keepdims=True), rtol=1e-10)
    assert m.predict(x).tolist() == ["ab"[k] for k in joint.argmax(1)]
    with pytest.raises(InputError, match="2 features"):
        m.predict(x[:, :1])


def test_sample_has_the_mixture_s_moments():
    m = two()
    x, y = m.sample(200_000, seed=1)
    assert x.shape == (200_000, 2)
    again = fit(x, y)
    # Standard errors are below 0.005; six of them.
    np.testing.assert_allclose(again.weights, m.weights, atol=0.006)
    np.testing.assert_allclose(again.means, m.means, atol=0.04)
    np.testing.assert_allclose(again.covariances, m.covariances, atol=0.08)


def test_sample_is_repeatable_and_can_balance_classes():
    m = two()
    np.testing.assert_array_equal(m.sample(20, seed=3)[0], m.sample(20, seed=3)[0])
    _, y = m.sample(7, seed=0, per_class=True)
    assert sorted(y.tolist()) == ["a"] * 7 + ["b"] * 7
    assert m.sample(0, seed=0)[0].shape == (0, 2)
    with pytest.raises(InputError, match="at least 0"):
        m.sample(-1)


def test_class_names_of_mixed_types_survive():
    m = two(classes=("a", 2))
    assert set(m.sample(100, seed=0)[1].tolist()) == {"a", 2}


def test_weight_zero_is_allowed_and_never_drawn():
    m = two(weights=[0.0, 1.0])
    assert set(m.sample(500, seed=0)[1].tolist()) == {"b"}
    assert np.isfinite(m.log_density([[0.0, 0.0]])).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 5))
def test_posteriors_are_probabilities(seed, k, d):
    x, y = synthetic(k * (d + 2) * 4, k, d, seed)
    proba = fit(x, y).predict_proba(x)
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [
        {"weights": ["secret", "b"]},
        {"weights": [1j, 0]},
        {"means": [[10**400, 0.0], [0.0, 0.0]]},
        {"means": np.array([["2020"] * 2] * 2, "M8[D]")},
        {"classes": 3},
        {"classes": "ab"},
        {"classes": np.array("a")},
        {"classes": ["a", "\ud800"]},
    ],
)
def test_what_is_no_mixture_is_refused_without_quoting_it(arguments):
    usual = {"weights": [0.5, 0.5], "means": np.zeros((2, 2)), "covariances": [np.eye(2)] * 2}
    with pytest.raises(InputError) as refused:
        Mixture(**{**usual, **arguments})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("n", [1.5, "3", None, True, 10**30])
def test_a_number_of_rows_is_a_whole_number(n):
    with pytest.raises(InputError, match="rows to sample must be a whole number"):
        Mixture([1.0], [[0.0]], [[[1.0]]]).sample(n)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True, [1]])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        Mixture([1.0], [[0.0]], [[[1.0]]]).sample(3, seed=seed)


@pytest.mark.parametrize("X", [[["secret"]], [[np.nan]], [[np.inf]], [[1j]], None])
def test_rows_to_look_at_must_be_finite_numbers(X):
    with pytest.raises(InputError, match=r"finite numbers|real numbers|rows of 1") as refused:
        Mixture([1.0], [[0.0]], [[[1.0]]]).predict(X)
    assert "secret" not in str(refused.value)


def test_the_largest_covariances_stay_finite():
    m = Mixture([1.0], [[0.0]], [[[1.5e308]]])
    assert m.covariances.item() == 1.5e308
