"""The downstream network against finite differences and on separable rows."""

from __future__ import annotations

import numpy as np
import pytest

from privgmm.reproduce.figures.network import Network, trained


def loss(network: Network, X: np.ndarray, y: np.ndarray) -> float:
    logits = network.layers(X)[-1]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_p[np.arange(len(y)), y].mean())


def test_gradients_are_those_of_the_cross_entropy() -> None:
    rng = np.random.default_rng(3)
    network = Network.initial(4, 3, rng)
    # Double precision, so that differences are exact enough to tell a wrong factor.
    network.weights = [w.astype(np.float64) for w in network.weights]
    network.biases = [b + 0.1 * rng.standard_normal(b.shape) for b in network.biases]
    X, y = rng.standard_normal((7, 4)), rng.integers(3, size=7)
    gradients = network.gradients(X, y)
    for layer, (dw, db) in enumerate(gradients):
        for array, gradient in ((network.weights[layer], dw), (network.biases[layer], db)):
            at = tuple(int(rng.integers(n)) for n in array.shape)
            kept, step = array[at], 1e-6
            array[at] = kept + step
            above = loss(network, X, y)
            array[at] = kept - step
            below = loss(network, X, y)
            array[at] = kept
            assert gradient[at] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-8)


def test_learns_separable_rows_and_counts_whole_batches() -> None:
    rng = np.random.default_rng(0)
    centres = 4 * np.eye(5)
    y = rng.integers(5, size=5000)
    X = centres[y] + rng.standard_normal((5000, 5))
    path: list[float] = []

    def note(network: Network) -> None:
        path.append(network.accuracy(X[:1000].astype(np.float32), y[:1000]))

    first = trained(X, y, seed=1, each=note)
    assert len(path) == 5000 // 128
    assert path[-1] > 0.9 > path[0]
    again = trained(X, y, seed=1)
    for a, b in zip(first.weights, again.weights, strict=True):
        np.testing.assert_array_equal(a, b)
