"""The ellipsoid each class is measured in: centre, whitening map and clipping radius."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import chdtr, chdtrc, log_ndtr

from privgmm.proven.record.tuning import TUNING
from privgmm.types import Flags, Floats

_LOG_ROOT_TWO_PI = float(np.log(np.sqrt(2 * np.pi)))


@dataclass(frozen=True)
class Frames:
    """Coordinates u = A_k (x - c_k) per class, in which the class is expected to be near N(0, I).

    centres : (K, d); maps : (K, d, d) lower-triangular; means_var : (K, d, d) what is not yet
    known of the class mean, in these coordinates.
    """

    centres: Floats
    maps: Floats
    means_var: Floats

    @cached_property
    def inverse(self) -> Floats:
        """Maps from the unit ball back to the columns."""
        return np.asarray(np.linalg.inv(self.maps), dtype=np.float64)

    def out_of(self, means: Floats, shapes: Floats) -> tuple[Floats, Floats]:
        """Means (..., K, d) and covariances (..., K, d, d) of these coordinates, in those of the region."""
        back = self.inverse
        wide = back @ shapes @ back.transpose(0, 2, 1)
        return (
            self.centres + np.einsum("kij,...kj->...ki", back, means),
            (wide + np.swapaxes(wide, -1, -2)) / 2,
        )


@dataclass(frozen=True)
class Moments:
    """One noisy round in its frames: n, sum u, sum u u^T, and the noise of each (per class).

    The second moment's noise has standard deviation ``second_sd`` on the diagonal and
    ``second_sd / sqrt 2`` off it: its log-density is -||E||_F^2 / (2 second_sd^2).
    """

    frames: Frames
    radius: Floats
    count: Floats
    total: Floats
    second: Floats
    count_sd: Floats
    total_sd: Floats
    second_sd: Floats


def axis_frames(means: Floats, means_sd: Floats, log_sd: Floats, log_sd_sd: Floats) -> Frames:
    """The first frames, along the columns, as wide as a class may be according to its histograms."""
    sd = np.sqrt(np.exp(2 * log_sd + 2 * log_sd_sd**2) + means_sd**2)
    eye = np.eye(means.shape[1])
    return Frames(means, eye / sd[:, :, None], eye * ((means_sd / sd) ** 2)[:, :, None])


def floored(frames: Frames, least: Floats) -> Frames:
    """Frames that are at least ``least`` (d,) or (K, d) wide along each column, so that no row lies far out because of a narrower column."""
    back = frames.inverse
    wide = back @ np.swapaxes(back, 1, 2)
    extra = np.maximum(least**2 - np.diagonal(wide, axis1=1, axis2=2), 0.0)
    if not extra.any():
        return frames
    maps = np.linalg.inv(np.linalg.cholesky(wide + extra[:, :, None] * np.eye(least.shape[-1])))
    turn = maps @ back
    return Frames(frames.centres, maps, turn @ frames.means_var @ np.swapaxes(turn, 1, 2))


def refined(round_: Moments, counts: Floats) -> Frames:
    """The next frames: whiten by the moments of a round, and prefer too wide to too narrow (CoinPress, Biswas et al. 2020)."""
    frames = round_.frames
    centres, maps = frames.centres.copy(), frames.maps.copy()
    means_var = np.empty_like(frames.means_var)
    for k, n in enumerate(counts):
        seen = spectrum(round_, k, n)
        upper = _mean_of_positive(seen.values, seen.error)
        # An eigenvalue that the noise hides is not taken to be wider than the frame of the round.
        upper = np.minimum(upper, np.maximum(seen.values, 1.5))
        wide = (seen.vectors * upper) @ seen.vectors.T + seen.mean_var
        # The lower factor keeps the maps triangular, which halves the pass over the rows.
        whiten = np.linalg.inv(np.linalg.cholesky((wide + wide.T) / 2))
        centres[k] = centres[k] + np.linalg.solve(maps[k], seen.mean)
        maps[k] = whiten @ maps[k]
        means_var[k] = whiten @ seen.mean_var @ whiten.T
    return Frames(centres, maps, (means_var + means_var.transpose(0, 2, 1)) / 2)


def unresolved(
    round_: Moments, counts: Floats, seen_well: float, flat: float, told: Flags
) -> float:
    """Share of the rows that lie in classes seen well (tuning.Looks) with a direction too narrow to be seen.

    Directions along columns that are ``told`` (K, d) do not count: their frames are wide for a reason.
    """
    rows = 0.0
    for k, n in enumerate(counts):
        seen = spectrum(round_, k, n)
        narrow = seen.values < min(
            TUNING.rounds.resolved * seen.error, flat - TUNING.rounds.moved * seen.error
        )
        back = round_.frames.inverse[k]
        loads = (back @ seen.vectors) ** 2 / (back**2).sum(axis=1)[:, None]
        narrow &= loads[told[k]].sum(axis=0) < 0.5 * loads.sum(axis=0)
        if seen.error * np.sqrt(len(seen.values)) < seen_well and narrow.any():
            rows += n
    return float(rows / counts.sum())


@dataclass(frozen=True)
class SeenColumns:
    """Means and variances of the clipped columns as a round saw them, the noise of both, and its frames' widths; (K, d) each."""

    means: Floats
    means_sd: Floats
    variances: Floats
    variances_sd: Floats
    widths: Floats


