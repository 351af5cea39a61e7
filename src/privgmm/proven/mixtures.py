"""Gaussian mixtures of rows that anyone may see, from many components down to few.

EM finds the mixture next to its start, and k-means starts miss clusters that are flat or lie inside
one another. A mixture with many components finds them, and merging keeps them: of all pairs the one
whose union costs least likelihood is joined, EM runs again, and so on down.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from privgmm.types import Floats

_RIDGE = 1e-4  # of a unit variance, so that duplicated rows do not make a component collapse
# Steps of EM at sizes that are only passed through.
_PASSING = 10
_ALL = 100


@dataclass(frozen=True, eq=False)
class Fitted:
    """weights (M,), means (M, d), covariances (M, d, d), and what BIC makes of them."""

    weights: Floats
    means: Floats
    covariances: Floats
    bic: float

    @property
    def size(self) -> int:
        """The number of components."""
        return int(self.weights.size)


def fitted(X: Floats, size: int, runs: int, seed: int) -> Fitted:
    """The best of some runs of EM from k-means, for rows with unit variances."""
    return _em(X, size, _ALL, n_init=runs, random_state=seed)


def merged_down(
    X: Floats, top: int, init: str, sizes: range, seed: int, thorough: bool = True
) -> Fitted:
    """The mixture of one of the ``sizes`` that BIC prefers, on the way down from ``top`` components.

    If not ``thorough``, EM runs to its end for the chosen mixture only.
    """
    steps = _ALL if thorough else _PASSING
    at = _em(X, top, steps, init_params=init, random_state=seed)
    found = [at] if top in sizes else []
    for size in range(top - 1, sizes.start - 1, -1):
        at = _em(X, size, steps if size in sizes else _PASSING, **_start(*joined(at)))
        found += [at] if size in sizes else []
    best = min(found, key=lambda mixture: mixture.bic)
    if thorough:
        return best
    return _em(X, best.size, _ALL, **_start(best.weights, best.means, best.covariances))


def joined(mixture: Fitted) -> tuple[Floats, Floats, Floats]:
    """Weights, means and covariances with one component less: the cheapest pair as one Gaussian.

    If every row belongs to one component, joining i and j costs, in nats per row,
    (w ln det S - w_i ln det S_i - w_j ln det S_j) / 2 - (w ln w - w_i ln w_i - w_j ln w_j),
    w = w_i + w_j, S the covariance of both together.
    """
    w, m, S = mixture.weights, mixture.means, mixture.covariances
    i, j = np.array(list(combinations(range(mixture.size), 2))).T
    both = w[i] + w[j]
    centre = (w[i, None] * m[i] + w[j, None] * m[j]) / both[:, None]
    gap = m[i] - m[j]
    apart = (w[i] * w[j] / both)[:, None, None] * gap[:, :, None] * gap[:, None, :]
    spread = (w[i, None, None] * S[i] + w[j, None, None] * S[j] + apart) / both[:, None, None]
    volume, entropy = w * np.linalg.slogdet(S)[1] / 2, w * np.log(w)
    cost = both * np.linalg.slogdet(spread)[1] / 2 - volume[i] - volume[j]
    cost -= both * np.log(both) - entropy[i] - entropy[j]
    best = int(np.argmin(cost))
    kept = np.delete(np.arange(mixture.size), (i[best], j[best]))
    return (
        np.append(w[kept], both[best]),
        np.concatenate([m[kept], centre[best : best + 1]]),
        np.concatenate([S[kept], spread[best : best + 1]]),
    )


def _start(weights: Floats, means: Floats, covariances: Floats) -> dict[str, Any]:
    return {
        "weights_init": weights / weights.sum(),
        "means_init": means,
        "precisions_init": np.linalg.inv(covariances),
    }


def _em(X: Floats, size: int, steps: int, **start: Any) -> Fitted:
    # Imported here: it takes a second, and most record-level releases do without.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        g = GaussianMixture(size, max_iter=steps, reg_covar=_RIDGE, **start).fit(X)
    return Fitted(g.weights_, g.means_, g.covariances_, float(g.bic(X)))
