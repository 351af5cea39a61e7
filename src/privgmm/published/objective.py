"""Prop. 2's expected KL as printed, (eq_obj), and the true expected KL beside it.

Both are  E[sum_k pi~_k ln(pi~_k/pi_k)] + sum_k E[pi~_k] * c_k  with a cost c_k per component. The
print replaces E ln|Sigma + W| / |Sigma| by E ln|W|, which is the whole difference between the two.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, hyperu

from privgmm.types import Floats


def component_cost(gamma: Floats, trace_precision: Floats, mean_cost: Floats, dim: int) -> Floats:
    """(1/2)(d ln gamma_k + (d+1)/gamma_k tr Sigma_k^-1 + tr(Sigma_k^-1 Gamma_k^-1)), the bracket of (eq_obj).

    ``trace_precision`` = tr Sigma_k^-1 and ``mean_cost`` = tr(Sigma_k^-1 Gamma_k^-1), both (K,).
    """
    return 0.5 * (dim * np.log(gamma) + (dim + 1) / gamma * trace_precision + mean_cost)


def wishart_constant(dim: int) -> float:
    """(d ln 2 + psi_d((d+1)/2)) / 2, the last term of (eq_obj); psi_d is the multivariate digamma."""
    psi_d = digamma((dim + 1) / 2 - np.arange(dim) / 2).sum()
    return float(dim * np.log(2) + psi_d) / 2


def best_gamma(trace_precision: Floats, dim: int) -> Floats:
    """(d+1)/d tr Sigma_k^-1: where d ln gamma + (d+1) tr Sigma^-1 / gamma is smallest, (eq21).

    This minimum is an artefact of the print: the true expected KL falls in gamma without end.
    """
    return np.asarray((dim + 1) / dim * trace_precision)


def weight_loss(released: Floats, weights: Floats) -> Floats:
    """sum_k pi~_k ln(pi~_k / pi_k) for each row of ``released``."""
    return np.asarray((released * np.log(released / weights)).sum(axis=-1))


def printed_expected_kl(
    mean_weights: Floats, expected_weight_loss: float, cost: Floats, dim: int
) -> float:
    """(eq_obj): Prop. 2's closed form, with the component costs of ``component_cost``."""
    return float(expected_weight_loss + mean_weights @ cost - wishart_constant(dim))


def expected_log_det_ratio(
    covariance: Floats, gamma: float, samples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """E ln |Sigma + W| / |Sigma| with W ~ Wishart_d(I/gamma, d+1); returns (value, standard error).

    d = 1: W is exponential with mean 2/gamma and the value is e^a E_1(a), a = gamma sigma^2 / 2,
    exactly. d > 1: Monte Carlo.
    """
    d = covariance.shape[0]
    if d == 1:
        return float(hyperu(1, 1, gamma * covariance[0, 0] / 2)), 0.0
    factor = np.linalg.cholesky(covariance)
    G = rng.standard_normal((samples, d + 1, d)) @ np.linalg.inv(factor).T
    _, log_det = np.linalg.slogdet(np.eye(d) + G.transpose(0, 2, 1) @ G / gamma)
    return float(log_det.mean()), float(log_det.std(ddof=1) / np.sqrt(samples))


def true_component_kl(
    covariances: Floats,
    mean_noise: Floats,
    gamma: Floats,
    samples: int = 2000,
    seed: int | None = 0,
) -> tuple[Floats, Floats]:
    """E KL(N(mu+w, Sigma+W) || N(mu, Sigma)) per class, and its standard error (zero when exact)."""
    rng = np.random.default_rng(seed)
    d = covariances.shape[1]
    value, error = np.empty(len(gamma)), np.empty(len(gamma))
    for k, sigma in enumerate(covariances):
        precision = np.linalg.inv(sigma)
        log_det, spread = expected_log_det_ratio(sigma, float(gamma[k]), samples, rng)
        wishart_mean = (d + 1) / gamma[k] * np.trace(precision)
        value[k] = 0.5 * (np.sum(precision * mean_noise[k]) + wishart_mean - log_det)
        error[k] = 0.5 * spread
    return value, error