def column_moments(round_: Moments, counts: Floats) -> SeenColumns:
    """The column moments of a round, for classes with ``counts`` (K,) rows."""
    n = counts[:, None, None]
    mean = round_.total[:, :, None] / n
    back = round_.frames.inverse
    turned = np.swapaxes(back, 1, 2)
    spread = back @ (round_.second / n - mean @ np.swapaxes(mean, 1, 2)) @ turned
    squares = (back**2).sum(axis=2)
    return SeenColumns(
        round_.frames.centres + (back @ mean)[..., 0],
        (round_.total_sd / counts)[:, None] * np.sqrt(squares),
        np.diagonal(spread, axis1=1, axis2=2),
        (round_.second_sd / counts)[:, None] * squares,
        np.sqrt(squares),
    )


def as_wide_as_seen(
    frames: Frames, round_: Moments, counts: Floats, chosen: Flags, shown: float | None = None
) -> tuple[Frames, Floats]:
    """The frames, of ``chosen`` classes (K,) as wide as a round saw them, and their least widths (K, d) along columns, or zero.

    Rows far from the others mostly lie so along columns of their own, the same in all classes, so columns are asked first; where none
    shows it, the direction of the largest variance is.
    """
    shown = TUNING.far.shown if shown is None else shown
    told = column_moments(round_, counts)
    extra = (told.variances - (frames.inverse**2).sum(axis=2)) / told.variances_sd
    together = extra[chosen].sum(axis=0) > shown * np.sqrt(max(chosen.sum(), 1))
    seen = (extra > shown) | (together & (extra > 1))
    seen &= chosen[:, None]
    wide = floored(frames, np.where(seen, np.sqrt(np.maximum(told.variances, 0.0)), 0.0))
    for k in map(int, np.flatnonzero(chosen & ~seen.any(axis=1))):
        found = spectrum(round_, k, counts[k])
        if found.values[-1] > TUNING.rounds.resolved * found.error:
            long = round_.frames.inverse[k] @ found.vectors[:, -1] * np.sqrt(found.values[-1])
            wide = _longer(wide, k, long)
    centres = np.where(seen, told.means, wide.centres)
    least = np.sqrt(np.maximum(told.variances - told.variances_sd, 0.0))
    return replace(wide, centres=centres), np.where(seen, least, 0.0)


