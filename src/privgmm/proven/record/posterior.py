"""The log-posterior of (n, mean, covariance) of a class, given the noisy answers.

All K classes and C Monte Carlo chains at once; leading axes (K, C). In the coordinates of the last
round's frames a class is theta = (ln(n - n0), m, L): count, mean, and Sigma = L L^T, with ln of L's diagonal.
What does not change from one evaluation to the next is computed once: the sampler asks a thousand times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.objective import lower_inverse
from privgmm.proven.record.alike import SharedShape
from privgmm.proven.record.frames import Frames, Moments, column_moments
from privgmm.proven.record.locate import Located
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Flags, Floats

# Bounds on ln n and ln L_ii that no sensible value meets; they keep wild proposals finite.
LOG_COUNT = (-3.0, 25.0)
LOG_DIAGONAL = 9.0


def prior_exponent(dim: int) -> float:
    """e of the correlation prior |C|^e: the share of a column's variance the others leave free stays moderate.

    With few columns all correlation matrices are alike likely (-0.25, 0 and 0.25 tried at d = 3). With many, noise makes flat
    directions where there are none (electricity profiles, d = 12, epsilon 16: J 2.3, 1.8, 1.6, 1.4 with e = 1.2, 2.5, 4, 6); classes that are
    flat pay for it (invented ones of two factors, d = 10, epsilon 2: J 0.10, 0.10, 0.16 with e = 0.6, 2, 4).
    """
    return TUNING.prior.exponent * max(dim - TUNING.prior.exponent_from, 0)


def prior_floor(dim: int) -> float:
    """kappa: the smallest conditional variance, relative to the column's, that the prior allows for.

    A small kappa makes the release better for classes that are nearly flat in a direction that noise hides, and worse
    for classes that are not; with many columns some direction is always hidden.
    """
    return min(TUNING.prior.floor * dim, TUNING.prior.floor_most) * dim**2


@dataclass(frozen=True)
class Posterior:
    """Gaussian likelihood of every round and of the histograms, times a weak prior on Sigma.

    Prior: Sigma = D C D with ln D flat and C a correlation matrix of density |C|^e (LKJ), times
    exp(-kappa tr(S Sigma^-1) / 2), S the histograms' variances, which keeps E[Sigma^-1] finite.
    """

    rounds: tuple[Moments, ...]
    located: Located
    shared: SharedShape
    exponent: float
    floor: float

    @property
    def frames(self) -> Frames:
        """The last round's coordinates, which are theta's."""
        return self.rounds[-1].frames

    @cached_property
    def totals(self) -> TotalsLikelihood:
        """The likelihood of all rounds."""
        return totals_likelihood(self.rounds)

    @cached_property
    def columns(self) -> ColumnPrior:
        """The histograms, and the prior on what the columns' deviations are."""
        d = self.frames.centres.shape[1]
        last = self.rounds[-1]
        power = 2 * self.exponent + (d + 1) * _scale_free(last)
        return _column_prior(self.located, self.frames, power, _agreeing(self.located, last))

    @cached_property
    def scatter(self) -> Floats:
        """(K, 1, d, d) R with R R^T = S = kappa D^2 + rows * shared shape, in theta's coordinates."""
        maps = self.frames.maps * np.exp(self.located.log_sd)[:, None, :]
        S = self.floor * maps @ _t(maps)
        shapes = self.frames.maps @ self.shared.shapes @ _t(self.frames.maps)
        S = S + self.shared.rows[:, None, None] * shapes
        return np.asarray(np.linalg.cholesky((S + _t(S)) / 2), dtype=np.float64)[:, None]

    @cached_property
    def power(self) -> Floats:
        """(K, 1, d) powers of L's diagonal: |Sigma|^e, the Jacobian of Sigma -> (ln L_ii, L_ij), which is
        prod_i L_ii^(d + 2 - i), and the shared shape's |Sigma|^(-rows / 2)."""
        d = self.frames.centres.shape[1]
        power = 2 * self.exponent + d + 1 - np.arange(d)
        return np.asarray(power - self.shared.rows[:, None, None])

    @cached_property
    def _lower(self) -> NDArray[np.intp]:
        """Places of L's entries among the d (d + 1) of (m, L), row by row."""
        d = self.frames.centres.shape[1]
        i, j = np.tril_indices(d)
        return np.asarray(i * (d + 1) + 1 + j, dtype=np.intp)

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Log-density (K, C) and gradient (K, C, D)."""
        d = self.frames.centres.shape[1]
        # (m, L) side by side, (K, C, d, d + 1): a product with it does what products with both would.
        A = np.zeros((*theta.shape[:-1], d, d + 1))
        entries = A.reshape(*theta.shape[:-1], d * (d + 1))
        entries[..., self._lower] = theta[..., 1 + d :]
        A[..., 0] = theta[..., 1 : 1 + d]
        log_diag = _as_diagonal(entries[..., 1 :: d + 2])
        L = A[..., 1:]
        n = row_count(theta[..., 0], d)
        value, g_n, g_A = _of_totals(self.totals, n, A)
        columns, column_A = _of_columns(self.columns, A)
        shape, shape_L = _of_shape(self.scatter, L)
        g_A += column_A
        g_A[..., 1:] += shape_L
        value += columns + shape + theta[..., 0] + np.vecdot(log_diag, self.power)
        out = np.empty_like(theta)
        out[..., 0] = g_n * (n - fewest(d)) + 1
        out[..., 1 : 1 + d] = g_A[..., 0]
        entries = g_A.reshape(entries.shape)
        g_diag = entries[..., 1 :: d + 2]
        g_diag *= np.exp(log_diag)
        g_diag += self.power
        out[..., 1 + d :] = entries.take(self._lower, axis=-1)
        return value, out


def _as_diagonal(logs: Floats) -> Floats:
    """ln diag L within bounds; ``logs``, a view of L's diagonal, becomes the diagonal itself."""
    log_diag = np.minimum(np.maximum(logs, -LOG_DIAGONAL), LOG_DIAGONAL)
    np.exp(log_diag, out=logs)
    return np.asarray(log_diag)


