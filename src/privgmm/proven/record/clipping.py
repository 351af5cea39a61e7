"""What clipping took away from each round, put back as far as the tails are known.

A clip at radius r takes second moment away, and how much depends on the tails. The counts of rows by
their length ||u|| (in coordinates where the class has about unit covariance) say how heavy they are.
Where noise hides the counts the class is taken for a bell; where they contradict it, they are believed.

Rows are simulated from the elliptical law that the last round and its shells suggest; the second moment (and
mean) that a round's clip takes from them is added to its answer, and a part of it to its error, because the
true rows need not be elliptical. A round whose clip took much therefore weighs little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, gammaincinv

from privgmm.proven.record.frames import Moments, bell_kept
from privgmm.types import Flags, Floats

# Lengths, in units of sqrt(d), of the shells' edges: fine where a bell ends, coarser outside.
_EDGE_START, _SHELLS = 0.6, 18
# Scales of the bells whose mixture is fitted to the counts.
_SCALES_PER_OCTAVE = 2
# A scale that is not the bell's own enters only where it explains so many standard deviations of noise.
_ENTRY = 4.5
# The same where all that may lie beyond the clip of a class that is no bell is asked for: from believing every
# shell to nearly the above. Upper ends of 2 and 3 tried on 60 tables of spikes: intervals of deviations cover 0.91 and 0.93.
_BEYOND_ENTRY = (0.0, 3.0)
# After the fit, a shell (with all beyond it) is corrected by what is left if that is so significant.
_SURE = 5.0
_SWEEPS = 300
# Sweeps of the fit where it is made for many draws of the noise, which need no more than two digits.
_REDRAWN_SWEEPS = 60
_SEED = 20261116
_POINTS = 1024
# Part of what was put back that counts as its standard error.
_DOUBT = 0.3
# An earlier, narrower round may have lost all of its excess over a bell in one direction.
_UNEVEN = 0.5
# A class is expected to fit its frame: its eigenvalues there are thought within this of the law's size.
_EXPECTED = 0.5
# Turns of the fixed point: the covariance whose clipped rows have the second moment that was seen.
_TURNS = 6


@dataclass(frozen=True, eq=False)
class RadialLaw:
    """The law of ||u|| for one class: masses (P,) at lengths (P,), with what noise leaves unknown.

    mass_sd : standard deviation of a shell's share of the rows.
    """

    lengths: Floats
    masses: Floats
    mass_sd: float
    dim: int

    def kept(self, radius: Floats) -> Floats:
        """Share of E||u||^2 that a clip at each radius leaves: E min(||u||, r)^2 / E ||u||^2."""
        squared = self.lengths**2
        inside = np.minimum(squared[None, :], np.asarray(radius)[:, None] ** 2)
        return np.asarray(inside @ self.masses / (squared @ self.masses))

    def quantiles(self, level: Floats) -> Floats:
        """Lengths below which the shares ``level`` of the rows lie."""
        at = np.searchsorted(np.cumsum(self.masses), level)
        return self.lengths[np.minimum(at, self.lengths.size - 1)]

    @property
    def spread(self) -> float:
        """E ||u||^2 / d: 1 if the coordinates are the class's own."""
        return float(self.lengths**2 @ self.masses) / self.dim


@dataclass(frozen=True, eq=False)
class Shells:
    """Noisy counts (K, B) of the rows between edges (K, B - 1), the noise (K,) of a count, and how far rows may lie (K,)."""

    counts: Floats
    edges: Floats
    sd: Floats
    farthest: Floats


def shell_edges(dim: int, farthest: Floats) -> Floats:
    """(K, B - 1) edges for classes whose rows lie at most ``farthest`` (K,) from their centres."""
    last = np.maximum(farthest, 2.0 * np.sqrt(dim))
    steps = np.linspace(0.0, 1.0, _SHELLS - 1)
    start = _EDGE_START * np.sqrt(dim)
    return np.asarray(start * (last[:, None] / start) ** steps)


def radial_laws(shells: Shells, counts: Floats, dim: int) -> tuple[RadialLaw, ...]:
    """Of all classes, which have so many rows (K,)."""
    return tuple(radial_law(shells, k, n, dim) for k, n in enumerate(counts))


