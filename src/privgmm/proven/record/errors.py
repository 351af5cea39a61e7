"""Standard errors and intervals of a record-level release: from the noise of the last answer, and from histograms where that does not suffice.

Intervals of the posterior that chooses the release hold only on average over its prior, and the posterior assumes Gaussian
classes. So intervals are made without a prior:
1. shares from the noisy counts of all rounds;
2. means and covariances from the last round alone: its answer, less a draw of its noise. What its clip took was put
   back (clipping.py) as a function of what was left, so noise of the answer grows by that function's slope;
3. for a class that its histograms show to be not Gaussian (locate.odd_columns), or that has too few rows to show it, every draw
   adds what by its shells may lie beyond the clip, along a column whose stated bounds reach that far;
4. a column is not usable if its histogram contradicts these draws, is too coarse for them, or has far too few rows for its
   noise; half of its draws are then those of the histogram, which assume no shape;
5. no mean or deviation lies outside what the stated bounds allow;
6. of a single class, columns that the plain sums (plain.py) tell more closely than that, or that they have moved, have draws of these.
Coordinates are those of the stated region. Post-processing: a fixed public seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, poch

from privgmm.model.uncertainty import Errors, split
from privgmm.proven.record.frames import Moments, bell_kept
from privgmm.proven.record.locate import Bins, bin_moments, odd_columns, outside
from privgmm.proven.record.posterior import fewest
from privgmm.proven.record.rounds import Answers
from privgmm.proven.record.tails import beyond
from privgmm.proven.record.tuning import TUNING
from privgmm.proven.uncertainty import LEVELS, Drawn, errors_of, usable_columns
from privgmm.types import Flags, Floats

_SEED = 20261117
_DRAWS = 800


@dataclass(frozen=True, eq=False)
class _Columns:
    """Draws of means and deviations, (S, K, d)."""

    means: Floats
    deviations: Floats


def record_errors(
    answers: Answers,
    n_rows: float | None,
    released: tuple[Floats, Floats, Floats],
    moved: bool = False,
) -> Errors:
    """Errors of a release made of these answers; ``n_rows`` is the number of rows where it is public.

    ``moved`` says that the release went towards the plain sums, because they contradict the other rounds.
    """
    rng = np.random.default_rng(_SEED)
    counts = _counts(answers, n_rows, rng)
    bins = answers.located.bins
    n = counts.mean(axis=0)
    odd = odd_columns(bins, n).any(axis=1) | (n < TUNING.intervals.shown * bins.sd)
    odd &= bool(answers.shells)
    means, covariances = _last_round(answers, counts, rng, ~odd)
    for k in np.flatnonzero(odd):
        means[:, k], covariances[:, k] = _odd_class(answers, int(k), counts[:, k], rng)
    deviations, correlations = split(covariances)
    seen = _Columns(means, deviations)
    shares = counts / (counts.sum(axis=1, keepdims=True) if n_rows is None else n_rows)
    usable = usable_columns(counts, means, deviations, released) & _shown(answers, counts, seen)
    whole = _histograms(answers, counts, rng)
    half = (np.arange(_DRAWS) % 2 == 1)[:, None, None]
    anything = np.where(half, 1.0, -1.0)[..., None]
    known = (usable[:, :, None] & usable[:, None, :]) | np.eye(usable.shape[1], dtype=bool)
    inside = _in_bounds(
        bins,
        np.maximum(counts, 2.0),
        np.where(usable | half, means, whole.means),
        np.where(usable | half, deviations, whole.deviations),
    )
    told = Drawn(
        counts, shares, inside.means, inside.deviations, np.where(known, correlations, anything)
    )
    if answers.plain:
        told, usable = _closer(answers.plain[0], bins, told, usable, released, moved, rng)
    return errors_of(told, released, usable)


def _closer(
    plain: Moments,
    bins: Bins,
    told: Drawn,
    usable: Flags,
    released: tuple[Floats, Floats, Floats],
    moved: bool,
    rng: np.random.Generator,
) -> tuple[Drawn, Flags]:
    """The same with draws of a single class's sums in the stated region, which assume nothing, for some columns (1, d).

    They are those that are not usable otherwise and that the sums tell more closely; and those that they tell well, if the release ``moved``.
    """
    n = np.maximum(told.counts, fewest(plain.total.shape[1]))
    means, covariances = _less_noise(plain, plain.total_sd, plain.second_sd, n, rng)
    deviations, correlations = split(covariances * (n / (n - 1))[..., None, None])
    inside = _in_bounds(bins, n, means, deviations)
    means, deviations = inside.means, inside.deviations
    seen = usable_columns(told.counts, means, deviations, released)
    width = [np.ptp(np.quantile(x, LEVELS, axis=0), axis=0) for x in (deviations, told.deviations)]
    chosen = ((width[0] < width[1]) & ~usable) | (moved & seen)
    usable = np.where(chosen, seen, usable)
    both = usable[:, :, None] & usable[:, None, :] & (chosen[:, :, None] | chosen[:, None, :])
    both &= ~np.eye(usable.shape[1], dtype=bool)
    return told._replace(
        means=np.where(chosen, means, told.means),
        deviations=np.where(chosen, deviations, told.deviations),
        correlations=np.where(both, correlations, told.correlations),
    ), usable


def _counts(answers: Answers, n_rows: float | None, rng: np.random.Generator) -> Floats:
    """(S, K) draws of the numbers of rows, from the counts of all rounds."""
    precision = np.stack([1 / r.count_sd**2 for r in answers.rounds])
    counts = (precision * [r.count for r in answers.rounds]).sum(axis=0) / precision.sum(axis=0)
    z = rng.standard_normal((_DRAWS, counts.size))
    if n_rows is not None and counts.size > 1:
        # Projected onto the public total, counts err in opposite directions.
        z = (z - z.mean(axis=1, keepdims=True)) / np.sqrt(1 - 1 / counts.size)
    return np.asarray(counts + z / np.sqrt(precision.sum(axis=0)))


def _last_round(
    answers: Answers, counts: Floats, rng: np.random.Generator, chosen: Flags
) -> tuple[Floats, Floats]:
    """Draws of means (S, K, d) and covariances (S, K, d, d): the last answer, less a draw of its noise.

    No covariance has negative eigenvalues in ``chosen`` classes (K,); of others they are not needed.
    """
    last, clipped = answers.rounds[-1], answers.clipped
    d = last.total.shape[1]
    n = np.maximum(counts, fewest(d))
    total_sd, second_sd = _noise(last, clipped, n.mean(axis=0))
    m, covariance = _less_noise(last, total_sd, second_sd, n, rng)
    covariance[:, chosen] = _nearest_possible(covariance[:, chosen])
    return answers.frames.out_of(m, covariance * (n / (n - 1))[..., None, None])


def _less_noise(
    asked: Moments, total_sd: Floats, second_sd: Floats, n: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Means (S, K, d) and covariances (S, K, d, d), divided by n (S, K), by an answer less draws of noise of these deviations (K,)."""
    m = asked.total + total_sd[:, None] * rng.standard_normal((_DRAWS, *asked.total.shape))
    m = m / n[..., None]
    wild = second_sd[:, None, None] * rng.standard_normal((_DRAWS, *asked.second.shape))
    # (E + E^T) / 2 has sd 1 on the diagonal and 1 / sqrt 2 off it, as the query's noise has.
    second = asked.second + (wild + np.swapaxes(wild, -1, -2)) / 2
    return m, second / n[..., None, None] - m[..., :, None] * m[..., None, :]


