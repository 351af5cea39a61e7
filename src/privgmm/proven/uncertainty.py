"""The result of a mechanism, and how far it may be from the values of (eq2): intervals and standard errors from posterior draws.

Both units use it: a mechanism gives draws of what (eq2) would give on this table, given the noisy answers. The draws must
vary by everything that privacy noise and clipping hide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from privgmm.model.margins import Margins
from privgmm.model.uncertainty import Errors, Interval, Intervals, split
from privgmm.proven.mixtures import Components
from privgmm.types import Flags, Floats

# Quantiles at the ends of the 95 % interval.
LEVELS = (0.025, 0.975)
# A column of a class is usable if the standard error of its mean is at most this many standard deviations of the class,
_MEAN_OFF = 0.5
# and the interval of its deviation spans at most this factor. No column of a class is usable that has too few rows for a
# covariance (d + 1) in more than this share of the draws.
_DEVIATION_FACTOR = 4.0
_TOO_FEW = 0.025
# Many draws may be exactly right, but sums of rows are rounded. Intervals reach so much farther, in parts of half of what a row changes.
_ROUNDED = 0.004
# Factors for shares, means, deviations and correlations that leave draws as they are.
NOT_WIDER = (1.0, 1.0, 1.0, 1.0)


class Estimate(NamedTuple):
    """The result of a mechanism: weights (K,), means (K, d), covariances (K, d, d), their errors, and the shapes of columns.

    There are no errors for components of unlabelled rows, because (eq2) has no value for them on the table.
    ``components`` are the Gaussians inside the classes, where more than one per class was asked for.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    errors: Errors | None
    components: Components | None = None
    margins: Margins | None = None


class Drawn(NamedTuple):
    """Equally likely draws of (eq2)'s values: counts and shares (S, K), means and deviations (S, K, d), correlations
    (S, K, d, d)."""

    counts: Floats
    shares: Floats
    means: Floats
    deviations: Floats
    correlations: Floats


def uncertainty(
    counts: Floats,
    means: Floats,
    covariances: Floats,
    released: tuple[Floats, Floats, Floats],
    widen: tuple[float, ...] = NOT_WIDER,
    unsure: float = 1.0,
) -> Errors:
    """Intervals and errors of a release, from equally likely draws of (eq2)'s values.

    No interval is shorter, on either side of the median, than half of what a row changes: draws that agree to the last digit were right to
    the row in 96 of 100 shares of bells (360 tables; a whole row held them in 99).

    Parameters
    ----------
    counts : (S, K) draws of the number of rows of each class (or of anything proportional to it)
    means : (S, K, d) draws
    covariances : (S, K, d, d) draws
    released : weights (K,), means (K, d) and covariances (K, d, d) that are published
    widen : factors by which draws of each kind are spread about their median, where they are known to vary too little
    unsure : the same for columns that are not usable, and for their classes' shares
    """
    # In a draw all counts may be zero.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    drawn = Drawn(counts, shares, means, *split(covariances))
    published = (*released[:2], *split(released[2]))
    drawn, row = _spread_out(drawn, widen), _half_a_row(drawn)
    found = _errors(drawn, published, least=row)
    if unsure == 1 or found.usable_columns.all():
        return found
    lost = np.where(found.usable_columns, 1.0, unsure)
    pairs = np.maximum(lost[:, :, None], lost[:, None, :])
    told = _errors(_spread_out(drawn, (lost.max(axis=1), lost, lost, pairs)), published, least=row)
    return replace(told, usable_columns=found.usable_columns)


def _spread_out(drawn: Drawn, widen: Sequence[float | Floats]) -> Drawn:
    """The draws spread about their median, each kind by its own factors."""
    spread = []
    for kind, factor in zip(drawn[1:], widen, strict=True):
        middle = np.median(kind, axis=0)
        spread.append(middle + factor * (kind - middle))
    return _possible(Drawn(drawn.counts, *spread))


def _half_a_row(drawn: Drawn) -> Drawn:
    """Half of what one row more in a class changes: the counts, shares, means, deviations and correlations."""
    counts, shares, _, deviation, _ = (np.median(kind, axis=0) for kind in drawn)
    row = 0.5 / np.maximum(counts, 2.0)
    varies = (deviation > 0)[:, :, None] & (deviation > 0)[:, None, :]
    varies &= ~np.eye(deviation.shape[1], dtype=bool)
    size = deviation * row[:, None]
    return Drawn(np.full(row.shape, 0.5), shares * row, size, size, row[:, None, None] * varies)


