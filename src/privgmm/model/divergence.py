"""KL(q || p) of the joint law of (x, y), the paper's figure of merit (eq08), in closed form."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from privgmm.errors import InputError
from privgmm.model.mixture import Mixture
from privgmm.types import Floats


def kl_divergence(q: Mixture, p: Mixture) -> float:
    """KL(q || p) = sum_k q_k (ln q_k/p_k + KL(N_k^q || N_k^p)), the joint law of (x, y) (eq_appb01)."""
    p = _aligned(q, p)
    used = q.weights > 0
    if (p.weights[used] == 0).any():
        return float("inf")
    log_ratio = np.log(q.weights[used] / p.weights[used])
    return float(q.weights[used] @ (log_ratio + component_kl(q, p)[used]))


def component_kl(q: Mixture, p: Mixture) -> Floats:
    """(K,) array of KL(N(mu_k^q, Sigma_k^q) || N(mu_k^p, Sigma_k^p)), classes matched by name."""
    p = _aligned(q, p)
    out = np.empty(q.n_classes)
    for k in range(q.n_classes):
        # Not checked: parameters near 1e308 overflow to an infinite divergence, which is the answer.
        with np.errstate(over="ignore", invalid="ignore"):
            off = q.means[k] - p.means[k]
            shift = solve_triangular(p.cholesky[k], off, lower=True, check_finite=False)
            spread = solve_triangular(p.cholesky[k], q.cholesky[k], lower=True, check_finite=False)
            size = shift @ shift + (spread * spread).sum()
        # ln det ratio from the triangular factors; -ln|Sq|/|Sp| = 2 (ln diag Lp - ln diag Lq)
        log_det = 2 * np.log(np.diagonal(p.cholesky[k]) / np.diagonal(q.cholesky[k])).sum()
        out[k] = 0.5 * (size - q.dim + log_det) if np.isfinite(size) else np.inf
    return np.maximum(out, 0.0)


def kl_divergence_monte_carlo(
    q: Mixture, p: Mixture, n: int = 100_000, seed: int = 0
) -> tuple[float, float]:
    """Estimate KL(q || p) of the joint law from n draws; returns (estimate, standard error)."""
    p = _aligned(q, p)
    X, y = q.sample(n, seed=seed)
    position = {name: k for k, name in enumerate(q.classes)}
    codes = np.array([position[name] for name in y.tolist()], dtype=np.intp)
    rows = np.arange(n)
    ratio = q.log_joint(X)[rows, codes] - p.log_joint(X)[rows, codes]
    return float(ratio.mean()), float(ratio.std(ddof=1) / np.sqrt(n))


def _aligned(q: Mixture, p: Mixture) -> Mixture:
    """p with its classes in q's order."""
    if not (isinstance(q, Mixture) and isinstance(p, Mixture)):
        raise InputError("A divergence is between two mixtures.")
    if q.dim != p.dim or set(q.classes) != set(p.classes) or q.n_classes != p.n_classes:
        raise InputError("Two mixtures can be compared only over the same classes and dimension.")
    if q.classes == p.classes:
        return p
    order = [p.classes.index(name) for name in q.classes]
    return Mixture(p.weights[order], p.means[order], p.covariances[order], q.classes)
