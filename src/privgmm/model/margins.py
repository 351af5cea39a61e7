"""The shape of every column of every class, and rows that have it: a Gaussian copula per class.

A row of class k is z ~ N(0, R_k), then x_j = q_kj(z_j): the quantile of column j at the normal score z_j. Columns
keep their shape whatever it is, and the mixture's correlations hold because R_k is chosen for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privgmm.errors import InputError
from privgmm.model.sampling import draw_rows
from privgmm.types import Codes, Floats

# Quantiles are told at these normal scores, and are straight in between: a row beyond four deviations (6 in 10^5)
# takes the last one. A step of 0.05 moves at most 2 % of a class.
SCORES = np.linspace(-4.0, 4.0, 161)
_WEIGHTS = np.exp(-(SCORES**2) / 2) / np.exp(-(SCORES**2) / 2).sum()
# Hermite terms of a quantile function; spikes need more than bells.
_TERMS = 24
_HALVINGS = 40
# Latent correlations stay this far from one, and the eigenvalues of their matrix above it.
_LEAST = 1e-4


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of K classes and d columns.

    quantiles : (K, d, 161) values at SCORES, never falling
    correlations : (K, d, d) of the normal scores z, positive definite
    """

    quantiles: Floats
    correlations: Floats

    def __post_init__(self) -> None:
        k, d = self.quantiles.shape[:2] if self.quantiles.ndim == 3 else (0, 0)
        if self.quantiles.shape != (k, d, SCORES.size) or self.correlations.shape != (k, d, d):
            raise InputError("Margins need 161 quantiles per class and column.")
        if not np.isfinite(self.quantiles).all() or (np.diff(self.quantiles) < 0).any():
            raise InputError("Quantiles must be finite numbers that never fall.")
        if not np.isfinite(self.correlations).all():
            raise InputError("The correlations of the margins must be finite numbers.")
        _ = self.cholesky

    @cached_property
    def cholesky(self) -> Floats:
        """(K, d, d) lower factors of the latent correlations."""
        try:
            return np.asarray(np.linalg.cholesky(self.correlations), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise InputError("The correlations of the margins are not positive definite.") from None

    def moved(self, scale: Floats, centre: Floats) -> Margins:
        """The margins of columns x * scale + centre, both (d,), scale positive."""
        at = self.quantiles * scale[:, None] + centre[:, None]
        return Margins(np.maximum.accumulate(at, axis=-1), self.correlations)

    def draw(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """(n, d) rows of these classes."""
        k, d = self.quantiles.shape[:2]
        return self.values(draw_rows(np.zeros((k, d)), self.cholesky, codes, rng), codes)

    def values(self, z: Floats, codes: Codes) -> Floats:
        """Rows (n, d) of normal scores as rows of values."""
        X = np.empty_like(z)
        for k in np.unique(codes):
            rows = np.flatnonzero(codes == k)
            for j in range(z.shape[1]):
                X[rows, j] = np.interp(z[rows, j], SCORES, self.quantiles[k, j])
        return X


def quantiles(edges: Floats, masses: Floats) -> Floats:
    """(161,) quantiles at SCORES of a histogram: masses (G,) of cells with edges (G + 1,).

    The distribution function is a monotone cubic through the edges, so that the density has no steps.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.special import ndtr

    fine = np.interp(np.arange(8 * masses.size + 1) / 8, np.arange(edges.size), edges)
    below = np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum()
    told = np.clip(PchipInterpolator(edges, below)(fine), 0.0, 1.0)
    found = np.interp(ndtr(SCORES), np.maximum.accumulate(told), fine)
    return np.asarray(np.maximum.accumulate(np.clip(found, edges[0], edges[-1])), dtype=np.float64)


def switch(share: float) -> Floats:
    """(161,) quantiles of a 0/1 column that is above one half for this share of the rows, exactly.

    They pass one half at the threshold itself, between the scores beside it.
    """
    from scipy.special import ndtri

    threshold = np.clip(-ndtri(min(max(share, 0.0), 1.0)), -9.0, 9.0)
    step = SCORES[1] - SCORES[0]
    return np.asarray(np.clip(0.5 + (SCORES - threshold) / (2 * step), 0.0, 1.0))


def choice(shares: Floats) -> Floats:
    """(161,) quantiles of 0, 1, ... with these shares, to be rounded."""
    above = 1 - np.cumsum(shares)[:-1] / shares.sum()
    return np.asarray(sum((switch(float(part)) for part in above), np.zeros(SCORES.size)))


def latent_correlations(quantile: Floats, wanted: Floats) -> Floats:
    """(d, d) correlations of normal scores that give columns with quantiles (d, 161) the ``wanted`` ones (d, d).

    With Hermite coefficients a_jm of q_j, columns of scores with correlation r have the covariance
    sum_m a_im a_jm r^m (Mehler), which rises with r: halved until it fits. A correlation that two shapes
    cannot have becomes the nearest that they can.
    """
    a = _hermite(quantile)
    spread = np.sqrt((a * a).sum(axis=1))
    a = a / np.where(spread > 0, spread, 1.0)[:, None]
    products = np.einsum("im,jm->mij", a, a)
    low, high = np.full(wanted.shape, _LEAST - 1), np.full(wanted.shape, 1 - _LEAST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        given = np.zeros_like(middle)
        for product in products[::-1]:
            given = (given + product) * middle
        low, high = np.where(given < wanted, middle, low), np.where(given < wanted, high, middle)
    latent: Floats = (low + high) / 2
    flat = spread <= 0
    latent[flat] = latent[:, flat] = 0.0
    latent = (latent + latent.T) / 2
    np.fill_diagonal(latent, 1.0)
    values, vectors = np.linalg.eigh(latent)
    if values[0] >= _LEAST:
        return np.asarray(latent)
    nearest = (vectors * np.maximum(values, _LEAST)) @ vectors.T
    size = np.sqrt(np.diagonal(nearest))
    return np.asarray(nearest / (size[:, None] * size))


def _hermite(quantile: Floats) -> Floats:
    """(d, M) coefficients of the normalised Hermite polynomials 1 to M of quantile functions (d, 161)."""
    before, now = np.ones_like(SCORES), SCORES.copy()
    found = []
    for m in range(1, _TERMS + 1):
        found.append(quantile @ (_WEIGHTS * now) / math.sqrt(math.factorial(m)))
        before, now = now, SCORES * now - m * before
    return np.stack(found, axis=1)