def fewest(dim: int) -> float:
    """A class has at least about d + 1 rows, or its fit (eq2) would not exist.

    Without this n could go to zero and Sigma to infinity at the same second moment.
    """
    return dim + 1.5


def row_count(log_excess: Floats, dim: int) -> Floats:
    """n from theta's first coordinate, ln(n - fewest)."""
    low, high = LOG_COUNT
    return np.asarray(fewest(dim) + np.exp(np.minimum(np.maximum(log_excess, low), high)))


def unpack(theta: Floats, d: int) -> tuple[Floats, Floats, Floats, Floats]:
    """ln(n - fewest), m, L and ln diag L from (..., 1 + d + d(d+1)/2)."""
    L = np.zeros((*theta.shape[:-1], d, d))
    L[..., np.tri(d, dtype=bool)] = theta[..., 1 + d :]
    log_diag = _as_diagonal(L.reshape(*L.shape[:-2], d * d)[..., :: d + 1])
    return theta[..., 0], theta[..., 1 : 1 + d], L, log_diag


def _t(M: Floats) -> Floats:
    return np.swapaxes(M, -1, -2)


@dataclass(frozen=True, eq=False)
class TotalsLikelihood:
    """All rounds in one: -(T - best)^T precision (T - best) / 2, T = (n, n m, upper triangle of n(Sigma + m m^T)).

    A round's totals in its own coordinates u = G x + g are linear in T, and its noise is Gaussian: so the
    rounds add up to one quadratic form. precision : (K, p, p), best : (K, 1, p).
    """

    precision: Floats
    best: Floats
    upper: NDArray[np.intp]
    symmetric: NDArray[np.intp]
    twice_halves: Floats


