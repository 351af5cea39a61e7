"""The label-level release: budget, utility, and tables at the edge."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from privgmm import datasets
from privgmm.model import Mixture, fit, kl_divergence
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven import label
from privgmm.proven.label_cells import public_view
from privgmm.proven.label_moments import class_moments
from privgmm.proven.label_tilt import Frames
from privgmm.statistics import ArraySource

DELTA = 1e-5


def released(
    X: np.ndarray, y: np.ndarray, n_classes: int, epsilon: float, seed: int = 0
) -> tuple[Mixture, Curator]:
    source = ArraySource(np.asarray(X, dtype=np.float64), y.astype(np.intp), n_classes)
    curator = Curator(source, SeededNoise(seed), "label", epsilon, DELTA)
    return Mixture(*label.release_label(source.X, curator, n_classes)), curator


def overlapping(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes on top of one another, so that no cell is pure."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    X = rng.standard_normal((n, 2)) * np.array([1.0, 1.6, 0.7])[y][:, None]
    return X + np.array([[0, 0], [1, 0], [0, 1]])[y], y


def test_the_release_spends_the_budget_and_no_more() -> None:
    for X, y in (datasets.synthetic(n=300, n_classes=3, dim=2, seed=1), overlapping(4000, 1)):
        _, curator = released(X, y, 3, 1.0)
        spent = math.sqrt(sum(m.mu**2 for m in curator.mechanisms))
        assert spent == pytest.approx(curator.mu, rel=1e-9)
        for m in curator.mechanisms:
            assert m.sigma == pytest.approx(m.sensitivity / m.mu, rel=1e-9)
            assert m.sensitivity == pytest.approx(math.sqrt(2), rel=1e-12)


def test_labels_are_no_argument_of_the_release() -> None:
    names = list(inspect.signature(label.release_label).parameters)
    assert names == ["X", "curator", "n_classes", "weights", "view"]  # a view is of features only


def test_synthetic_mixtures_at_epsilon_one() -> None:
    got = []
    for seed in range(700, 706):
        X, y = datasets.synthetic(seed=seed)
        got.append(kl_divergence(released(X, y, 5, 1.0, seed)[0], fit(X, y)))
    assert np.mean(got) < 0.25
    assert np.median(got) < 0.05


def test_iris_at_epsilon_one() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    got = [kl_divergence(released(X, y, 3, 1.0, seed)[0], fit(X, y)) for seed in range(4)]
    assert np.mean(got) < 0.15
    assert np.median(got) < 0.1


def test_overlapping_classes_are_released_by_moments() -> None:
    X, y = overlapping(4000, 3)
    small, curator = released(X, y, 3, 1.0)
    assert [m.query for m in curator.mechanisms][-1].startswith("class moments")
    assert kl_divergence(small, fit(X, y)) < 0.08
    large, _ = released(X, y, 3, 4.0)
    assert kl_divergence(large, fit(X, y)) < 0.02


def test_kl_falls_with_epsilon_and_with_rows() -> None:
    means = {}
    for n, epsilon in ((200, 0.5), (200, 4.0), (2000, 0.5)):
        got = []
        for seed in range(3):
            X, y = datasets.synthetic(n=n, n_classes=3, dim=2, seed=seed)
            got.append(kl_divergence(released(X, y, 3, epsilon, seed)[0], fit(X, y)))
        means[n, epsilon] = np.mean(got)
    assert means[200, 4.0] < means[200, 0.5]
    assert means[2000, 0.5] < means[200, 0.5]


def test_features_predict_what_the_query_counts() -> None:
    """phi_k(x) in float is one row's integer contribution over the steps, up to the grid."""
    X, y = overlapping(40, 5)
    X[0] *= 100
    frames = Frames.around(class_moments(X, np.eye(3)[y]), X.std(axis=0))
    steps = frames.query.steps.reshape(3, -1)
    for k in range(3):
        phi = frames.features(X, k)
        for row in range(40):
            one = frames.query.kernel(X[row : row + 1], np.array([k])).reshape(3, -1)
            assert np.abs(one[k] / steps[k] - phi[row]).max() < 3e-4


def test_a_mixture_is_found_among_the_public_models() -> None:
    X, _ = datasets.synthetic(n=600, n_classes=3, dim=2, seed=4)
    view = public_view(X, 3)
    assert view.coarse.size == 3
    for model in view.models:
        r = model.responsibilities(X)
        assert r.shape == (600, model.size)
        assert np.allclose(r.sum(axis=1), 1)
        # soft and hard assignments are the same rule
        top = np.sort(r, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-9 if model.size > 1 else np.ones(600, bool)
        assert (r.argmax(axis=1) == model.rule(X))[clear].all()
    assert (public_view(X, 3).cells.keys == view.cells.keys).all()  # deterministic


RNG = np.random.default_rng(0)
EDGES = {
    "fifty rows": (*datasets.synthetic(n=50, n_classes=3, dim=2, seed=0), 3),
    "empty classes": (*datasets.synthetic(n=200, n_classes=3, dim=2, seed=0), 6),
    "one class of two": (RNG.standard_normal((60, 2)), np.zeros(60, int), 2),
    "one dimension": (*datasets.synthetic(n=200, n_classes=3, dim=1, seed=2), 3),
    "fifty dimensions": (RNG.standard_normal((200, 50)), np.arange(200) % 2, 2),
    "duplicated rows": (np.repeat(RNG.standard_normal((12, 2)), 20, 0), np.arange(240) // 80, 3),
    "constant column": (
        np.c_[RNG.standard_normal((90, 2)), np.full(90, 7.0)],
        np.arange(90) % 3,
        3,
    ),
    "identical rows": (np.ones((60, 2)), np.arange(60) % 3, 3),
    "identical rows, many": (np.ones((12_000, 2)), np.arange(12_000) % 3, 3),
    "far scales": (RNG.standard_normal((90, 2)) * [1e6, 1e-6] + 1e3, np.arange(90) % 3, 3),
    "integers": (RNG.integers(0, 3, (400, 2)), np.arange(400) % 4, 4),
    "fewer rows than cells": (RNG.standard_normal((5, 2)), np.arange(5) % 2, 2),
    "many rows": (RNG.standard_normal((12_000, 2)), np.arange(12_000) % 3, 5),
    "many rows, pure": (*datasets.synthetic(n=12_000, n_classes=3, dim=2, seed=3), 3),
}


@pytest.mark.parametrize("name", EDGES)
def test_tables_at_the_edge(name: str) -> None:
    X, y, n_classes = EDGES[name]
    mixture, curator = released(np.asarray(X, dtype=float), np.asarray(y), n_classes, 2.0)
    assert mixture.n_classes == n_classes  # Mixture itself checks the simplex and definiteness
    assert curator.remaining_mu < 1e-4 * curator.mu


def test_views_of_the_last_tables_are_remembered() -> None:
    X, _ = datasets.synthetic(seed=700)
    first = public_view(X, 5)
    assert public_view(X.copy(), 5) is first
    assert public_view(X, 4) is not first
    moved = X.copy()
    moved[0, 0] += 1e-9
    assert public_view(moved, 5) is not first
