"""The whole record-level release with seeded noise: budget, edges, and utility that must not slip."""

import numpy as np
import pytest

import privgmm
from privgmm.data import ArraySource
from privgmm.privacy import Curator, OpenDPNoise, SeededNoise, epsilon_from_mu
from privgmm.proven.record import release_record
from privgmm.proven.unlabelled import release_unlabelled


def released(X, y, k, epsilon=1.0, radius=20.0, seed=0, adjacency="replace", noise=None, **options):
    """The release in the coordinates of X, and the curator that made it."""
    X = np.asarray(X, dtype=float)
    source = ArraySource(X / radius, np.asarray(y, dtype=np.intp), k)
    curator = Curator(source, noise or SeededNoise(seed), adjacency, epsilon, 1e-5)
    public = X.shape[0] if adjacency == "replace" else None
    w, m, S = release_record(curator, k, X.shape[1], public, **options)[:3]
    return privgmm.Mixture(w, m * radius, S * radius**2), curator


def mean_kl(n: int, epsilon: float, seeds: range, **options) -> float:
    kls = []
    for seed in seeds:
        X, y = privgmm.datasets.synthetic(n, 5, 3, seed=seed)
        q, _ = released(X, y, 5, epsilon, seed=seed, **options)
        kls.append(privgmm.kl_divergence(q, privgmm.fit(X, y)))
    return float(np.mean(kls))


@pytest.mark.slow
def test_utility_falls_with_epsilon_and_with_n() -> None:
    seeds = range(300, 302)
    few, more, many = mean_kl(1000, 1, seeds), mean_kl(1000, 4, seeds), mean_kl(10_000, 1, seeds)
    # Reverse KL; the forward direction is looked at in test_real_tables.py.
    assert few < 2.4
    assert more < 0.43
    assert many < 0.09
    assert more < few
    assert many < few


def test_one_gaussian_beats_half_of_coinpress() -> None:
    X = np.random.default_rng(1).standard_normal((8000, 10))
    epsilon = epsilon_from_mu(0.2154, 1e-5)
    q, curator = released(X, np.zeros(8000), 1, epsilon, radius=30.0)
    assert curator.mu == pytest.approx(0.2154, rel=1e-6)
    assert np.linalg.norm(q.covariances[0] - np.eye(10)) < 0.28


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_all_budget_is_spent_and_none_is_borrowed(adjacency: str) -> None:
    X, y = privgmm.datasets.synthetic(500, 3, 2, seed=1)
    _, curator = released(X, y, 3, adjacency=adjacency)
    spent = sum(m.mu**2 for m in curator.mechanisms) ** 0.5
    assert spent == pytest.approx(curator.mu, rel=1e-8)
    assert all(m.sigma * m.mu == pytest.approx(m.sensitivity) for m in curator.mechanisms)


def test_replace_pays_more_than_add_remove() -> None:
    X, y = privgmm.datasets.synthetic(500, 3, 2, seed=1)
    first = [
        released(X, y, 3, adjacency=a)[1].mechanisms[0].sensitivity
        for a in ("replace", "add-remove")
    ]
    assert first == pytest.approx([np.sqrt(6), np.sqrt(3)])


def test_same_seed_same_release() -> None:
    X, y = privgmm.datasets.synthetic(300, 2, 2, seed=0)
    a, b = (released(X, y, 2, seed=5)[0] for _ in range(2))
    np.testing.assert_array_equal(a.covariances, b.covariances)
    np.testing.assert_array_equal(a.weights, b.weights)


def edge_cases():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(60, 2))
    return {
        "d=1": (rng.normal(size=(400, 1)), np.zeros(400), 1),
        "fifty rows": (normal[:50], np.arange(50) % 3, 3),
        "one row": (normal[:1], [0], 2),
        "a class without rows": (normal, np.zeros(60), 4),
        "constant columns": (np.ones((200, 2)), np.zeros(200), 1),
        "all rows outside": (normal + 1e3, np.zeros(60), 1),
        "rows at infinity's door": (normal * 1e300, np.zeros(60), 1),
        "thirty columns": (rng.normal(size=(300, 30)), np.zeros(300), 1),
    }


@pytest.mark.parametrize("name", edge_cases())
def test_every_table_gets_a_valid_mixture(name: str) -> None:
    X, y, k = edge_cases()[name]
    q, _ = released(X, y, k)
    assert q.weights.sum() == pytest.approx(1)


def test_a_class_far_narrower_than_the_stated_ball_is_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2)) * [1e-3, 2e-3] + [3.0, 5.0]
    q, curator = released(X, np.zeros(20_000), 1)
    assert privgmm.kl_divergence(q, privgmm.fit(X, np.zeros(20_000))) < 0.02
    assert len(curator.mechanisms) > 3


def test_weights_are_the_noisy_class_shares() -> None:
    X, y = privgmm.datasets.synthetic(1000, 5, 3, seed=3)
    q, _ = released(X, y, 5, epsilon=4.0)
    np.testing.assert_allclose(q.weights, np.bincount(y) / 1000, atol=0.02)


def test_exact_noise_from_the_system_works_too() -> None:
    X, y = privgmm.datasets.synthetic(2000, 2, 2, seed=3)
    q, _ = released(X, y, 2, epsilon=2.0, noise=OpenDPNoise())
    assert privgmm.kl_divergence(q, privgmm.fit(X, y)) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_private_em_finds_blobs(adjacency: str) -> None:
    rng = np.random.default_rng(4)
    centres = np.array([[-6.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
    X = rng.normal(size=(6000, 2)) + centres[rng.integers(0, 3, 6000)]
    curator = Curator(
        ArraySource(X / 20, np.zeros(6000, dtype=np.intp), 3), SeededNoise(1), adjacency, 2.0, 1e-5
    )
    public = 6000 if adjacency == "replace" else None
    w, m, S = release_unlabelled(curator, 3, 2, public)[:3]
    nearest = np.linalg.norm(m[:, None] * 20 - centres, axis=2)
    assert sorted(nearest.argmin(axis=1)) == [0, 1, 2]
    assert nearest.min(axis=1).max() < 0.3
    np.testing.assert_allclose(w, 1 / 3, atol=0.05)
    np.testing.assert_allclose(S * 400, np.tile(np.eye(2), (3, 1, 1)), atol=0.35)
    assert curator.remaining_mu < 1e-4 * curator.mu


def test_private_em_with_one_component_is_one_gaussian() -> None:
    X = np.random.default_rng(4).normal(size=(3000, 2))
    curator = Curator(
        ArraySource(X / 20, np.zeros(3000, dtype=np.intp), 1), SeededNoise(1), "replace", 1.0, 1e-5
    )
    w, _, S = release_unlabelled(curator, 1, 2, 3000)[:3]
    assert w.tolist() == [1.0]
    np.testing.assert_allclose(S[0] * 400, np.eye(2), atol=0.2)