def _longer(frames: Frames, k: int, along: Floats) -> Frames:
    """Frames whose class k also holds rows so far (d,) from its centre."""
    back, maps, var = frames.inverse[k], frames.maps.copy(), frames.means_var.copy()
    maps[k] = np.linalg.inv(np.linalg.cholesky(back @ back.T + np.outer(along, along)))
    turn = maps[k] @ back
    var[k] = turn @ var[k] @ turn.T
    return Frames(frames.centres, maps, var)


def widened_by(before: Frames, after: Frames) -> tuple[Floats, Floats]:
    """(K,) how many times wider the second frames are where they are so most, and what a second moment then costs, in parts of before.

    Rows that lie far out along the widest of the new directions lie s times less far out, so noise has s^-4 of its cost; the others are
    seen in frames too wide for them. With s_i of all directions it is (d / (s^2 sum s_i^-2))^2: one, if all are widened alike.
    """
    times = np.linalg.svd(before.maps @ after.inverse, compute_uv=False)
    most = np.asarray(times[:, 0])
    return most, np.asarray((times.shape[1] / (most**2 * (times**-2).sum(axis=1))) ** 2)


def narrower(before: Frames, after: Frames, times: float) -> bool:
    """Whether a class's second frame is so many times narrower along some direction."""
    wide = np.linalg.svd(before.maps @ after.inverse, compute_uv=False)[:, -1]
    return bool((wide < 1 / times).any())


@dataclass(frozen=True)
class Spectrum:
    """Mean with its remaining covariance, and the covariance's noisy eigenvalues with their error."""

    mean: Floats
    mean_var: Floats
    values: Floats
    vectors: Floats
    error: float


def spectrum(round_: Moments, k: int, n: float) -> Spectrum:
    """Eigenvalues of a class's noisy covariance, and how noisy they are."""
    # Kalman step for the mean; prior covariance from the frame, noise (sd / n)^2 I.
    prior = round_.frames.means_var[k]
    d = prior.shape[0]
    gain = np.linalg.solve(prior + np.eye(d) * (round_.total_sd[k] / n) ** 2, prior).T
    mean = gain @ (round_.total[k] / n)
    left = prior - gain @ prior
    values, vectors = np.linalg.eigh(round_.second[k] / n - np.outer(mean, mean))
    # Noise spreads eigenvalues over +- sd sqrt(2 d); half of that is a fair standard error.
    error = float(round_.second_sd[k] / n * np.sqrt(d / 2))
    return Spectrum(mean, (left + left.T) / 2, values, vectors, error)


def clip_radius(dim: int, signal: float) -> tuple[float, float]:
    """Radius r that balances noise and clipping, and the share of the variance left inside.

    ``signal`` is n mu / sensitivity. A clipped N(0, I) keeps beta = E min(|u|^2, r^2) / d of its
    variance. In the KL of a covariance, noise costs d(d+1)/8 (r^2/signal)^2 and clipping d (1-beta)^2 / 4.
    """
    r = np.linspace(0.8 * np.sqrt(dim), np.sqrt(dim) + 8, 150)
    kept = bell_kept(dim, r)
    cost = dim * (dim + 1) / 8 * (r * r / signal) ** 2 + dim / 4 * (1 - kept) ** 2
    best = int(np.argmin(cost))
    return float(r[best]), float(kept[best])


def bell_kept(dim: int, r: Floats | float) -> Floats:
    """E min(|u|^2, r^2) / d for u ~ N(0, I): the share of the variance that a clip at r leaves."""
    square = np.square(r)
    return np.asarray((dim * chdtr(dim + 2, square) + square * chdtrc(dim, square)) / dim)


def _mean_of_positive(value: Floats, sd: float) -> Floats:
    """E[x | x > 0] for x ~ N(value, sd^2): positive however negative the value."""
    z = np.maximum(value / sd, -30.0)
    return np.asarray(
        sd * (z + np.exp(-(z**2) / 2 - _LOG_ROOT_TWO_PI - log_ndtr(z))), dtype=np.float64
    )