def _nearest_possible(covariances: Floats) -> Floats:
    """The nearest matrices (..., d, d) without negative eigenvalues."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(
        (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    )


def _noise(last: Moments, clipped: Moments, counts: Floats) -> tuple[Floats, Floats]:
    """(K,) standard deviations of the restored sums and second moments of a round."""
    total_sd, second_sd = clipped.total_sd.copy(), clipped.second_sd.copy()
    d = last.total.shape[1]
    for k, n in enumerate(counts):
        lost = max(float(np.trace(last.second[k] - clipped.second[k])) / (n * d), 0.0)
        m = last.total[k] / n
        size = max(float(np.trace(last.second[k]) / n - m @ m) / d, 0.05)
        slope = _kept(1.05 * size, d, last.radius[k]) - _kept(0.95 * size, d, last.radius[k])
        growth = min(0.1 * size / max(slope, 1e-9), TUNING.intervals.steepest)
        share = lost / max(size, lost)
        doubt = TUNING.intervals.doubt * n * lost
        second_sd[k] = np.hypot(second_sd[k] * growth, doubt)
        far = max(last.radius[k] / np.sqrt(d), 1.0)
        # What the clip took from these very rows is off from what it takes on average: n draws of (|u| - r)+ u / |u|.
        taken = np.sqrt(n * _excess(size, d, last.radius[k]) / d)
        noise = np.hypot(total_sd[k] / np.sqrt(max(1 - share, 0.2)), taken)
        total_sd[k] = np.hypot(noise, doubt / far)
    return total_sd, second_sd


def _excess(size: float, dim: int, radius: float) -> float:
    """E (|u| - r)+^2 for a bell of that size: E[|u|^2; |u| > r] - 2 r E[|u|; |u| > r] + r^2 P(|u| > r)."""
    at = radius**2 / size
    length = np.sqrt(2.0) * poch(dim / 2, 0.5) * chdtrc(dim + 1, at)
    squared = dim * chdtrc(dim + 2, at) - 2 * np.sqrt(at) * length + at * chdtrc(dim, at)
    return size * max(float(squared), 0.0)


def _kept(size: float, dim: int, radius: float) -> float:
    """What a clip leaves of the variance of a bell of that size."""
    return size * float(bell_kept(dim, radius / np.sqrt(size)))


def _odd_class(
    answers: Answers, k: int, counts: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws of mean (S, d) and covariance (S, d, d) of a class that is no bell: what the clip left, and what may lie beyond."""
    clipped, frames = answers.clipped, answers.frames
    maps, back = frames.maps[k], frames.inverse[k]
    d = len(maps)
    n = np.maximum(counts, fewest(d))
    shells = answers.shells[0]
    lots = rng.standard_normal((_DRAWS, shells.counts.shape[1]))
    # Along a column no row lies beyond the end of the column.
    low, high = answers.located.bins.ends
    reach = np.maximum(high[k] - frames.centres[k], frames.centres[k] - low[k])
    farthest = reach * np.linalg.norm(maps, axis=0)
    open_ = farthest > clipped.radius[k]
    if not open_.any():
        open_[:] = True
    column, side = _directions(answers, k, open_, n.mean(), rng)
    first, second = beyond(shells, k, n.mean(), d, float(clipped.radius[k]), lots, farthest[column])
    m = (clipped.total[k] + clipped.total_sd[k] * rng.standard_normal((_DRAWS, d))) / n[:, None]
    wild = clipped.second_sd[k] * rng.standard_normal((_DRAWS, d, d))
    raw = (clipped.second[k] + (wild + np.swapaxes(wild, 1, 2)) / 2) / n[:, None, None]
    along = (maps / np.linalg.norm(maps, axis=0)).T[column]
    part = rng.uniform(TUNING.intervals.along, 1.0, _DRAWS)
    # Some of the tail may lie on the other side: then the mean moves less.
    lean = side * np.where(rng.random(_DRAWS) < 0.5, 1.0, rng.random(_DRAWS))
    m = m + (lean * part * first)[:, None] * along
    m = m + (TUNING.intervals.anywhere * first / np.sqrt(d))[:, None] * rng.standard_normal(
        (_DRAWS, d)
    )
    raw = raw + (part * second)[:, None, None] * along[:, :, None] * along[:, None, :]
    raw = raw + ((1 - part) * second / d)[:, None, None] * np.eye(d)
    shape = _nearest_possible(raw - m[:, :, None] * m[:, None, :])
    covariance = back @ (shape * (n / (n - 1))[:, None, None]) @ back.T
    return frames.centres[k] + m @ back.T, covariance