def totals_likelihood(rounds: tuple[Moments, ...]) -> TotalsLikelihood:
    """The sum of the rounds' Gaussian log-likelihoods, in the last round's coordinates."""
    last = rounds[-1]
    d = last.total.shape[1]
    rows, cols = np.triu_indices(d)
    # The entries of T one at a time, as count, sum and second moment.
    p = 1 + d + rows.size
    count, total, second = np.zeros(p), np.zeros((p, d)), np.zeros((p, d, d))
    count[0] = 1
    total[np.arange(1, 1 + d), np.arange(d)] = 1
    second[np.arange(1 + d, p), rows, cols] = second[np.arange(1 + d, p), cols, rows] = 1
    twice = np.where(rows == cols, 1.0, 2.0)
    n_classes = last.count.size
    precision, pull = np.zeros((n_classes, p, p)), np.zeros((n_classes, p))
    # Scaled by the last round's noise, the last round's own part is the identity (or twice it).
    scale = _packed(last.count_sd, last.total_sd, last.second_sd, np.ones(rows.size), d)
    for r in rounds:
        G = r.frames.maps @ last.frames.inverse
        g = np.einsum("kij,kj->ki", r.frames.maps, last.frames.centres - r.frames.centres)
        turned = np.einsum("kij,pj->kpi", G, total)
        cross = turned[..., :, None] * g[:, None, None, :]
        raw = G[:, None] @ second @ _t(G)[:, None] + cross + _t(cross)
        raw = raw + count[:, None, None] * (g[:, :, None] * g[:, None, :])[:, None]
        sums = turned + count[:, None] * g[:, None]
        ones = np.broadcast_to(count, (len(g), p))
        linear = np.concatenate([ones[..., None], sums, raw[..., rows, cols]], axis=-1)
        linear = linear * scale[:, :, None]
        weight = _packed(r.count_sd, r.total_sd, r.second_sd, 1 / np.sqrt(twice), d) ** -2
        seen = np.concatenate([r.count[:, None], r.total, r.second[:, rows, cols]], axis=-1)
        precision += (linear * weight[:, None, :]) @ _t(linear)
        pull += np.einsum("kpi,ki->kp", linear, weight * seen)
    best = np.linalg.solve(precision, pull[..., None])[..., 0] * scale
    precision = precision / (scale[:, :, None] * scale[:, None, :])
    place = np.empty((d, d), dtype=np.intp)
    place[rows, cols] = place[cols, rows] = np.arange(rows.size)
    return TotalsLikelihood(
        precision,
        best[:, None],
        (rows * d + cols).astype(np.intp),
        1 + d + place.ravel(),
        2 / twice[place.ravel()],
    )


def _packed(count: Floats, total: Floats, second: Floats, triangle: Floats, d: int) -> Floats:
    """(K, p) from one number a class for each kind of total."""
    return np.concatenate(
        [count[:, None], np.repeat(total[:, None], d, axis=1), second[:, None] * triangle], axis=1
    )


def _of_totals(at: TotalsLikelihood, n: Floats, A: Floats) -> tuple[Floats, Floats, Floats]:
    """The log-likelihood of the rounds and its gradients in n and A = (m, L)."""
    d = A.shape[-2]
    raw = A @ A.mT
    per_row = np.empty((*n.shape, at.best.shape[-1]))
    per_row[..., 0] = 1
    per_row[..., 1 : 1 + d] = A[..., 0]
    per_row[..., 1 + d :] = raw.reshape(*n.shape, d * d).take(at.upper, axis=-1)
    T = per_row * n[..., None]
    T -= at.best
    slope = T @ at.precision
    value = -0.5 * np.vecdot(T, slope)
    g_n = -np.vecdot(slope, per_row)
    slope *= -n[..., None]
    g_raw = slope.take(at.symmetric, axis=-1)
    g_raw *= at.twice_halves
    g_A = g_raw.reshape(raw.shape) @ A
    g_A[..., 0] += slope[..., 1 : 1 + d]
    return value, g_n, g_A


