"""How far a record-level release may be off: noise carried through the last answer, histograms where that is not enough.

The posterior that chooses the release covers (eq2)'s values only on average over its prior, and rows that are
no bell are not in it. So intervals are made without a prior:
1. shares from the noisy counts of all rounds;
2. means and covariances from the last round alone: its answer, less a draw of its noise. What its clip took was put
   back (clipping.py) as a function of what was left, so noise of the answer grows by that function's slope;
3. a column whose histogram contradicts that, and any class whose histograms could not show it (too few rows for the
   noise), gets the interval of the histogram itself, in which no shape is assumed, and is not usable.
Coordinates are those of the stated region. Post-processing: a fixed public seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.model.uncertainty import Errors, split
from privgmm.proven.record.frames import Moments, bell_kept
from privgmm.proven.record.locate import bin_moments
from privgmm.proven.record.posterior import fewest
from privgmm.proven.record.rounds import Answers
from privgmm.proven.uncertainty import Drawn, errors_of
from privgmm.types import Flags, Floats

_SEED = 20261117
_DRAWS = 800
# Part of what was put back that counts as its standard error: rows are hardly ever elliptical to the letter. Tried 0, 0.1
# and 0.2 on 36 tables of bells: means cover 0.948, 0.953, 0.969 and deviations 0.943, 0.927, 0.938.
_DOUBT = 0.1
# A slope beyond this belongs to a class that the clip leaves nothing of; it is not usable then in any case.
_STEEPEST = 6.0
# Histograms show a class if it has so many times the noise of a bin: a tenth of it in one bin would be seen then.
_SHOWN = 30.0
# They contradict the last round if bins that surely hold rows are wider than its deviation by this factor (at the
# upper end of its interval), or centred so many deviations away.
_WIDER, _AWAY = 1.25, 0.5


@dataclass(frozen=True, eq=False)
class _Columns:
    """Draws of means and deviations, (S, K, d)."""

    means: Floats
    deviations: Floats


def record_errors(
    answers: Answers, n_rows: float | None, released: tuple[Floats, Floats, Floats]
) -> Errors:
    """Errors of a release made of these answers; ``n_rows`` is the number of rows where it is public."""
    rng = np.random.default_rng(_SEED)
    counts = _counts(answers, n_rows, rng)
    means, covariances = _last_round(answers, counts, rng)
    deviations, correlations = split(covariances)
    seen = _Columns(means, deviations)
    whole = _histograms(answers, counts, rng)
    usable = _usable(answers, counts, seen)
    mean, wide = (
        np.where(usable, getattr(seen, kind), getattr(whole, kind))
        for kind in ("means", "deviations")
    )
    both = usable[:, :, None] & usable[:, None, :]
    anything = np.where(np.arange(_DRAWS) % 2, 1.0, -1.0)[:, None, None, None]
    eye = np.eye(usable.shape[1], dtype=bool)
    tied = np.where(both | eye, correlations, anything)
    shares = counts / (counts.sum(axis=1, keepdims=True) if n_rows is None else n_rows)
    return errors_of(Drawn(counts, shares, mean, wide, tied), released, usable)


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
    answers: Answers, counts: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws of means (S, K, d) and covariances (S, K, d, d): the last answer, less a draw of its noise."""
    last, clipped = answers.rounds[-1], answers.clipped
    d = last.total.shape[1]
    n = np.maximum(counts, fewest(d))
    total_sd, second_sd = _noise(last, clipped, n.mean(axis=0))
    m = (last.total + total_sd[:, None] * rng.standard_normal((_DRAWS, *last.total.shape))) / n[
        ..., None
    ]
    wild = second_sd[:, None, None] * rng.standard_normal((_DRAWS, *last.second.shape))
    # (E + E^T) / 2 has sd 1 on the diagonal and 1 / sqrt 2 off it, as the query's noise has.
    second = last.second + (wild + np.swapaxes(wild, -1, -2)) / 2
    covariance = second / n[..., None, None] - m[..., :, None] * m[..., None, :]
    values, vectors = np.linalg.eigh(covariance)
    covariance = (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return answers.frames.out_of(m, covariance * (n / (n - 1))[..., None, None])


def _noise(last: Moments, clipped: Moments, counts: Floats) -> tuple[Floats, Floats]:
    """(K,) standard deviations of the restored sums and second moments of a round."""
    total_sd, second_sd = clipped.total_sd.copy(), clipped.second_sd.copy()
    d = last.total.shape[1]
    for k, n in enumerate(counts):
        lost = max(float(np.trace(last.second[k] - clipped.second[k])) / (n * d), 0.0)
        m = last.total[k] / n
        size = max(float(np.trace(last.second[k]) / n - m @ m) / d, 0.05)
        slope = _kept(1.05 * size, d, last.radius[k]) - _kept(0.95 * size, d, last.radius[k])
        growth = min(0.1 * size / max(slope, 1e-9), _STEEPEST)
        share = lost / max(size, lost)
        doubt = _DOUBT * n * lost
        second_sd[k] = np.hypot(second_sd[k] * growth, doubt)
        far = max(last.radius[k] / np.sqrt(d), 1.0)
        total_sd[k] = np.hypot(total_sd[k] / np.sqrt(max(1 - share, 0.2)), doubt / far)
    return total_sd, second_sd


def _kept(size: float, dim: int, radius: float) -> float:
    """What a clip leaves of the variance of a bell of that size."""
    return size * float(bell_kept(dim, radius / np.sqrt(size)))


def _histograms(answers: Answers, counts: Floats, rng: np.random.Generator) -> _Columns:
    """Draws by the histograms alone: sums over all bins, whatever the shape."""
    bins = answers.located.bins
    n = np.maximum(counts, 1.0)[..., None]
    # About the middle of the region, in units of half its width.
    place = (np.arange(bins.tables.shape[-1]) + 0.5) / bins.tables.shape[-1] * 2 - 1
    powers = np.stack([place, place**2])
    half = bins.width * bins.tables.shape[-1] / 2
    seen = np.einsum("pb,kjb->pkj", powers, bins.tables)
    root = np.linalg.cholesky(powers @ powers.T)
    noise = np.einsum("pq,qskj->pskj", root, rng.standard_normal((2, _DRAWS, *bins.low.shape)))
    first, square = seen[:, None] + bins.sd[:, None] * noise
    mean = np.clip(first / n, -1.0, 1.0)
    # A bin is as wide as step, and its rows lie anywhere in it.
    step = 2 / place.size
    variance = np.clip(square / n - mean**2 - step**2 / 12, 0.0, 1 - mean**2)
    return _Columns(bins.low + half * (1 + mean), half * np.sqrt(variance))


def _usable(answers: Answers, counts: Floats, seen: _Columns) -> Flags:
    """(K, d) columns that the histograms could contradict, and do not."""
    bins = answers.located.bins
    shown = counts.mean(axis=0) >= _SHOWN * bins.sd
    sure = bin_moments(bins.tables, bins.sd[:, None, None])
    mean, wide = bins.low + bins.width * sure.mean, bins.width * sure.sd
    upper = np.quantile(seen.deviations, 0.975, axis=0)
    agree = (wide <= _WIDER * upper) & (np.abs(mean - seen.means.mean(axis=0)) <= _AWAY * upper)
    return np.asarray(shown[:, None] & agree)
