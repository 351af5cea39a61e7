import dataclasses

import numpy as np
import pytest

import privgmm
from privgmm import Mixture
from privgmm.privacy.accounting import compose, mu_from_epsilon
from privgmm.proven import unlabelled as em
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.lookalike import lookalike, public_cells, start_mixture

# Two components that overlap in both columns and one apart.
TRUTH = Mixture(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.0, 0.0], [2.0, 1.0], [-6.0, 5.0]]),
    np.array([[[1.0, 0.6], [0.6, 1.0]], [[1.0, -0.5], [-0.5, 0.8]], [[0.5, 0.0], [0.0, 2.0]]]),
)
N = 40_000


@pytest.fixture(scope="module")
def rows():
    return TRUTH.sample(N, seed=4)[0]


def released(X, epsilon=1.0, **options):
    asked = {"unit": "record", "radius": 20.0, "n_components": 3, "seed": 9, **options}
    return privgmm.release(X, epsilon=epsilon, delta=1e-5, **asked).mixture


def loss(mixture: Mixture) -> float:
    """Mean log-likelihood of fresh rows, less than under the truth, in nats."""
    fresh = TRUTH.sample(20_000, seed=5)[0]
    return float(np.mean(TRUTH.log_density(fresh) - mixture.log_density(fresh)))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_components_are_found_without_labels(rows, adjacency):
    mixture = released(rows, adjacency=adjacency)
    assert loss(mixture) < 0.02
    order = np.argsort(-mixture.weights)
    np.testing.assert_allclose(mixture.weights[order], TRUTH.weights, atol=0.06)
    np.testing.assert_allclose(mixture.means[order], TRUTH.means, atol=0.15)
    np.testing.assert_allclose(mixture.covariances[order], TRUTH.covariances, atol=0.3)


@pytest.mark.slow
def test_without_lots_components_that_overlap_are_cut(rows, monkeypatch):
    fair = loss(released(rows, epsilon=4.0))
    rule = em.mixture_rule
    monkeypatch.setattr(
        em, "mixture_rule", lambda *a, **k: dataclasses.replace(rule(*a, **k), salt=None)
    )
    cut = loss(released(rows, epsilon=4.0))
    assert fair < cut / 3


@pytest.mark.parametrize(("n", "dim", "k"), [(10, 2, 3), (300, 1, 2), (200, 6, 2)])
def test_few_rows_still_give_a_mixture(n, dim, k):
    X = np.random.default_rng(n).normal(size=(n, dim))
    mixture = released(X, radius=5.0, n_components=k)
    assert mixture.means.shape == (k, dim)
    assert np.linalg.eigvalsh(mixture.covariances).min() > 0


def test_all_of_the_budget_is_spent_and_no_more(rows):
    release = privgmm.release(
        rows[:500], epsilon=1.0, delta=1e-5, unit="record", radius=20.0, n_components=3, seed=1
    )
    spent, allowed = compose(m.mu for m in release.guarantee.mechanisms), mu_from_epsilon(1.0, 1e-5)
    assert 0.999 * allowed < spent <= allowed


def test_cells_are_public_and_as_many_as_the_signal_bears():
    few, many = public_cells(3, 5, signal=50.0), public_cells(3, 5, signal=2000.0)
    assert few.centres.shape == (32, 3)  # four for each class, and a power of two
    assert many.centres.shape == (512, 3)
    np.testing.assert_array_equal(many.points, public_cells(3, 5, signal=2000.0).points)
    nearest = ((many.points[:200, None] - many.centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(many.cell[:200], nearest)


@pytest.mark.slow
def test_rows_made_from_noiseless_cells_look_like_the_rows():
    # Two lumps whose pooled covariance is near I.
    X = np.random.default_rng(0).normal(size=(50_000, 2)) * [0.3, 1.0]
    X[::2, 0] += 0.95
    X[1::2, 0] -= 0.95
    cells = public_cells(2, 2, signal=3000.0)
    near = ((X[:, None] - cells.centres) ** 2).sum(axis=2).argmin(axis=1)
    count = np.bincount(near, minlength=len(cells.centres)).astype(float)
    inside = (X - cells.centres[near]) / cells.widths[near, None]
    total = np.stack([np.bincount(near, u, minlength=len(count)) for u in inside.T], axis=1)
    quiet = np.full(count.size, 1e-9)
    frames = Frames(cells.centres, np.empty((0,)), np.empty((0,)))
    answer = Moments(frames, quiet, count, total, np.empty((0,)), quiet, quiet, quiet)
    made = lookalike(cells, answer, 2)
    np.testing.assert_allclose(made.mean(axis=0), X.mean(axis=0), atol=0.06)
    np.testing.assert_allclose(np.cov(made.T), np.cov(X.T), atol=0.1)
    found = start_mixture(made, 2)
    np.testing.assert_allclose(np.sort(found[1][:, 0]), [-0.95, 0.95], atol=0.1)