def radial_law(shells: Shells, k: int, n: float, dim: int) -> RadialLaw:
    """The law that explains the noisy shell counts of class k."""
    at = _templates(shells.edges[k], shells.farthest[k], dim)
    counts, sigma = shells.counts[k], float(shells.sd[k])
    weights = _fit(counts[None], at, sigma, n, np.array([_ENTRY]), _SWEEPS)[0]
    expected = at.templates @ weights
    # What the bells leave unexplained, from the outside in: believed where it is sure.
    left = counts - expected
    correction = np.where(np.abs(left) > _SURE * sigma, left, 0.0)
    factor = np.maximum(expected + correction, 0.0) / np.maximum(expected, 1e-9)
    masses = at.parts @ weights * factor[at.shell]
    empty = expected < 1e-9
    if empty.any():
        masses = masses + np.where(
            empty[at.shell],
            np.maximum(correction, 0.0)[at.shell] / np.bincount(at.shell)[at.shell],
            0.0,
        )
    total = max(masses.sum(), 1e-12)
    return RadialLaw(at.lengths, masses / total, sigma / max(n, 1.0), dim)


def beyond(
    shells: Shells, k: int, n: float, dim: int, radius: float, lots: Floats
) -> tuple[Floats, Floats]:
    """Draws (S,) of E(|u| - r)+ and E(|u|^2 - r^2)+ of an odd class k: what a clip at r may take of its rows.

    ``lots`` (S, B) are standard normal: the law is fitted again to counts less a draw of their noise.
    """
    at = _templates(shells.edges[k], shells.farthest[k], dim)
    sigma = float(shells.sd[k])
    least = np.linspace(*_BEYOND_ENTRY, len(lots))
    weights = _fit(shells.counts[k] + sigma * lots, at, sigma, n, least, _REDRAWN_SWEEPS)
    masses = weights @ at.parts.T
    masses /= np.maximum(masses.sum(axis=1, keepdims=True), 1e-12)
    far = np.maximum(at.lengths, radius)
    return masses @ (far - radius), masses @ (far**2 - radius**2)


@dataclass(frozen=True, eq=False)
class _Templates:
    """Bells of several scales: their parts (P, M) in fine shells of these lengths (P,), which lie in ``shell`` (P,), and
    in the counted ones (B, M); ``own`` (M,) is the scale that the frame expects."""

    lengths: Floats
    shell: NDArray[np.intp]
    parts: Floats
    templates: Floats
    own: Flags


def _templates(edges: Floats, farthest: float, dim: int) -> _Templates:
    top = max(farthest, edges[-1] * 1.01)
    octaves = np.log2(top / np.sqrt(dim))
    scales = 2.0 ** np.arange(-2.0, max(octaves, 0.5) + 0.01, 1 / _SCALES_PER_OCTAVE)
    fine = np.concatenate(
        [
            np.linspace(0, edges[0], 12)[:-1],
            *(np.geomspace(a, b, 7)[:-1] for a, b in zip(edges, [*edges[1:], top], strict=True)),
            [top],
        ]
    )
    shell = np.repeat(np.arange(edges.size + 1), [11, *([6] * edges.size)])
    lengths = np.sqrt((fine[:-1] ** 2 + fine[1:] ** 2) / 2)
    below = chdtr(dim, (fine[:, None] / scales) ** 2)
    parts = np.diff(below, axis=0)
    parts[-1] += 1 - below[-1]  # what a bell has beyond the farthest point lies there
    templates = np.zeros((edges.size + 1, scales.size))
    np.add.at(templates, shell, parts)
    return _Templates(lengths, shell, parts, templates, np.abs(np.log2(scales)) < 0.01)


def _fit(
    counts: Floats, at: _Templates, sigma: float, n: float, least: Floats, sweeps: int
) -> Floats:
    """(S, M) nonnegative weights (in rows) for counts (S, B): least squares with a threshold on all scales but the bell's own."""
    gram = at.templates.T @ at.templates / sigma**2
    pull = counts @ at.templates / sigma**2
    entry = np.where(at.own, 0.0, least[:, None] * np.sqrt(np.diagonal(gram)))
    weights = np.tile(np.where(at.own, n, 0.0), (len(counts), 1))
    for _ in range(sweeps):
        for i in range(weights.shape[1]):
            slope = pull[:, i] - weights @ gram[i] - entry[:, i]
            weights[:, i] = np.maximum(weights[:, i] + slope / gram[i, i], 0.0)
    none = weights.sum(axis=1) <= 0
    weights[none] = np.where(at.own, 1.0, 0.0)
    return weights


