"""Add again what clipping removed from each round, as far as the tails are known.

A clip at radius r removes a part of the second moment, and how much depends on the tails (tails.py).
Rows are simulated from the elliptical law that the last round and its shells suggest; the second moment (and
mean) that a round's clip takes from them is added to its answer, and a part of it to its error, because the
true rows need not be elliptical. A round whose clip took much therefore weighs little.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaincinv

from privgmm.proven.record.frames import Moments, bell_kept
from privgmm.proven.record.tails import RadialLaw
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Floats

_SEED = 20261116
_POINTS = 1024
# Iterations of the fixed point that finds the covariance whose clipped rows have the observed second moment.
_TURNS = 6


def unclipped(
    rounds: tuple[Moments, ...], counts: Floats, laws: tuple[RadialLaw, ...] | None = None
) -> tuple[Moments, ...]:
    """The rounds as they would be without a clip; ``laws`` hold in the last round's frames, else bells do."""
    last = rounds[-1]
    d = last.total.shape[1]
    z = np.random.default_rng(_SEED).standard_normal((_POINTS, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    # Opposite points have the same length, so that a clip around the mean moves it nowhere.
    z = np.concatenate([z, -z])
    level = (np.random.default_rng(_SEED + 1).permutation(_POINTS) + 0.5) / _POINTS
    bell = np.sqrt(2 * gammaincinv(d / 2, level)) if laws is None else level
    points = []
    # The shells of the last frames count what lies beyond its clip. A fit of very wide shapes to clipped moments may say any multiple of it.
    most = np.full(counts.size, np.inf)
    for k, n in enumerate(counts):
        length, size = bell, 1.0
        if laws is not None:
            length, size = laws[k].quantiles(level), laws[k].spread
            most[k] = TUNING.clipping.beyond * laws[k].taken(float(last.radius[k]))
        u = z * np.tile(length / np.sqrt(size), 2)[:, None]
        seen = _as_seen(last, k, n, u, size, float(most[k]))
        points.append(last.frames.centres[k] + seen @ last.frames.inverse[k].T)
    early = (_restored(r, points, counts) for r in rounds[:-1])
    return doubted((*early, _restored(last, points, counts, most)))


def doubted(rounds: tuple[Moments, ...]) -> tuple[Moments, ...]:
    """The rounds, with more error where another one saw more along some direction than noise explains.

    A clip takes away and never adds. Of two rounds that contradict one another the one that saw less was clipped, by more than could be
    put back: its error is the difference.
    """
    if len(rounds) == 1:
        return rounds
    out = []
    for r in rounds:
        error = r.second_sd.copy()
        for other in rounds:
            if other is not r:
                error = np.maximum(error, _contradiction(r, other))
        out.append(
            replace(r, second_sd=np.hypot(r.second_sd, np.where(error > r.second_sd, error, 0.0)))
        )
    return tuple(out)


def _contradiction(r: Moments, other: Moments) -> Floats:
    """(K,) how much more ``other`` surely saw than ``r``, in the coordinates of ``r``; else zero."""
    turn = other.frames.maps @ r.frames.inverse
    shift = np.einsum("kij,kj->ki", other.frames.maps, r.frames.centres - other.frames.centres)
    back = np.swapaxes(turn, 1, 2)
    cross = np.einsum("kij,kj->ki", turn, r.total)[:, :, None] * shift[:, None, :]
    seen = turn @ r.second @ back + cross + np.swapaxes(cross, 1, 2)
    seen = seen + r.count[:, None, None] * shift[:, :, None] * shift[:, None, :]
    values, axes = np.linalg.eigh(other.second - seen)
    # Noise of both along the axis of the largest difference; off-diagonal noise makes no axis noisier than the diagonal's.
    axis = axes[:, :, -1]
    narrow = np.einsum("kji,kj->ki", turn, axis)
    size = (narrow**2).sum(axis=1)
    noise = np.hypot(other.second_sd, r.second_sd * size)
    # The largest eigenvalue of the noise alone is about sqrt(2 d) of its standard deviations.
    surely = values[:, -1] > (TUNING.clipping.surely + np.sqrt(2 * axis.shape[1])) * noise
    return np.where(surely, values[:, -1] / np.maximum(size, 1e-12), 0.0)


def _as_seen(r: Moments, k: int, n: float, u: Floats, size: float, most: float) -> Floats:
    """The points u, of unit covariance, transformed so that after clipping they have the moments that the round saw of class k.

    Observed eigenvalues are shrunk to the expected size * I, the more the larger their noise is.
    """
    d = u.shape[1]
    # The mean is as it was seen: to put back what the clip took of it, too, would add noise where there are many columns (electricity
    # profiles, d = 12, epsilon 4: J 9.8 instead of 4.8).
    mean = np.clip(r.total[k] / n, -r.radius[k], r.radius[k])
    seen = r.second[k] / n - mean[:, None] * mean
    error = r.second_sd[k] / n * np.sqrt(d / 2)
    trust = 1 / (1 + (error / (TUNING.clipping.expected * size)) ** 2)
    usual = size * np.eye(d)
    lost, points = np.zeros((d, d)), u
    for _ in range(_TURNS):
        values, vectors = np.linalg.eigh(usual + trust * (seen + lost - usual))
        # Not much wider than the clip, because beyond it the clipped moment contains no information.
        values = np.clip(values, 0.02 * size, np.maximum(r.radius[k] ** 2, size))
        points = mean + u @ ((vectors * np.sqrt(values)) @ vectors.T)
        lost = _at_most(*_lost(r, k, points), most)[1]
    return points


def _lost(r: Moments, k: int, u: Floats) -> tuple[Floats, Floats]:
    """First and second moment that the round's clip takes from points u in its coordinates."""
    kept = np.minimum(1.0, r.radius[k] / np.maximum(np.linalg.norm(u, axis=1), 1e-300))
    return ((1 - kept)[:, None] * u).mean(axis=0), (u * (1 - kept**2)[:, None]).T @ u / len(u)


def _at_most(first: Floats, second: Floats, most: float) -> tuple[Floats, Floats]:
    """What a clip takes, if its part of E |u|^2 is known to be at most so much."""
    part = min(1.0, most / max(float(np.trace(second)), 1e-100))
    return part * first, part * second


def _restored(
    r: Moments, points: list[Floats], counts: Floats, most: Floats | None = None
) -> Moments:
    """A round with what its clip took; of the last one it is known to be at most ``most`` (K,) of E |u|^2."""
    total, second = r.total.copy(), r.second.copy()
    total_sd, second_sd = r.total_sd.copy(), r.second_sd.copy()
    d = total.shape[1]
    for k, x in enumerate(points):
        u = (x - r.frames.centres[k]) @ r.frames.maps[k].T
        lost1, lost2 = _at_most(*_lost(r, k, u), np.inf if most is None else float(most[k]))
        n = counts[k]
        total[k] += n * lost1
        second[k] += n * lost2
        per_axis = np.trace(lost2) / d
        size = float((u * u).sum(axis=1).mean()) / d
        bell = size * (1 - float(bell_kept(d, r.radius[k] / np.sqrt(size))))
        excess = max(per_axis - bell, 0.0)
        doubt = TUNING.clipping.doubt * per_axis + (
            TUNING.clipping.uneven * d * excess if most is None else 0.0
        )
        second_sd[k] = np.hypot(second_sd[k], n * doubt)
        total_sd[k] = np.hypot(
            total_sd[k], TUNING.clipping.doubt * n * per_axis / max(r.radius[k] / np.sqrt(d), 1.0)
        )
    return replace(r, total=total, second=second, total_sd=total_sd, second_sd=second_sd)
