"""KL of the joint law: closed form against Monte Carlo and against hand-made cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.monte_carlo import kl_divergence_monte_carlo

from privgmm import InputError, Mixture, kl_divergence
from privgmm.datasets import synthetic
from privgmm.model import component_kl, fit


def one(mean, variance):
    return Mixture([1.0], [[mean]], [[[variance]]])


def test_one_gaussian_in_one_dimension():
    # KL(N(1, 4) || N(0, 1)) = (1 + 4 - 1 - ln 4) / 2
    assert kl_divergence(one(1, 4), one(0, 1)) == pytest.approx((4 - np.log(4)) / 2, abs=1e-14)


def test_weights_alone():
    q = Mixture([0.5, 0.5], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    p = Mixture([0.25, 0.75], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    expected = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    assert kl_divergence(q, p) == pytest.approx(expected, abs=1e-14)


def test_a_class_of_weight_zero_counts_on_one_side_only():
    q = Mixture([0.0, 1.0], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    p = Mixture([0.5, 0.5], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    assert kl_divergence(q, p) == pytest.approx(np.log(2))
    assert kl_divergence(p, q) == np.inf


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 4))
def test_closed_form_matches_monte_carlo(seed, k, d):
    x, y = synthetic(60 * k * d, k, d, seed)
    half = np.arange(len(y)) % 2 == 0
    try:
        q, p = fit(x[half], y[half]), fit(x, y)
    except InputError:
        return  # a class too small in one half
    estimate, error = kl_divergence_monte_carlo(q, p, n=20_000, seed=seed)
    # Seven standard errors: below 1e-11 per example.
    assert abs(estimate - kl_divergence(q, p)) < 7 * error + 1e-12


@given(st.integers(0, 10_000))
def test_zero_to_itself_and_never_negative(seed):
    x, y = synthetic(200, 3, 2, seed)
    p = fit(x, y)
    assert kl_divergence(p, p) == pytest.approx(0, abs=1e-12)
    shifted = Mixture(p.weights, p.means + 0.1, p.covariances * 1.1, p.classes)
    assert kl_divergence(shifted, p) > 0
    assert (component_kl(shifted, p) > 0).all()


def test_classes_are_matched_by_name():
    x, y = synthetic(300, 3, 2, seed=2)
    p = fit(x, y)
    turned = fit(x, y, classes=[2, 0, 1])
    assert kl_divergence(turned, p) == pytest.approx(0, abs=1e-12)
    with pytest.raises(InputError, match="same classes"):
        kl_divergence(p, Mixture([1.0], [[0.0, 0.0]], [np.eye(2)]))


def test_parameters_near_the_end_of_the_floats_are_infinitely_far():
    q, p = (Mixture([1.0], [[side * 1.5e308]], [[[1.0]]]) for side in (1, -1))
    assert kl_divergence(q, p) == np.inf


def test_a_divergence_is_between_mixtures():
    with pytest.raises(InputError, match="two mixtures"):
        kl_divergence(Mixture([1.0], [[0.0]], [[[1.0]]]), None)
