"""KL(released || fitted) of the published method, the proven one and peers, on the same data sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measure import Row
from privgmm import Mixture, datasets, fit, kl_divergence, published, release

_RADIUS = 20.0
_EPSILON, _DELTA = 1.0, 1e-5

Method = Callable[[np.ndarray, np.ndarray, int], Mixture | float]  # a release, or its expected KL


def utilities(full: bool = False) -> list[Row]:
    """{"setting", "method", "mean", "median", "data_sets"} for each cell of the comparison."""
    from bench import private_nb

    trials = 40 if full else 6
    python = private_nb.environment()
    synthetic = [datasets.synthetic(n=1000, n_classes=5, dim=3, seed=s) for s in range(trials)]
    iris = [_iris()] * trials
    out = _compared("synthetic N=1000, label", synthetic, _label_methods())
    out += _compared("synthetic N=1000, record B=20", synthetic, _record_methods(python))
    out += _compared("Iris standardised, label", iris, _label_methods())
    return out


def _compared(
    setting: str, sets: list[tuple[np.ndarray, np.ndarray]], methods: dict[str, Method]
) -> list[Row]:
    out = []
    for name, method in methods.items():
        kls = [_kl(method(X, y, seed), fit(X, y)) for seed, (X, y) in enumerate(sets)]
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


def _kl(found: Mixture | float, fitted: Mixture) -> float:
    return kl_divergence(found, fitted) if isinstance(found, Mixture) else found


def _label_methods() -> dict[str, Method]:
    return {
        "proven": _proven("label"),
        "published": _published("label"),
        **{name: _baseline(name) for name in ("laplace", "gaussian", "colored-gaussian", "r1smg")},
    }


def _record_methods(python: Path | None) -> dict[str, Method]:
    methods: dict[str, Method] = {
        "proven": _proven("record"),
        "published": _published("record-change"),
    }
    if python is not None:
        from bench import private_nb

        # A box of half-width B holds the ball: the peer has no balls, and no delta.
        methods["diffprivlib GaussianNB"] = lambda X, y, seed: private_nb.fit(
            python, X, y, _RADIUS, _EPSILON, seed
        )[0]
    return methods


def _proven(unit: str) -> Method:
    region = {"radius": _RADIUS} if unit == "record" else {}

    def run(X: np.ndarray, y: np.ndarray, seed: int) -> Mixture:
        classes = np.unique(y).tolist()
        return release(
            X, y, _EPSILON, _DELTA, unit=unit, classes=classes, seed=seed, **region
        ).mixture

    return run


def _published(adjacency: str) -> Method:
    """Its metric is an expectation over the noise, which one draw of a heavy tail does not show."""
    radius = None if adjacency == "label" else _RADIUS

    def run(X: np.ndarray, y: np.ndarray, _: int) -> float:
        found = published.design(X, y, _EPSILON, _DELTA, adjacency=adjacency, radius=radius)
        return found.true_expected_kl()[0]

    return run


def _baseline(name: str) -> Method:
    return lambda X, y, _: published.baseline_design(name, X, y, _EPSILON, _DELTA).expected_kl()


def _iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y
