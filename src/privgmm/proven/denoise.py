"""KL-optimal denoising: the release q that minimises E[KL(q || fitted)] given the noisy answers.

For one class, E KL(N(m~, S~) || N(m, S)) over the posterior of (m, S) is least at
S~ = E[S^-1]^-1, m~ = S~ E[S^-1 m], where it equals
    (ln det E[S^-1] + E ln det S + E (m~ - m)^T S^-1 (m~ - m)) / 2  =: kl_k.
For the weights, E KL = sum_k q_k (ln q_k - E ln pi_k + kl_k) is least at q_k ~ exp(E ln pi_k - kl_k):
a class whose shape the noise hides is released with less weight than its count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from privgmm.types import Floats


@dataclass(frozen=True)
class Denoised:
    """means (K, d) and covariances (K, d, d) in the draws' coordinates; log_weights (K,) normalised.

    expected_kl (K,) is what the posterior expects of each class.
    """

    log_weights: Floats
    means: Floats
    covariances: Floats
    expected_kl: Floats


def kl_optimal(counts: Floats, means: Floats, factors: Floats) -> Denoised:
    """The best release for draws of (n_k, m_k, L_k), each (draws, K, ...).

    L L^T is the covariance that divides by n; (eq2) divides by n - 1, hence the factor.
    """
    d = means.shape[-1]
    n = np.maximum(counts, d + 1.5)
    unbias = (n - 1) / n
    inv = lower_inverse(factors)
    precision = np.swapaxes(inv, -1, -2) @ inv * unbias[..., None, None]
    expected = precision.mean(axis=0)
    covariance = np.linalg.inv(expected)
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    pull = (precision @ means[..., None])[..., 0].mean(axis=0)
    mean = (covariance @ pull[..., None])[..., 0]
    log_diag = np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
    log_det = (2 * log_diag - d * np.log(unbias)).mean(axis=0)
    miss = mean - means
    quad = np.einsum("tki,tkij,tkj->tk", miss, precision, miss).mean(axis=0)
    kl = 0.5 * (np.linalg.slogdet(expected)[1] + log_det + quad)
    log_weights = np.log(n).mean(axis=0) - kl
    return Denoised(log_weights - logsumexp(log_weights), mean, covariance, kl)


def lower_inverse(L: Floats) -> Floats:
    """Inverse of lower-triangular matrices (..., d, d) by forward substitution; never raises."""
    d = L.shape[-1]
    out = np.zeros_like(L)
    pivot = 1 / np.diagonal(L, axis1=-2, axis2=-1)
    out[..., 0, 0] = pivot[..., 0]
    for i in range(1, d):
        row = L[..., i : i + 1, :i] @ out[..., :i, :i]
        out[..., i, :i] = row[..., 0, :] * -pivot[..., i, None]
        out[..., i, i] = pivot[..., i]
    return out
