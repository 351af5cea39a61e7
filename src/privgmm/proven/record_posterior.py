"""What the noisy answers say about a class: the log-posterior of (n, mean, covariance).

All K classes and C Monte Carlo chains at once; leading axes (K, C). In the coordinates of the last
round's frames a class is theta = (ln(n - n0), m, L): count, mean, and Sigma = L L^T, with ln of L's diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Floats
from privgmm.proven.record_frames import Frames, Moments
from privgmm.proven.record_marginals import Located

# Bounds on ln n and ln L_ii that no sensible value meets; they keep wild proposals finite.
_LOG_COUNT = (-3.0, 25.0)
_LOG_DIAGONAL = 9.0
# A histogram assumes normal columns: its widths are never believed closer than this.
_WIDTH_SD = 0.25
# No column is much wider than the stated region (the unit ball): exp(-variance / (2 * this^2)).
_WIDEST = 0.5


@dataclass(frozen=True)
class Posterior:
    """Gaussian likelihood of every round and of the histograms, times a weak prior on Sigma.

    Prior: Sigma = D C D with ln D flat and C a correlation matrix of density |C|^e (LKJ), times
    exp(-kappa tr(S Sigma^-1) / 2), S the histograms' variances, which keeps E[Sigma^-1] finite.
    """

    rounds: tuple[Moments, ...]
    located: Located
    exponent: float
    floor: float

    @property
    def frames(self) -> Frames:
        return self.rounds[-1].frames

    @cached_property
    def _links(self) -> tuple[_Link | None, ...]:
        """Per round; None for the last, whose coordinates these are."""
        earlier = (_link(self.frames, r.frames) for r in self.rounds[:-1])
        return (*earlier, None)

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Log-density (K, C) and gradient (K, C, D)."""
        d = self.frames.centres.shape[1]
        log_n, m, L, log_diag = unpack(theta, d)
        n = row_count(log_n, d)
        value, g_n, g_m, g_L = _rounds(self.rounds, self._links, n, m, L)
        parts = (
            _histograms(self.located, self.frames, m, L, 2 * self.exponent + d + 1),
            _floor(self.frames, self.located, self.floor, L),
        )
        for v, gm, gL in parts:
            value, g_m, g_L = value + v, g_m + gm, g_L + gL
        # |Sigma|^e, and the Jacobian of Sigma -> (ln L_ii, L_ij): prod_i L_ii^(d + 2 - i).
        power = 2 * self.exponent + d + 1 - np.arange(d)
        value = value + log_n + log_diag @ power
        diag = np.arange(d)
        g_L[..., diag, diag] = g_L[..., diag, diag] * np.exp(log_diag) + power
        return value, np.concatenate(
            [(g_n * (n - fewest(d)) + 1)[..., None], g_m, g_L[(..., *_lower(d))]], axis=-1
        )


