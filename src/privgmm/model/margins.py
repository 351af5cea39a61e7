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
from privgmm.model.columns import Encoding
from privgmm.model.sampling import draw_rows
from privgmm.types import Codes, Floats

# Quantiles are stored at these normal scores and interpolated linearly between them; a row beyond four deviations (6 in
# 10^5) takes the last one. Between two scores 0.05 apart lie at most 2 % of a class.
SCORES = np.linspace(-4.0, 4.0, 161)
_WEIGHTS = np.exp(-(SCORES**2) / 2) / np.exp(-(SCORES**2) / 2).sum()
# Hermite terms of a quantile function; spikes need more than bells.
_TERMS = 24
_HALVINGS = 40
# Correlations of the scores stay this far from one, and the eigenvalues of their matrix above it.
_LEAST = 1e-4
# At most this part of a column's cells is taken to be missing, and every switch is open for at least this part of the rows.
MOST_MISSING, _SELDOM = 0.98, 0.02
# Scores drawn to place the thresholds of switches (a share is then off by 0.3 %); from fewer than the second number none is estimated.
_SCORES_DRAWN, _LEAST_LEFT = 1 << 15, 200


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of K classes and d columns.

    quantiles : (K, d, 161) values at SCORES, non-decreasing
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
        """(K, d, d) lower Cholesky factors of the correlations."""
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
        """The values (n, d) of rows of normal scores z (n, d)."""
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
    from scipy.special import ndtr

    fine = np.interp(np.arange(8 * masses.size + 1) / 8, np.arange(edges.size), edges)
    below = np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum()
    told = np.clip(_monotone_cubic(edges, below, fine), 0.0, 1.0)
    found = np.interp(ndtr(SCORES), np.maximum.accumulate(told), fine)
    return np.asarray(np.maximum.accumulate(np.clip(found, edges[0], edges[-1])), dtype=np.float64)


def _monotone_cubic(x: Floats, y: Floats, at: Floats) -> Floats:
    """``scipy.interpolate.PchipInterpolator(x, y)(at)`` for at least three x and ``at`` between the first and the last.

    Written out (Fritsch and Butland 1984; ends as in Moler, Numerical Computing with MATLAB, 3.6), because to import scipy.interpolate
    takes as long as to make a small release. tests/model/test_margins.py compares the two.
    """
    h = np.diff(x)
    m = np.diff(y) / h
    far, near = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = 1 / ((far / m[:-1] + near / m[1:]) / (far + near))
    turns = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0)
    inner = np.where(turns, 0.0, mean)
    slope = np.concatenate([[_end(h, m)], inner, [_end(h[::-1], m[::-1])]])
    bent = (slope[:-1] + slope[1:] - 2 * m) / h
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, h.size - 1)
    s = at - x[i]
    told = y[i] + slope[i] * s + ((m - slope[:-1]) / h - bent)[i] * (s * s)
    return np.asarray(told + (bent / h)[i] * (s * s * s))


def _end(h: Floats, m: Floats) -> float:
    """The slope at the first point, of three points, that does not overshoot."""
    d = float(((2 * h[0] + h[1]) * m[0] - h[0] * m[1]) / (h[0] + h[1]))
    if np.sign(d) != np.sign(m[0]):
        return 0.0
    if np.sign(m[0]) != np.sign(m[1]) and abs(d) > 3 * abs(m[0]):
        return 3 * float(m[0])
    return d


def shares_between(quantile: Floats, edges: Floats) -> Floats:
    """The share of a column with these quantiles (161,) between each pair of edges; values beyond the edges count nowhere."""
    from scipy.special import ndtr

    # Where several scores have the same value, the last of them counts.
    last = np.append(np.diff(quantile) > 0, True)
    below = np.interp(edges, quantile[last], SCORES[last], left=-np.inf, right=np.inf)
    return np.asarray(np.diff(ndtr(below)))


def switch(share: float) -> Floats:
    """(161,) quantiles of a 0/1 column that is above one half for exactly this share of the rows.

    They cross one half at the threshold itself, which may lie between two of the scores.
    """
    from scipy.special import ndtri

    return switch_at(float(np.clip(-ndtri(min(max(share, 0.0), 1.0)), -9.0, 9.0)))


def switch_at(threshold: float) -> Floats:
    """(161,) quantiles of a 0/1 column that crosses one half at this score."""
    step = SCORES[1] - SCORES[0]
    return np.asarray(np.clip(0.5 + (SCORES - threshold) / (2 * step), 0.0, 1.0))


def choice(shares: Floats) -> Floats:
    """(161,) quantiles of a column whose rounded values are 0, 1, ... with these shares."""
    above = 1 - np.cumsum(shares)[:-1] / shares.sum()
    return np.asarray(sum((switch(float(part)) for part in above), np.zeros(SCORES.size)))


