"""The paper's downstream classifier: d -> 256 -> 128 -> 10, ReLU, softmax loss, plain SGD, one epoch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
_HIDDEN = (256, 128)


@dataclass
class Network:
    """Weights and biases of each layer, updated in place."""

    weights: list[F32]
    biases: list[F32]

    @classmethod
    def initial(cls, dim: int, n_classes: int, rng: np.random.Generator) -> Network:
        """Gaussian weights of variance 2 / fan-in (He et al. 2015) and zero biases."""
        sizes = (dim, *_HIDDEN, n_classes)
        weights = [
            (rng.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32)
            for a, b in pairwise(sizes)
        ]
        return cls(weights, [np.zeros(b, np.float32) for b in sizes[1:]])

    def layers(self, X: F32) -> list[F32]:
        """Input, hidden activations and logits."""
        out = [X]
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = out[-1] @ w + b
            out.append(z if i == last else np.maximum(z, 0))
        return out

    def gradients(self, X: F32, y: NDArray[np.intp]) -> list[tuple[F32, F32]]:
        """Gradients of the mean cross-entropy by (weights, biases), first layer first."""
        layers = self.layers(X)
        logits = layers[-1] - layers[-1].max(axis=1, keepdims=True)
        back = np.exp(logits)
        back /= back.sum(axis=1, keepdims=True)
        back[np.arange(len(y)), y] -= 1
        back /= len(y)
        out: list[tuple[F32, F32]] = []
        for i in range(len(self.weights) - 1, -1, -1):
            out.append((layers[i].T @ back, back.sum(axis=0)))
            back = (back @ self.weights[i].T) * (layers[i] > 0)
        return out[::-1]

    def step(self, X: F32, y: NDArray[np.intp], rate: float) -> None:
        for i, (dw, db) in enumerate(self.gradients(X, y)):
            self.weights[i] -= np.float32(rate) * dw
            self.biases[i] -= np.float32(rate) * db

    def accuracy(self, X: F32, y: NDArray[np.intp]) -> float:
        return float((self.layers(X)[-1].argmax(axis=1) == y).mean())


def accuracy_by_iteration(
    X: NDArray[np.floating],
    y: NDArray[np.intp],
    X_test: NDArray[np.floating],
    y_test: NDArray[np.intp],
    seed: int,
    batch: int = 128,
    rate: float = 0.01,
    n_classes: int = 10,
) -> list[float]:
    """Test accuracy after each mini-batch of one epoch over the rows in random order.

    Rows that do not fill a last batch are left out, as MATLAB (the paper's tool) does.
    """
    rng = np.random.default_rng(seed)
    network = Network.initial(X.shape[1], n_classes, rng)
    x, x_test = X.astype(np.float32), X_test.astype(np.float32)
    order, out = rng.permutation(len(x)), []
    for start in range(0, len(x) - batch + 1, batch):
        rows = order[start : start + batch]
        network.step(x[rows], y[rows], rate)
        out.append(network.accuracy(x_test, y_test))
    return out