@cache
def _lower(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.tril_indices(d)


def fewest(dim: int) -> float:
    """A class has at least about d + 1 rows, or its fit (eq2) would not exist.

    Without this n could go to zero and Sigma to infinity at the same second moment.
    """
    return dim + 1.5


def row_count(log_excess: Floats, dim: int) -> Floats:
    """n from theta's first coordinate, ln(n - fewest)."""
    return np.asarray(fewest(dim) + np.exp(np.clip(log_excess, *_LOG_COUNT)))


def unpack(theta: Floats, d: int) -> tuple[Floats, Floats, Floats, Floats]:
    """ln(n - fewest), m, L and ln diag L from (..., 1 + d + d(d+1)/2)."""
    L = np.zeros((*theta.shape[:-1], d, d))
    L[(..., *_lower(d))] = np.nan_to_num(theta[..., 1 + d :], nan=1e3, posinf=1e3, neginf=-1e3)
    diag = np.arange(d)
    log_diag = np.clip(L[..., diag, diag], -_LOG_DIAGONAL, _LOG_DIAGONAL)
    L[..., diag, diag] = np.exp(log_diag)
    return theta[..., 0], theta[..., 1 : 1 + d], L, log_diag


def lower_inverse(L: Floats) -> Floats:
    """Inverse of lower-triangular matrices (..., d, d) by forward substitution; never raises."""
    d = L.shape[-1]
    out = np.zeros_like(L)
    for i in range(d):
        row = -(L[..., i, None, :i] @ out[..., :i, :])[..., 0, :]
        row[..., i] += 1
        out[..., i, :] = row / L[..., i, i, None]
    return out


def _t(M: Floats) -> Floats:
    return np.swapaxes(M, -1, -2)


# (G, g) of each class, (K, 1, d, d) and (K, 1, d): a round's coordinates are u = G x + g.
_Link = tuple[Floats, Floats]


def _link(last: Frames, frames: Frames) -> _Link:
    """From the last frames' coordinates to those of an earlier round."""
    g = np.einsum("kij,kj->ki", frames.maps, last.centres - frames.centres)
    return (frames.maps @ last.inverse)[:, None], g[:, None]


def _rounds(
    rounds: tuple[Moments, ...],
    links: tuple[_Link | None, ...],
    n: Floats,
    m: Floats,
    L: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log-likelihood of (n, n u, n (G Sigma G^T + u u^T)), u = G m + g, and its gradients."""
    value, g_n, g_m = np.zeros_like(n), np.zeros_like(n), np.zeros_like(m)
    g_sigma = np.zeros_like(L)
    sigma = L @ _t(L)
    for r, link in zip(rounds, links, strict=True):
        u, raw = m, sigma
        if link is not None:
            G, g = link
            u, raw = (G @ m[..., None])[..., 0] + g, G @ sigma @ _t(G)
        raw = raw + u[..., :, None] * u[..., None, :]
        w0, w1, w2 = (1 / s[:, None] ** 2 for s in (r.count_sd, r.total_sd, r.second_sd))
        e0 = n - r.count[:, None]
        e1 = n[..., None] * u - r.total[:, None]
        e2 = n[..., None, None] * raw - r.second[:, None]
        value -= 0.5 * (w0 * e0**2 + w1 * _inner(e1, e1) + w2 * _inner2(e2, e2))
        g_n -= w0 * e0 + w1 * _inner(e1, u) + w2 * _inner2(e2, raw)
        g_u = w1[..., None] * e1 + 2 * w2[..., None] * (e2 @ u[..., None])[..., 0]
        if link is not None:
            g_u, e2 = (_t(G) @ g_u[..., None])[..., 0], _t(G) @ e2 @ G
        g_m -= n[..., None] * g_u
        g_sigma -= (n * w2)[..., None, None] * e2
    return value, g_n, g_m, 2 * g_sigma @ L


def _inner(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _inner2(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("...ij,...ij->...", a, b))


def _histograms(
    located: Located, frames: Frames, m: Floats, L: Floats, power: float
) -> tuple[Floats, Floats, Floats]:
    """Normal factors on the column means and log widths, times prod_j sd_j^-power (the LKJ prior)
    and the bound on widths."""
    inverse = frames.inverse[:, None]
    e = (inverse @ m[..., None])[..., 0] + (frames.centres - located.means)[:, None]
    w = 1 / located.means_sd[:, None] ** 2
    B = inverse @ L
    variance = (B**2).sum(axis=-1)
    log_sd = 0.5 * np.log(variance)
    f = log_sd - located.log_sd[:, None]
    v = 1 / np.maximum(located.log_sd_sd, _WIDTH_SD)[:, None] ** 2
    wide = 1 / _WIDEST**2
    value = -(0.5 * w * e**2 + 0.5 * v * f**2 + power * log_sd + 0.5 * wide * variance).sum(axis=-1)
    g_m = -(_t(inverse) @ (w * e)[..., None])[..., 0]
    g_L = -_t(inverse) @ (B * ((v * f + power) / variance + wide)[..., None])
    return value, g_m, g_L


def _floor(
    frames: Frames, located: Located, kappa: float, L: Floats
) -> tuple[Floats, float, Floats]:
    """-kappa tr(S Sigma^-1) / 2 and its gradient kappa L^-T (L^-1 S L^-T)."""
    maps = frames.maps * np.exp(located.log_sd)[:, None, :]
    S = (kappa * maps @ _t(maps))[:, None]
    inv = lower_inverse(L)
    W = inv @ S @ _t(inv)
    return -0.5 * np.trace(W, axis1=-2, axis2=-1), 0.0, _t(inv) @ W
