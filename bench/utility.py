"""KL(released || fitted) of a record-level release beside a peer's, on the same data sets.

The published method and its baselines are not here: their numbers are expectations over the noise and stand
in docs/results.md, written by ``privgmm reproduce``, so that one setting has one number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import private_nb
from bench.measure import Row
from privgmm import Mixture, datasets, fit, kl_divergence, release

_RADIUS = 20.0
_EPSILON, _DELTA = 1.0, 1e-5

Method = Callable[[np.ndarray, np.ndarray, int], Mixture]


def utilities(full: bool = False) -> list[Row]:
    """{"setting", "method", "mean", "median", "data_sets"} for each cell of the comparison."""
    trials = 40 if full else 6
    sets = [datasets.synthetic(n=1000, n_classes=5, dim=3, seed=s) for s in range(trials)]
    methods: dict[str, Method] = {"proven": _proven}
    python = private_nb.environment()
    if python is not None:
        # A box of half-width B holds the ball: the peer has no balls, and no delta.
        methods["diffprivlib GaussianNB"] = lambda X, y, seed: private_nb.fit(
            python, X, y, _RADIUS, _EPSILON, seed
        )[0]
    return compared("synthetic N=1000, record B=20", sets, methods)


def compared(
    setting: str, sets: list[tuple[np.ndarray, np.ndarray]], methods: dict[str, Method]
) -> list[Row]:
    """A row for each method: mean and median over the data sets."""
    out = []
    for name, method in methods.items():
        kls = [kl_divergence(method(X, y, seed), fit(X, y)) for seed, (X, y) in enumerate(sets)]
        out.append(
            {
                "setting": setting,
                "method": name,
                "mean": float(np.mean(kls)),
                "median": float(np.median(kls)),
                "data_sets": len(sets),
            }
        )
    return out


def _proven(X: np.ndarray, y: np.ndarray, seed: int) -> Mixture:
    asked = {"unit": "record", "radius": _RADIUS, "classes": np.unique(y).tolist(), "seed": seed}
    return release(X, y, _EPSILON, _DELTA, **asked).mixture
