"""How far a release may be from (eq2)'s values: quantile intervals and errors from posterior draws.

Both units use it: a mechanism hands over draws of what (eq2) would give on this table, given the noisy answers.
What privacy noise and clipping hide must be in the draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privgmm.model.margins import Margins
from privgmm.model.uncertainty import Errors, Interval, Intervals, split
from privgmm.proven.mixtures import Components
from privgmm.types import Flags, Floats

# The 95 % interval that design section 10 asks for.
LEVELS = (0.025, 0.975)
# A column of a class can be used if its mean is off by at most this many of the class's own deviations (one s.e.) ...
_MEAN_OFF = 0.5
# ... and the interval of its deviation spans at most this factor. Of a class with too few rows for a covariance
# (d + 1) in more than this share of the draws no column can be used.
_DEVIATION_FACTOR = 4.0
_TOO_FEW = 0.025


class Estimate(NamedTuple):
    """What a mechanism hands back: weights (K,), means (K, d), covariances (K, d, d), how far off, which shapes.

    No errors are told where there is nothing on the table to compare with: components of unlabelled rows.
    ``components`` are those of the classes, where more than one each was asked for.
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
    widen: tuple[float, ...] | None = None,
) -> Errors:
    """Intervals and errors of a release, from equally likely draws of (eq2)'s values.

    Parameters
    ----------
    counts : (S, K) draws of the number of rows of each class (or of anything proportional to it)
    means : (S, K, d) draws
    covariances : (S, K, d, d) draws
    released : weights (K,), means (K, d) and covariances (K, d, d) that are published
    widen : factors by which draws of each kind are spread out about their median, where they are known to lie too close
    """
    # A draw may give every row to none of the classes.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    drawn = Drawn(counts, shares, means, *split(covariances))
    return errors_of(drawn if widen is None else _spread_out(drawn, widen), released)


def _spread_out(drawn: Drawn, widen: tuple[float, ...]) -> Drawn:
    """Each kind farther from its median, by a factor of its own and by what one row more or less of a class may move.

    Draws are finitely many and may agree to the last digit; a single row they may always be wrong about.
    """
    half = np.where(np.arange(len(drawn.counts)) % 2, 1.0, -1.0)
    row = 1 / np.maximum(np.median(drawn.counts, axis=0), 2.0)
    deviation = np.median(drawn.deviations, axis=0)
    size = np.median(drawn.shares, axis=0) * row, deviation * row[:, None], deviation * row[:, None]
    varies = (deviation > 0)[:, :, None] & (deviation > 0)[:, None, :]
    least = (*size, row[:, None, None] * varies)
    spread = []
    for kind, step, factor in zip(drawn[1:], least, widen, strict=True):
        middle = np.median(kind, axis=0)
        sign = half.reshape(-1, *(1 for _ in middle.shape))
        spread.append(middle + factor * (kind - middle) + sign * step)
    eye = np.eye(deviation.shape[1], dtype=bool)
    return Drawn(
        drawn.counts,
        np.clip(spread[0], 0.0, 1.0),
        spread[1],
        np.maximum(spread[2], 0.0),
        np.where(eye, 1.0, np.clip(spread[3], -1.0, 1.0)),
    )


def errors_of(
    drawn: Drawn, released: tuple[Floats, Floats, Floats], seen: Flags | None = None
) -> Errors:
    """The same for draws of each kind; columns that were not ``seen`` (K, d) are not usable in any case."""
    deviation, correlation = split(released[2])
    published = (released[0], released[1], deviation, correlation)
    # About what is published, not about the draws' own mean: the choice of a release is part of its error.
    weights, middle, wide, tied = (
        np.sqrt(((d - p) ** 2).mean(axis=0)) for d, p in zip(drawn[1:], published, strict=True)
    )
    intervals = Intervals(*(Interval(*np.quantile(d, LEVELS, axis=0)) for d in drawn[1:]))
    columns = _usable(drawn.counts, middle, intervals.deviations, deviation)
    if seen is not None:
        columns &= seen
    return Errors(weights, middle, wide, tied, intervals, columns)


def _usable(counts: Floats, mean_error: Floats, deviations: Interval, deviation: Floats) -> Flags:
    enough = (counts < deviation.shape[1] + 1).mean(axis=0) <= _TOO_FEW
    placed = mean_error <= _MEAN_OFF * deviation
    shaped = deviations.high <= _DEVIATION_FACTOR * deviations.low
    return np.asarray(enough[:, None] & placed & shaped)