def choose_radius(law: RadialLaw, signal: float) -> float:
    """The radius whose noise and clipping together cost least; signal is n mu / sensitivity.

    In the KL of a covariance, noise costs d(d+1)/8 (r^2 / signal)^2. Clipping takes the share 1 - kept of E|u|^2, which is
    put back evenly over all directions. Where a bell loses it that is right, and its error costs d/4 (1 - kept)^2; what
    is lost beyond that may all lie in one direction (covertype's hillshades), where it costs (d (1 - kept))^2 / 4.
    """
    d = law.dim
    r = np.geomspace(0.8 * np.sqrt(d), max(law.lengths[-1], 2 * np.sqrt(d)), 200)
    kept = law.kept(r)
    bell = bell_kept(d, r / np.sqrt(max(law.spread, 1e-6)))
    lost, usual = 1 - kept, 1 - bell
    uneven = np.maximum(lost - usual, 0.0)
    size = max(law.spread, 1e-6)
    cost = (
        d * (d + 1) / 8 * (r * r / (signal * size * kept)) ** 2
        + d / 4 * (usual**2 + d * uneven**2) / kept**2
    )
    return float(r[int(np.argmin(cost))])


def unclipped(
    rounds: tuple[Moments, ...], counts: Floats, laws: tuple[RadialLaw, ...] | None = None
) -> tuple[Moments, ...]:
    """The rounds as they would be without a clip; ``laws`` hold in the last round's frames, else bells do."""
    last = rounds[-1]
    d = last.total.shape[1]
    z = np.random.default_rng(_SEED).standard_normal((_POINTS, d))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    z = np.concatenate([z, -z])
    level = (np.random.default_rng(_SEED + 1).permutation(2 * _POINTS) + 0.5) / (2 * _POINTS)
    points = []
    for k, n in enumerate(counts):
        length, size = np.sqrt(2 * gammaincinv(d / 2, level)), 1.0
        if laws is not None:
            length, size = laws[k].quantiles(level), laws[k].spread
        u = _as_seen(last, k, n, z * (length / np.sqrt(size))[:, None], size)
        points.append(last.frames.centres[k] + u @ last.frames.inverse[k].T)
    return tuple(_restored(r, points, counts, early=r is not last) for r in rounds)


def _as_seen(r: Moments, k: int, n: float, u: Floats, size: float) -> Floats:
    """The points u, of unit covariance, stretched to what the round saw of class k once they are clipped.

    What was seen is believed as far as its noise is small against what is expected of any class, size * I.
    """
    d = u.shape[1]
    mean = np.clip(r.total[k] / n, -r.radius[k], r.radius[k])
    seen = r.second[k] / n - mean[:, None] * mean
    error = r.second_sd[k] / n * np.sqrt(d / 2)
    trust = 1 / (1 + (error / (_EXPECTED * size)) ** 2)
    usual = size * np.eye(d)
    lost, points = np.zeros((d, d)), u
    for _ in range(_TURNS):
        values, vectors = np.linalg.eigh(usual + trust * (seen + lost - usual))
        # No wider than the clip by more than a little: beyond it the clipped moment says nothing.
        values = np.clip(values, 0.02 * size, np.maximum(r.radius[k] ** 2, size))
        points = mean + u @ ((vectors * np.sqrt(values)) @ vectors.T)
        lost = _lost(r, k, points)[1]
    return points


def _lost(r: Moments, k: int, u: Floats) -> tuple[Floats, Floats]:
    """First and second moment that the round's clip takes from points u in its coordinates."""
    kept = np.minimum(1.0, r.radius[k] / np.maximum(np.linalg.norm(u, axis=1), 1e-300))
    return ((1 - kept)[:, None] * u).mean(axis=0), (u * (1 - kept**2)[:, None]).T @ u / len(u)


def _restored(r: Moments, points: list[Floats], counts: Floats, early: bool) -> Moments:
    total, second = r.total.copy(), r.second.copy()
    total_sd, second_sd = r.total_sd.copy(), r.second_sd.copy()
    d = total.shape[1]
    for k, x in enumerate(points):
        u = (x - r.frames.centres[k]) @ r.frames.maps[k].T
        lost1, lost2 = _lost(r, k, u)
        n = counts[k]
        total[k] += n * lost1
        second[k] += n * lost2
        per_axis = np.trace(lost2) / d
        size = float((u * u).sum(axis=1).mean()) / d
        bell = size * (1 - float(bell_kept(d, r.radius[k] / np.sqrt(size))))
        excess = max(per_axis - bell, 0.0)
        doubt = _DOUBT * per_axis + (_UNEVEN * d * excess if early else 0.0)
        second_sd[k] = np.hypot(second_sd[k], n * doubt)
        total_sd[k] = np.hypot(
            total_sd[k], _DOUBT * n * per_axis / max(r.radius[k] / np.sqrt(d), 1.0)
        )
    return replace(r, total=total, second=second, total_sd=total_sd, second_sd=second_sd)
