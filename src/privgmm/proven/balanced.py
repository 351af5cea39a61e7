"""The balanced rule: the Gaussian that is closest to uncertain ones in both directions of KL.

Given draws (m, S) of what (eq2) would give, E[KL(q || p) + KL(p || q)] over p = N(m, S) is, up to a constant,
    f(m~, S~) = (tr S~ H^-1 + tr S~^-1 F(m~) + E (m~ - m)^T S^-1 (m~ - m)) / 2,
    H = E[S^-1]^-1,   F(m~) = E[S] + E[(m - m~)(m - m~)^T].
Reverse KL alone is least at S~ = H, forward KL alone at S~ = F (the predictive covariance). In (m~, S~) the
sum is jointly strictly convex; for fixed m~ it is least at the matrix geometric mean S~ = H # F, the
solution of S~ H^-1 S~ = F, and for fixed S~ at
    m~ = (H^-1 + S~^-1)^-1 (E[S^-1 m] + S~^-1 E[m]).
Taking turns is block descent: one minimiser, whatever the start (design, section 6.1). Weights have no part
in it: the balanced release has the (noisy) class frequencies, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.types import Floats

# Turns end when no mean moves by more than this many of its released standard deviations.
_SETTLED = 1e-9
_MOST_TURNS = 200


@dataclass(frozen=True, eq=False)
class Expectations:
    """What the rule needs of the draws, per class.

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
    """One turn from means ``centre`` (K, d): the next means, and the best covariances for ``centre``."""
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
    # Rounding may leave a zero eigenvalue slightly negative.
    root = axes * np.sqrt(np.maximum(values, 0.0))[..., None, :] @ np.swapaxes(axes, -1, -2)
    return _symmetric(L @ root @ np.swapaxes(L, -1, -2))


def _inverse(A: Floats) -> Floats:
    inverse = np.asarray(np.linalg.inv(A), dtype=np.float64)
    return _symmetric(inverse)


def _symmetric(A: Floats) -> Floats:
    return np.asarray((A + np.swapaxes(A, -1, -2)) / 2, dtype=np.float64)
