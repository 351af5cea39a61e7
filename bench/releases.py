"""Whole releases in memory, against scikit-learn fits of the same rows without privacy."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from bench.measure import Row, row, seconds, together
from privgmm import datasets, release

_COVTYPE_ROWS = 581_012


def rows(full: bool = False) -> list[Row]:
    return [_record(10**6 if full else 10**5), _label(_COVTYPE_ROWS if full else 10**5)]


def _record(n: int) -> Row:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    X, y = datasets.synthetic(n=n, n_classes=10, dim=10, seed=0)
    radius = float(np.linalg.norm(X, axis=1).max()) * 1.2
    ours, peer = together(
        lambda: release(X, y, unit="record", radius=radius, classes=range(10), seed=0),
        lambda: QuadraticDiscriminantAnalysis().fit(X, y),
        times=3,
    )
    name = f"record-level release N={n} d=10 K=10"
    # Small tables are dominated by the sampler of the posterior, whose cost does not grow with N.
    goal = 1 / 8 if n >= 10**6 else None
    return row(name, ours, "sklearn QDA.fit", peer, goal=goal)


def _label(n: int) -> Row:
    from sklearn.mixture import GaussianMixture

    X, y, origin = _covtype(n)
    k = int(np.unique(y).size)
    ours = seconds(lambda: release(X, y, unit="label", classes=np.unique(y).tolist(), seed=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = seconds(lambda: GaussianMixture(n_components=k, random_state=0).fit(X))
    name = f"label-level release N={len(X)} d={X.shape[1]} K={k} ({origin})"
    # Asked for on Covertype; well-separated synthetic components let the peer stop after a few steps.
    goal = 1.0 if origin == "covtype" and len(X) == _COVTYPE_ROWS else None
    return row(name, ours, "sklearn GaussianMixture.fit", peer, goal=goal)


def _covtype(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Covertype from the folder PRIVGMM_DATA, or synthetic rows of its shape."""
    path = Path(os.environ.get("PRIVGMM_DATA", "")) / "covtype.npz"
    if os.environ.get("PRIVGMM_DATA") and path.is_file():
        with np.load(path) as data:
            X, y = data["x_num"].astype(np.float64), data["y"]
        chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        return X[chosen], y[chosen], "covtype"
    X, y = datasets.synthetic(n=n, n_classes=7, dim=10, seed=0)
    return X, y, "synthetic"
