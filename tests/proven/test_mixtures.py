"""Mixtures of public features: what merging costs, and what coming down from many components finds."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from privgmm.datasets import synthetic
from privgmm.model.mixture import Mixture
from privgmm.proven.em import RIDGE, Init, em, first_guess, k_means
from privgmm.proven.label.statistics import _scant
from privgmm.proven.label.tuning import TUNING
from privgmm.proven.mixtures import Fitted, fitted, joined, merged, merged_down
from privgmm.proven.record.lookalike import fewer
from privgmm.reproduce.harness.experiment import stream


@pytest.mark.parametrize(("n", "d", "size"), [(300, 1, 2), (500, 3, 4), (6000, 8, 5)])
@pytest.mark.parametrize("init", ["kmeans", "k-means++"])
def test_em_is_scikit_learns_from_the_same_start(n: int, d: int, size: int, init: Init) -> None:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(size, d))[rng.integers(0, size, n)]
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 5
    start = first_guess(X, size, init, rng)
    run = em(X, start, 40)
    peer = GaussianMixture(
        size,
        max_iter=40,
        reg_covar=RIDGE,
        weights_init=start.weights / start.weights.sum(),
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
    ).fit(X)
    np.testing.assert_allclose(run.mixture.weights, peer.weights_, rtol=1e-9)
    np.testing.assert_allclose(run.mixture.means, peer.means_, atol=1e-9)
    np.testing.assert_allclose(run.mixture.covariances, peer.covariances_, atol=1e-9)
    assert run.likelihood == pytest.approx(peer.score(X), abs=1e-9)
    bic = merged(X, Fitted(*start, 0.0), size).bic
    patient = peer.set_params(max_iter=100).fit(X)
    assert bic == pytest.approx(patient.bic(X), rel=1e-9)


def test_k_means_is_as_tight_as_scikit_learns() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 3)) + 2 * rng.normal(size=(6, 3))[rng.integers(0, 6, 800)]
        centres, labels = k_means(X, 6, 10, rng)
        gaps = ((X[:, None] - centres) ** 2).sum(axis=2)
        np.testing.assert_array_equal(labels, gaps.argmin(axis=1))
        peer = KMeans(6, n_init=10, random_state=seed).fit(X)
        assert gaps.min(axis=1).sum() < 1.01 * peer.inertia_


def test_the_cheapest_pair_is_joined_with_its_moments() -> None:
    w = np.array([0.5, 0.3, 0.2])
    m = np.array([[0.0, 0.0], [9.0, 0.0], [9.5, 0.0]])
    S = np.stack([np.eye(2), np.diag([1.0, 0.1]), np.diag([1.0, 0.1])])
    weights, means, covariances = joined(Fitted(w, m, S, 0.0))
    np.testing.assert_allclose(weights, [0.5, 0.5])
    np.testing.assert_allclose(means, [[0, 0], [9.2, 0]])
    np.testing.assert_allclose(covariances[1], np.diag([1 + 0.24 * 0.25, 0.1]))


def test_a_flat_cluster_inside_another_is_found_on_the_way_down() -> None:
    """A class of 98 rows near a plane, 21 rows of another around it: k-means starts see one blob."""
    X, y = synthetic(1000, 5, 3, seed=stream(42, "synthetic", 19))
    assert sorted(np.bincount(y))[:2] == [21, 98]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sizes = range(5, 8)
    down = merged_down(X, 15, "kmeans", sizes, 0)
    assert down.size == 5
    assert down.bic < min(fitted(X, size, 2, 0).bic for size in sizes) - 100
    np.testing.assert_allclose(np.sort(1000 * down.weights)[:2], [21, 98], atol=3)


def test_the_wanted_mixture_is_found_in_a_richer_one() -> None:
    """Two overlapping components, each told by three: EM has to be patient to part them again."""
    w = np.array([0.7, 0.3])
    m, S = np.array([[0.0, 0.0], [1.8, 0.0]]), np.stack([np.eye(2), np.diag([0.3, 0.6])])
    # N(m, S) = three N(m + a, S - E aa^T), nearly.
    a = np.array([[-0.3, 0.0], [0.0, 0.0], [0.3, 0.0]])
    means = (m[:, None] + a).reshape(6, 2)
    shapes = np.repeat(S, 3, axis=0) - np.diag([0.06, 0.0])
    found = fewer((np.repeat(w / 3, 3), means, shapes), 2)
    order = np.argsort(-found[0])
    np.testing.assert_allclose(found[0][order], w, atol=0.05)
    np.testing.assert_allclose(found[1][order], m, atol=0.1)
    rows = Mixture(w, m, S).sample(5000, 1)[0]
    lost = Mixture(w, m, S).log_density(rows) - Mixture(*found).log_density(rows)
    assert lost.mean() < 0.01


@pytest.mark.parametrize(("spare", "nats"), [(0.0, 12.0), (5.0, 6.0), (10.0, 0.0), (99.0, 0.0)])
def test_a_class_of_hardly_enough_rows_is_expected_to_be_off(spare: float, nats: float) -> None:
    assert _scant(spare, TUNING) == nats
