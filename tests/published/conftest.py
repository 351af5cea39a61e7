"""Random labelled data for the property tests."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def labelled():
    def make(seed, n_classes=3, dim=2, spare=20):
        """Clusters of unequal size (each at least d+2) and unequal, correlated spread."""
        rng = np.random.default_rng(seed)
        sizes = dim + 2 + rng.integers(0, spare + 1, n_classes)
        blocks = [
            rng.standard_normal((m, dim)) @ rng.standard_normal((dim, dim)) * rng.uniform(0.1, 3)
            + rng.uniform(-8, 8, dim)
            for m in sizes
        ]
        return np.vstack(blocks), np.repeat(np.arange(n_classes), sizes)

    return make
