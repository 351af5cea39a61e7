"""The balanced rule minimises what it says, and there is one minimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.model import Mixture
from privgmm.model.mixture import component_kl
from privgmm.proven.objective import balanced, expectations, geometric_mean, turn


def drawn(seed, draws=12, classes=2, dim=3):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(draws, classes, dim)) * rng.uniform(0.1, 2)
    factors = rng.normal(size=(draws, classes, dim, dim)) + 1.5 * np.eye(dim)
    covariances = factors @ np.swapaxes(factors, -1, -2) + 0.05 * np.eye(dim)
    return rng, means, covariances


def both_directions(mean, covariance, means, covariances, weights):
    """E[KL(q || p) + KL(p || q)] per class by the library's own divergence."""
    even = np.full(len(mean), 1 / len(mean))
    q = Mixture(even, mean, covariance)
    each = [
        component_kl(q, p) + component_kl(p, q)
        for p in (Mixture(even, m, S) for m, S in zip(means, covariances, strict=True))
    ]
    return np.average(each, axis=0, weights=weights)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 4]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_no_perturbation_is_closer_in_both_directions(seed, dim, weighted):
    rng, means, covariances = drawn(seed, dim=dim)
    weights = rng.uniform(0.1, 1, len(means)) if weighted else None
    m, S = balanced(means, covariances, weights)
    least = both_directions(m, S, means, covariances, weights)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(4):
            turned = np.eye(dim) + size * rng.normal(size=(dim, dim))
            other = turned @ S @ turned.T
            moved = m + size * rng.normal(size=m.shape)
            assert (both_directions(moved, other, means, covariances, weights) >= least).all()


def test_one_dimension_known_mean_is_the_geometric_mean_of_harmonic_and_arithmetic_variance():
    S = np.array([0.5, 1.0, 4.0]).reshape(3, 1, 1, 1)
    m, shape = balanced(np.zeros((3, 1, 1)), S)
    assert m[0, 0] == pytest.approx(0, abs=1e-12)
    assert shape[0, 0, 0] == pytest.approx(np.sqrt(S.mean() / (1 / S).mean()))


def test_one_dimension_known_variance_widens_by_what_is_unknown_of_the_mean():
    m, shape = balanced(np.array([-1.0, 1.0]).reshape(2, 1, 1), np.ones((2, 1, 1, 1)))
    assert m[0, 0] == pytest.approx(0, abs=1e-12)
    assert shape[0, 0, 0] == pytest.approx(np.sqrt(2.0))  # H = 1, F = 1 + 1


def test_certainty_is_released_as_it_is():
    _, means, covariances = drawn(3, draws=1)
    m, S = balanced(means, covariances)
    np.testing.assert_allclose(m, means[0], rtol=1e-10)
    np.testing.assert_allclose(S, covariances[0], rtol=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_every_start_leads_to_the_same_release(seed):
    rng, means, covariances = drawn(seed)
    expected = expectations(means, covariances)
    m, S = balanced(means, covariances)
    centre = 50 * rng.normal(size=m.shape)
    for _ in range(400):
        centre, shape = turn(expected, centre)
    np.testing.assert_allclose(centre, m, atol=1e-5)
    np.testing.assert_allclose(shape, S, rtol=1e-5, atol=1e-5)


def test_weights_per_class_are_weights_of_that_class_only():
    rng, means, covariances = drawn(5)
    weights = rng.uniform(0.1, 1, (len(means), 2))
    m, S = balanced(means, covariances, weights)
    for k in range(2):
        one = balanced(means[:, k : k + 1], covariances[:, k : k + 1], weights[:, k])
        np.testing.assert_allclose(m[k], one[0][0])
        np.testing.assert_allclose(S[k], one[1][0])


def test_the_rule_follows_changes_of_units():
    rng, means, covariances = drawn(8)
    A, b = rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3)
    m, S = balanced(means, covariances)
    moved, turned = balanced(means @ A.T + b, A @ covariances @ A.T)
    np.testing.assert_allclose(moved, m @ A.T + b, atol=1e-7)
    np.testing.assert_allclose(turned, A @ S @ A.T, rtol=1e-6, atol=1e-7)


def test_the_geometric_mean_solves_its_equation():
    _, _, covariances = drawn(9)
    A, B = covariances[0], covariances[1]
    G = geometric_mean(A, B)
    np.testing.assert_allclose(G @ np.linalg.inv(A) @ G, B, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(geometric_mean(B, A), G, rtol=1e-8, atol=1e-9)