def latent_correlations(quantile: Floats, wanted: Floats) -> Floats:
    """(d, d) correlations of normal scores that give columns with quantiles (d, 161) the ``wanted`` ones (d, d).

    With Hermite coefficients a_jm of q_j, columns of scores with correlation r have the covariance
    sum_m a_im a_jm r^m (Mehler), which rises with r, so bisection finds r. A correlation that two shapes
    cannot have becomes the nearest one that they can have.
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
    # The mean is subtracted first: for a column far from zero the coefficients would be nothing but rounding.
    quantile = quantile - (quantile @ _WEIGHTS)[:, None]
    before, now = np.ones_like(SCORES), SCORES.copy()
    found = []
    for m in range(1, _TERMS + 1):
        found.append(quantile @ (_WEIGHTS * now) / math.sqrt(math.factorial(m)))
        before, now = now, SCORES * now - m * before
    return np.stack(found, axis=1)


class ClassScores:
    """One class of mixed columns: what its encoded mean (D,) and covariance (D, D) say of numbers, of switches and of their correlations.

    A switch is a 0/1 column of the encoding: that a number is missing, or that a category has a level. A column is open in
    the rows in which it decides something: a number where it is not missing, a level where no earlier level is on.

    With M = 1 where number x is missing and f its fill, x' = x_encoded - (f - m) M is m where missing; of a category with
    shares p, v_l = 1[l] + s_l (1[1] + ... + 1[l-1]), s_l = p_l / (1 - p_1 - ... - p_(l-1)), is s_l where an earlier level is on.
    Both are linear in the encoded row and vary only where they are open, so that cov(x', y') = P(both open) cov(x, y | both open).
    Switches of one category are uncorrelated.
    """

    def __init__(self, encoding: Encoding, mean: Floats, covariance: Floats) -> None:
        d = encoding.dim
        turn, self.present, self.means = np.eye(d), np.ones(d), mean.copy()
        self.on = np.full(d, np.nan)
        alone = np.eye(d, dtype=bool)
        joint = np.ones((d, d))
        gone: dict[int, float] = {}
        for j, (column, place) in enumerate(zip(encoding.columns, encoding.places, strict=True)):
            a = place.start
            if column.type == "category":
                p = np.clip(mean[place], 0.0, 1.0)
                p = p / max(p.sum(), 1.0)
                left = np.maximum(1 - np.concatenate([[0.0], np.cumsum(p)[:-1]]), _SELDOM)
                self.on[place] = np.clip(p / left, 0.0, 1.0)
                self.present[place] = left
                for i in range(p.size):
                    turn[a + i, a : a + i] = self.on[a + i]
                alone[place, place] = True
            elif column.missing:
                gone[a] = float(np.clip(mean[a + 1], 0.0, MOST_MISSING))
                self.on[a + 1], self.present[a] = gone[a], 1 - gone[a]
                middle = (mean[a] - gone[a] * encoding.fills[j]) / (1 - gone[a])
                ends = (-np.inf, np.inf) if column.lo is None else (column.lo, column.hi)
                self.means[a] = np.clip(middle, *ends)
                turn[a, a + 1] = self.means[a] - encoding.fills[j]
                alone[a, a + 1] = alone[a + 1, a] = True
        joint = self.present[:, None] * self.present
        for a in gone:
            for b in gone:
                both = covariance[a + 1, b + 1] + gone[a] * gone[b]
                joint[a, b] = max(1 - gone[a] - gone[b] + both, joint[a, b] / 2)
        turned = turn @ covariance @ turn.T
        number = np.isnan(self.on)
        spread = np.diagonal(turned) / self.present
        self.deviations = np.sqrt(
            np.maximum(np.where(number, spread, self.on * (1 - self.on)), 1e-12)
        )
        apart = turned / (joint * self.deviations[:, None] * self.deviations)
        self.correlations = np.where(alone, np.eye(d), np.clip(apart, -1.0, 1.0))

    def switches(self) -> Floats:
        """(D, 161) quantiles of the 0/1 columns; those of the numbers are filled in later."""
        return np.stack([switch(0.0 if np.isnan(share) else share) for share in self.on])


def mixed_margins(
    encoding: Encoding, told: Floats, scores: list[ClassScores], choices: list[Floats]
) -> Margins:
    """Margins of all classes: quantiles (K, D, 161) of the encoded columns, then of the choices among rare levels.

    ``choices`` are shares (K, L) of the levels that have no column of their own, for each such category.
    """
    latent = [latent_correlations(q, s.correlations) for q, s in zip(told, scores, strict=True)]
    told = np.stack([_opened(encoding, *one) for one in zip(told, scores, latent, strict=True)])
    ties = np.stack(latent)
    for shares in choices:
        more = np.stack([choice(row) for row in shares])
        told = np.concatenate([told, more[:, None]], axis=1)
        ties = np.pad(ties, ((0, 0), (0, 1), (0, 1)))
        ties[:, -1, -1] = 1.0
    return Margins(told, ties)


def _opened(encoding: Encoding, told: Floats, scores: ClassScores, latent: Floats) -> Floats:
    """Quantiles (D, 161) whose switches are on for their shares of the rows in which they are open.

    The nearest possible correlations tie the switches of one category to each other, so the rows in which no earlier switch
    is on are not a random sample of scores. The thresholds are therefore found from drawn scores, with a fixed public seed.
    """
    normal = np.random.default_rng(0).standard_normal((_SCORES_DRAWN, len(told)))
    z = normal @ np.linalg.cholesky(latent).T
    told = told.copy()
    for column, place in zip(encoding.columns, encoding.places, strict=True):
        left = np.arange(len(z))
        for a in range(place.start, place.stop) if column.type == "category" else ():
            share = float(scores.on[a])
            if left.size < _LEAST_LEFT or not 0.0 < share < 1.0:
                break
            threshold = float(np.quantile(z[left, a], 1 - share))
            told[a] = switch_at(threshold)
            left = left[z[left, a] <= threshold]
    return told
