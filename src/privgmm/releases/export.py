"""The released mixture as objects of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from privgmm.model.mixture import Mixture


def gaussian_mixture(mixture: Mixture) -> Any:
    """A fitted full-covariance ``GaussianMixture`` with one component per class."""
    from sklearn.mixture import GaussianMixture

    identity = np.eye(mixture.dim)
    model = GaussianMixture(n_components=mixture.n_classes, covariance_type="full")
    model.weights_ = mixture.weights.copy()
    model.means_ = mixture.means.copy()
    model.covariances_ = mixture.covariances.copy()
    # scikit-learn keeps the upper factors P_k = L_k^-T, so that precision = P P^T.
    model.precisions_cholesky_ = np.stack(
        [solve_triangular(factor, identity, lower=True).T for factor in mixture.cholesky]
    )
    model.precisions_ = np.stack([p @ p.T for p in model.precisions_cholesky_])
    model.converged_ = True
    model.n_iter_ = 0
    model.lower_bound_ = float("nan")
    model.n_features_in_ = mixture.dim
    return model
