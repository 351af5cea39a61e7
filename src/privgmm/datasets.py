"""The paper's synthetic generator (section V-A). Real data sets for experiments live outside the package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wishart

from privgmm.checks import MOST_ROWS, whole
from privgmm.errors import InputError
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import generator
from privgmm.types import Floats

_MAX_REDRAWS = 10_000


def synthetic(
    n: int = 1000, n_classes: int = 5, dim: int = 3, seed: int = 0
) -> tuple[Floats, NDArray[np.intp]]:
    """n labelled rows from a random mixture, section V-A.

    Weights ~ Dirichlet(1), means ~ uniform on [-10, 10]^d, covariances ~ Wishart(I, d+1). The
    mixture is redrawn until every class has at least d+2 rows, which (eq2) and (eq6) need.
    """
    for value, what in ((n, "The number of rows"), (n_classes, "Classes"), (dim, "Columns")):
        whole(value, what, at_most=MOST_ROWS)
    if n < n_classes * (dim + 2):
        raise InputError(
            f"{n_classes} classes in {dim} dimensions need at least {n_classes * (dim + 2)} rows, got {n}."
        )
    rng = generator(seed)
    for _ in range(_MAX_REDRAWS):
        weights = rng.dirichlet(np.ones(n_classes))
        codes = rng.choice(n_classes, size=n, p=weights)
        if np.bincount(codes, minlength=n_classes).min() >= dim + 2:
            break
    else:
        raise InputError(
            f"No draw gave every class {dim + 2} rows; ask for more rows or fewer classes."
        )
    truth = Mixture(
        weights,
        rng.uniform(-10, 10, size=(n_classes, dim)),
        np.stack(
            [
                np.atleast_2d(wishart.rvs(dim + 1, np.eye(dim), random_state=rng))
                for _ in range(n_classes)
            ]
        ),
    )
    X = rng.standard_normal((n, dim))
    for k in range(n_classes):
        rows = codes == k
        X[rows] = X[rows] @ truth.cholesky[k].T + truth.means[k]
    return X, codes
