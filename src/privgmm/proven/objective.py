"""Which divergence a release keeps small: KL in both directions (the balanced rule, the default), or in the paper's direction alone.

**Balanced**: the Gaussian that is closest to uncertain ones in both directions together.
Given draws (m, S) of what (eq2) would give, E[KL(q || p) + KL(p || q)] over p = N(m, S) is, up to a constant,
    f(m~, S~) = (tr S~ H^-1 + tr S~^-1 F(m~) + E (m~ - m)^T S^-1 (m~ - m)) / 2,
    H = E[S^-1]^-1,   F(m~) = E[S] + E[(m - m~)(m - m~)^T].
Reverse KL alone is least at S~ = H, forward KL alone at S~ = F (the predictive covariance). In (m~, S~) the
sum is jointly strictly convex; for fixed m~ it is least at the matrix geometric mean S~ = H # F, the
solution of S~ H^-1 S~ = F, and for fixed S~ at
    m~ = (H^-1 + S~^-1)^-1 (E[S^-1 m] + S~^-1 E[m]).
Alternating the two is block descent on a strictly convex function, so it reaches the one minimiser from any start.
Weights are not part of it: the balanced release has the (noisy) class frequencies, never zero.

**Paper**: the release q that minimises E[KL(q || fitted)] given the noisy answers.
For one class, E KL(N(m~, S~) || N(m, S)) over the posterior of (m, S) is least at
S~ = E[S^-1]^-1, m~ = S~ E[S^-1 m], where it equals
    (ln det E[S^-1] + E ln det S + E (m~ - m)^T S^-1 (m~ - m)) / 2  =: kl_k.
For the weights, E KL = sum_k q_k (ln q_k - E ln pi_k + kl_k) is least at q_k ~ exp(E ln pi_k - kl_k):
a class whose shape the noise hides is released with less weight than its count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from privgmm.types import Floats

# "balanced": shapes minimise the expected KL(released || fitted) + KL(fitted || released) (``balanced``), and
#     weights are the noisy class frequencies.
# "paper": shapes and weights minimise the expected KL(released || fitted) alone, the paper's figure of merit;
#     a class whose shape the noise hides then gets less weight than its share of the rows.
Objective = Literal["balanced", "paper"]

# The iteration ends when no mean moves by more than this many of its released standard deviations.
_SETTLED = 1e-9
_MOST_TURNS = 200


@dataclass(frozen=True, eq=False)
class Expectations:
    """The averages over the draws that the balanced rule needs, per class.

    mean : (K, d) E[m]
    spread : (K, d, d) E[S] + Cov(m), so that F(m~) = spread + (E[m] - m~)(E[m] - m~)^T
    precision : (K, d, d) E[S^-1] = H^-1
    pull : (K, d) E[S^-1 m]
    """

    mean: Floats
    spread: Floats
    precision: Floats
    pull: Floats


def balanced(
    means: Floats, covariances: Floats, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Means (K, d) and covariances (K, d, d) with the least expected KL, both directions added.

    Parameters
    ----------
    means : (S, K, d) draws
    covariances : (S, K, d, d) draws, positive definite
    weights : (S,) weights of the draws, or (S, K) of the draws of each class; None for equal ones.
        Where a class's share pi_k and its shape are not independent, give the draws of pi_k.
    """
    expected = expectations(means, covariances, weights)
    centre = expected.mean
    for _ in range(_MOST_TURNS):
        moved, shape = turn(expected, centre)
        step = np.abs(moved - centre) / np.sqrt(np.diagonal(shape, axis1=1, axis2=2))
        centre = moved
        if step.max() <= _SETTLED:
            break
    return centre, turn(expected, centre)[1]


def expectations(means: Floats, covariances: Floats, weights: Floats | None = None) -> Expectations:
    """Weighted averages over the draws, for ``balanced``."""
    share = np.ones(means.shape[:2])
    if weights is not None:
        share = share * np.reshape(weights, (means.shape[0], -1))
    share = share / share.sum(axis=0)
    precisions = np.linalg.inv(covariances)
    mean = np.einsum("sk,ski->ki", share, means)
    off = means - mean
    spread = np.einsum("sk,skij->kij", share, covariances)
    spread += np.einsum("sk,ski,skj->kij", share, off, off)
    pulls = np.einsum("skij,skj->ski", precisions, means)
    return Expectations(
        mean,
        _symmetric(spread),
        _symmetric(np.einsum("sk,skij->kij", share, precisions)),
        np.einsum("sk,ski->ki", share, pulls),
    )


def turn(expected: Expectations, centre: Floats) -> tuple[Floats, Floats]:
    """One step of the alternation from means ``centre`` (K, d): the next means, and the best covariances for ``centre``."""
    off = expected.mean - centre
    forward = expected.spread + off[:, :, None] * off[:, None, :]
    shape = geometric_mean(_inverse(expected.precision), forward)
    precision = np.linalg.inv(shape)
    pull = expected.pull + np.einsum("kij,kj->ki", precision, expected.mean)
    return np.linalg.solve(expected.precision + precision, pull[:, :, None])[:, :, 0], shape


def geometric_mean(A: Floats, B: Floats) -> Floats:
    """A # B of positive definite (..., d, d): L (L^-1 B L^-T)^(1/2) L^T with A = L L^T."""
    L = np.linalg.cholesky(A)
    half = np.linalg.solve(L, B)
    middle = np.linalg.solve(L, np.swapaxes(half, -1, -2))
    values, axes = np.linalg.eigh(_symmetric(middle))
    # Rounding may make a zero eigenvalue slightly negative.
    root = axes * np.sqrt(np.maximum(values, 0.0))[..., None, :] @ np.swapaxes(axes, -1, -2)
    return _symmetric(L @ root @ np.swapaxes(L, -1, -2))


def _inverse(A: Floats) -> Floats:
    inverse = np.asarray(np.linalg.inv(A), dtype=np.float64)
    return _symmetric(inverse)


def _symmetric(A: Floats) -> Floats:
    return np.asarray((A + np.swapaxes(A, -1, -2)) / 2, dtype=np.float64)


@dataclass(frozen=True)
class Denoised:
    """A release chosen from draws: means (K, d) and covariances (K, d, d) in the draws' coordinates, normalised log_weights (K,).

    expected_kl (K,) is the expected KL(released || fitted) of each class under the posterior.
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
    out = np.zeros(L.shape)
    diagonal = out.reshape(*L.shape[:-2], d * d)[..., :: d + 1]
    np.divide(1.0, np.diagonal(L, axis1=-2, axis2=-1), out=diagonal)
    for i in range(1, d):
        row = L[..., i : i + 1, :i] @ out[..., :i, :i]
        np.multiply(row[..., 0, :], -diagonal[..., i, None], out=out[..., i, :i])
    return out


def reverse_kl(mean: Floats, shape: Floats, means: Floats, covariances: Floats) -> Floats:
    """(K,) E KL(N(mean, shape) || N(m, S)) over draws (S, K, d) and (S, K, d, d)."""
    precisions = np.linalg.inv(covariances)
    miss = mean - means
    quad = np.einsum("ski,skij,skj->sk", miss, precisions, miss).mean(axis=0)
    trace = np.einsum("skij,kji->sk", precisions, shape).mean(axis=0)
    log_det = np.linalg.slogdet(covariances)[1].mean(axis=0) - np.linalg.slogdet(shape)[1]
    return np.asarray(0.5 * (trace - mean.shape[1] + log_det + quad))