def _directions(
    answers: Answers, k: int, open_: Flags, n: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Floats]:
    """(S,) columns, of those that leave the clip, along which it may have taken most; on which side of their highest bin rows lie."""
    bins, clipped = answers.located.bins, answers.clipped
    table, back = bins.tables[k], answers.frames.inverse[k]
    m = clipped.total[k] / n
    wide = back @ (clipped.second[k] / n - m[:, None] * m) @ back.T
    sd = np.sqrt(np.maximum(np.diagonal(wide), (bins.width[k] / 3) ** 2))
    off = np.abs(bins.places[k] - (answers.frames.centres[k] + back @ m)[:, None])
    out = bins.open[k] & (off > TUNING.intervals.out * sd[:, None])
    noise = TUNING.intervals.out_noise * bins.sd[k] * np.sqrt(out.sum(axis=1))
    rows = (out * table).sum(axis=1) + noise * rng.standard_normal((_DRAWS, open_.size))
    rows = np.where(open_, np.maximum(rows, TUNING.intervals.out_least * n), 0.0)
    level = (rows / rows.sum(axis=1, keepdims=True)).cumsum(axis=1)
    column = np.minimum((rng.random((_DRAWS, 1)) > level).sum(axis=1), np.flatnonzero(open_)[-1])
    off = np.arange(table.shape[1]) - table.argmax(axis=1)[:, None]
    side = np.sign((table * (off > 1)).sum(axis=1) - (table * (off < -1)).sum(axis=1))
    return column, side[column]