def _possible(drawn: Drawn) -> Drawn:
    """The same where values are possible, else the nearest possible ones."""
    eye = np.eye(drawn.means.shape[-1], dtype=bool)
    return Drawn(
        drawn.counts,
        np.clip(drawn.shares, 0.0, 1.0),
        drawn.means,
        np.maximum(drawn.deviations, 0.0),
        np.where(eye, 1.0, np.clip(drawn.correlations, -1.0, 1.0)),
    )


def errors_of(
    drawn: Drawn, released: tuple[Floats, Floats, Floats], seen: Flags | None = None
) -> Errors:
    """Intervals and errors from draws of each kind; columns that were not ``seen`` (K, d) are never usable."""
    return _errors(drawn, (*released[:2], *split(released[2])), seen)


def usable_columns(
    counts: Floats, means: Floats, deviations: Floats, released: tuple[Floats, Floats, Floats]
) -> Flags:
    """(K, d) columns of a release that draws of counts (S, K), means and deviations (S, K, d) show to be usable."""
    off = np.sqrt(((means - released[1]) ** 2).mean(axis=0))
    return _usable(
        counts, off, Interval(*np.quantile(deviations, LEVELS, axis=0)), split(released[2])[0]
    )


def _errors(
    drawn: Drawn,
    published: tuple[Floats, Floats, Floats, Floats],
    seen: Flags | None = None,
    least: Drawn | None = None,
) -> Errors:
    """The same about published weights, means, deviations and correlations; no interval is shorter than ``least`` on either side of
    the median."""
    # Errors are taken about the published values and not about the mean of the draws, because choosing a release adds to its error.
    errors = [
        np.sqrt(((d - p) ** 2).mean(axis=0)) for d, p in zip(drawn[1:], published, strict=True)
    ]
    low, high = map(Drawn._make, zip(*(np.quantile(d, LEVELS, axis=0) for d in drawn), strict=True))
    if least is not None:
        middle = Drawn(*(np.median(d, axis=0) for d in drawn))
        errors = [np.maximum(e, step) for e, step in zip(errors, least[1:], strict=True)]
        ends = list(zip(low, middle, high, least, strict=True))
        low = _possible(Drawn(*(np.minimum(a - _ROUNDED * r, m - r) for a, m, _, r in ends)))
        high = _possible(Drawn(*(np.maximum(b + _ROUNDED * r, m + r) for _, m, b, r in ends)))
    intervals = Intervals(*(Interval(a, b) for a, b in zip(low[1:], high[1:], strict=True)))
    columns = _usable(drawn.counts, errors[1], intervals.deviations, published[2])
    if seen is not None:
        columns &= seen
    weights, middle, wide, tied = errors
    return Errors(weights, middle, wide, tied, intervals, columns)


def _usable(counts: Floats, mean_error: Floats, deviations: Interval, deviation: Floats) -> Flags:
    enough = (counts < deviation.shape[1] + 1).mean(axis=0) <= _TOO_FEW
    placed = mean_error <= _MEAN_OFF * deviation
    shaped = deviations.high <= _DEVIATION_FACTOR * deviations.low
    return np.asarray(enough[:, None] & placed & shaped)


def possible(
    means: Floats, covariances: Floats, off: Floats, low: Floats, high: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Means (K, d) and covariances (K, d, d), moved to the nearest that rows inside the stated bounds could have.

    off : (K, d) standard errors of the means
    low, high, step : (d,) where columns end, and how far apart their values are (NaN: any)

    Values in [a, b] with mean m have the variance (m - a)(b - m) at most, which a yes/no column reaches. Values that are whole
    steps s apart have s^2 f (1 - f) at least, f the part of a step by which m lies beyond the value below. Noise knows neither: a
    released share of 41 % came with a deviation of 0.78. The mean is known up to its own error, so both limits are those
    of the most favourable mean within one standard error. Correlations stay as they are.
    """
    means = np.clip(means, low, high)
    nearest, farthest = np.maximum(means - off, low), np.minimum(means + off, high)
    widest = np.clip((low + high) / 2, nearest, farthest)
    most = (widest - low) * (high - widest)
    apart = np.where(np.isnan(step), 1.0, step)
    below, above = (nearest - low) / apart, (farthest - low) / apart
    ends = [(part := at - np.floor(at)) * (1 - part) for at in (below, above)]
    # With a whole value within reach all rows may be there.
    hidden = np.isnan(step) | (np.floor(below) != np.floor(above))
    least = np.where(hidden, 0.0, apart**2 * np.minimum(*ends))
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    # A mean known to lie at an end would leave no variance at all, which no release can have.
    wanted = np.where(most > 0, np.clip(variances, least, most), variances)
    times = np.sqrt(wanted / variances)
    return means, covariances * times[:, :, None] * times[:, None, :]