def _scale_free(last: Moments) -> Floats:
    """(K,) part of the scale-free prior prod_j sd_j^-(d+1) that a class keeps: all where noise hides it, none where it is clear.

    A flat ln D means a density of Sigma that falls with its scale like c^(-d(d+1)/2). Where noise hides the class, this keeps
    Sigma from growing with the volume of its shapes. Where the class is seen it would only bias it: variances of the
    electricity profiles at epsilon 16 became 13 % too small, although all rounds showed the right ones.
    """
    n = np.maximum(last.count, fewest(last.total.shape[1]))
    d = last.total.shape[1]
    m = last.total / n[:, None]
    size = (np.trace(last.second, axis1=1, axis2=2) / n - (m * m).sum(axis=1)) / d
    error = last.second_sd / n / np.sqrt(d) / np.maximum(size, 0.05)
    return np.asarray(error**2 / (error**2 + TUNING.prior.clear**2))


@dataclass(frozen=True, eq=False)
class ColumnPrior:
    """What the histograms say of the columns' means and widths, ready for ``_of_columns``."""

    inverse: Floats
    offset: Floats
    mean_weight: Floats
    log_sd: Floats
    width_weight: Floats
    power: Floats


def _column_prior(located: Located, frames: Frames, power: Floats, agreeing: Flags) -> ColumnPrior:
    means_sd = np.hypot(located.means_sd, TUNING.prior.mean_sd * np.exp(located.log_sd))
    return ColumnPrior(
        frames.inverse[:, None],
        (frames.centres - located.means)[:, None],
        (agreeing / means_sd**2)[:, None],
        located.log_sd[:, None],
        (agreeing / np.maximum(located.log_sd_sd, TUNING.prior.width_sd) ** 2)[:, None],
        power[:, None, None],
    )


def _agreeing(located: Located, last: Moments) -> Flags:
    """(K, d) columns whose histograms the last round does not contradict: it did not surely see more variance around their means."""
    told = column_moments(last, np.maximum(last.count, fewest(last.total.shape[1])))
    away = told.means - located.means
    error = np.hypot(told.variances_sd, 2 * away * told.means_sd)
    surely = told.variances + away**2 - TUNING.prior.contradicted * error
    widest = located.log_sd + TUNING.prior.contradicted * np.maximum(
        located.log_sd_sd, TUNING.prior.width_sd
    )
    means_sd = TUNING.prior.contradicted * np.hypot(
        located.means_sd, TUNING.prior.mean_sd * np.exp(located.log_sd)
    )
    return np.asarray(surely < np.exp(2 * widest) + means_sd**2)


def _of_columns(at: ColumnPrior, A: Floats) -> tuple[Floats, Floats]:
    """Normal factors on the column means and log widths, times prod_j sd_j^-power (the LKJ prior)
    and the bound on widths; and the gradient in A = (m, L)."""
    E = at.inverse @ A
    e, B = E[..., 0], E[..., 1:]
    e += at.offset
    variance = np.vecdot(B, B)
    log_sd = 0.5 * np.log(variance)
    f = log_sd - at.log_sd
    wide = 1 / TUNING.prior.widest**2
    we, vf = at.mean_weight * e, at.width_weight * f
    value = -0.5 * (we * e + vf * f + 2 * at.power * log_sd + wide * variance).sum(axis=-1)
    B *= ((vf + at.power) / -variance - wide)[..., None]
    np.negative(we, out=e)
    return value, at.inverse.mT @ E


def _of_shape(scatter: Floats, L: Floats) -> tuple[Floats, Floats]:
    """-tr(S Sigma^-1) / 2 and its gradient L^-T (L^-1 S L^-T), with S = R R^T."""
    inverse = lower_inverse(L)
    Y = inverse @ scatter
    return -0.5 * np.vecdot(Y, Y).sum(axis=-1), inverse.mT @ (Y @ Y.mT)