def _histograms(answers: Answers, counts: Floats, rng: np.random.Generator) -> _Columns:
    """Draws by the histograms alone: sums over all bins, whatever the shape."""
    bins = answers.located.bins
    n = np.maximum(counts, 1.0)[..., None]
    low, high = bins.ends
    middle, half = (high + low) / 2, (high - low) / 2
    place = np.where(bins.open, (bins.places - middle[..., None]) / half[..., None], 0.0)
    powers = np.stack([place, place**2], axis=-2)
    seen = np.einsum("kjpb,kjb->pkj", powers, bins.tables)
    # A single open bin lies in the middle, where the powers are zero and have no noise.
    root = np.linalg.cholesky(powers @ np.swapaxes(powers, -1, -2) + 1e-12 * np.eye(2))
    noise = np.einsum("kjpq,qskj->pskj", root, rng.standard_normal((2, _DRAWS, *bins.low.shape)))
    first, square = seen[:, None] + bins.sd[:, None] * noise
    mean = np.clip(first / n, -1.0, 1.0)
    # A bin is as wide as step, and its rows lie anywhere in it.
    step = bins.width / half
    variance = np.clip(square / n - mean**2 - step**2 / 12, 0.0, 1 - mean**2)
    # Or all rows of a bin lie in one place of it.
    lots = step * rng.uniform(-0.5, 0.5, (2, *mean.shape))
    return _Columns(middle + half * (mean + lots[0]), half * np.abs(np.sqrt(variance) + lots[1]))


def _in_bounds(bins: Bins, counts: Floats, means: Floats, deviations: Floats) -> _Columns:
    """Draws cut where the stated bounds end.

    The values of n rows in [a, b] with mean m have the variance n / (n - 1) (m - a)(b - m) at most.
    """
    low, high = bins.ends
    inside = np.clip(means, low, high)
    most = np.sqrt((inside - low) * (high - inside) * (counts / (counts - 1))[..., None])
    return _Columns(inside, np.minimum(deviations, most))


def _shown(answers: Answers, counts: Floats, seen: _Columns) -> Flags:
    """(K, d) columns that the histograms could contradict, and do not."""
    bins = answers.located.bins
    n = counts.mean(axis=0)[:, None]
    sd = bins.sd[:, None]
    middle, upper = seen.means.mean(axis=0), np.quantile(seen.deviations, 0.975, axis=0)
    sure = bin_moments(bins.tables, sd[..., None], TUNING.intervals.sure)
    # At least so wide: rows of a bin may all lie in one place of it.
    mean = bins.low + bins.width * sure.mean
    wide = bins.width * np.sqrt(np.maximum(sure.sd**2 - 1 / 12, 0.0))
    other = (wide > TUNING.intervals.wider * upper) | (
        np.abs(mean - middle) > TUNING.intervals.away * upper
    )
    far = outside(bins.tables, (middle - bins.low) / bins.width, upper / bins.width, sd)[1]
    contradict = far | (other & (sure.total > TUNING.intervals.most * n))
    resolved = np.median(seen.deviations, axis=0) >= TUNING.intervals.narrow * bins.width
    return np.asarray((n >= TUNING.intervals.seen * sd) & ~contradict & resolved)
