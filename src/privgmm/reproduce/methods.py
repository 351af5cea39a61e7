"""The curves: each takes private rows and a budget and returns one released mixture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.model import Mixture
from privgmm.model.fitting import mean_and_covariance
from privgmm.model.mixture import Floats

DELTA = 1e-5

PROVEN = "proven"
PUBLISHED = "published"
JOINT = "published-joint"  # the same problem (P2), solved jointly instead of by Algorithm 1
RESAMPLED = "non-private"
BASELINES = ("laplace", "gaussian", "colored-gaussian", "r1smg")
ALL = (PROVEN, PUBLISHED, *BASELINES, RESAMPLED)


def released(
    method: str, X: Floats, y: NDArray[np.intp], fitted: Mixture, epsilon: float, seed: int
) -> tuple[Mixture, int | None]:
    """One label-level release of the rows, and the iterations of the published design."""
    if method == PROVEN:
        import privgmm

        classes = list(fitted.classes)
        out = privgmm.release(X, y, epsilon=epsilon, delta=DELTA, classes=classes, seed=seed)
        return out.mixture, None
    if method == RESAMPLED:
        return refitted(fitted, np.bincount(y, minlength=fitted.n_classes), seed), None
    from privgmm import published

    if method in (PUBLISHED, JOINT):
        way = "alternating" if method == PUBLISHED else "joint"
        design = published.design(X, y, epsilon=epsilon, delta=DELTA, method=way)
        return design.draw(seed=seed), len(design.history)
    if method not in BASELINES:
        raise InputError(f"There is no method {method!r}; choose one of {', '.join(ALL)}.")
    return published.baseline(method, X, y, epsilon=epsilon, delta=DELTA, seed=seed), None


def refitted(fitted: Mixture, counts: NDArray[np.intp], seed: int) -> Mixture:
    """The fit (eq2) of a fresh sample of the fitted mixture itself: sampling error, no privacy.

    A release whose KL is below this one's costs less than having drawn other rows. Each class
    keeps its number of rows, so that every covariance exists; the weights are multinomial.
    """
    rng = np.random.default_rng(seed)
    n = int(counts.sum())
    means = np.empty_like(fitted.means)
    covariances = np.empty_like(fitted.covariances)
    for k, count in enumerate(counts):
        noise = rng.standard_normal((count, fitted.dim))
        rows = noise @ fitted.cholesky[k].T + fitted.means[k]
        means[k], covariances[k] = mean_and_covariance(rows)
    weights = rng.multinomial(n, fitted.weights) / n
    return Mixture(weights, means, covariances, fitted.classes)


def by_class(mixture: Mixture, n: int, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """n rows whose class histogram is the *released* weights, to the nearest row.

    The paper preserves "the class histogram"; the true one is private, so it is not used.
    """
    exact = mixture.weights / mixture.weights.sum() * n
    counts = np.floor(exact).astype(np.intp)
    counts[np.argsort(counts - exact)[: n - counts.sum()]] += 1
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(mixture.n_classes), counts)
    X = rng.standard_normal((n, mixture.dim))
    for k in range(mixture.n_classes):
        X[y == k] = X[y == k] @ mixture.cholesky[k].T + mixture.means[k]
    return X, np.array([int(name) for name in mixture.classes], dtype=np.intp)[y]
