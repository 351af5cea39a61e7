"""How far out the rows of a class lie: noisy counts per shell, with the bell as a first guess.

A clip at radius r takes second moment away, and how much depends on the tails. The counts of rows by
their length ||u|| (in coordinates where the class has about unit covariance) say how heavy they are.
Where noise hides the counts the class is taken for a bell; where they contradict it, they are believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr

from privgmm.proven.record.frames import bell_kept
from privgmm.types import Flags, Floats

# Lengths, in units of sqrt(d), of the shells' edges: fine where a bell ends, coarser outside.
_EDGE_START, _SHELLS = 0.6, 18
# Scales of the bells whose mixture is fitted to the counts.
_SCALES_PER_OCTAVE = 2
# A scale that is not the bell's own enters only where it explains so many standard deviations of noise.
_ENTRY = 4.5
# After the fit, a shell (with all beyond it) is corrected by what is left if that is so significant.
_SURE = 5.0
_SWEEPS = 300


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


def shell_edges(dim: int, farthest: Floats) -> Floats:
    """(K, B - 1) edges for classes whose rows lie at most ``farthest`` (K,) from their centres."""
    last = np.maximum(farthest, 2.0 * np.sqrt(dim))
    steps = np.linspace(0.0, 1.0, _SHELLS - 1)
    start = _EDGE_START * np.sqrt(dim)
    return np.asarray(start * (last[:, None] / start) ** steps)


def radial_law(
    counts: Floats, edges: Floats, farthest: float, sigma: float, n: float, dim: int
) -> RadialLaw:
    """The law that explains noisy shell counts (B,), noise N(0, sigma^2) on each."""
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
    middle = np.sqrt((fine[:-1] ** 2 + fine[1:] ** 2) / 2)
    below = chdtr(dim, (fine[:, None] / scales) ** 2)
    parts = np.diff(below, axis=0)
    parts[-1] += 1 - below[-1]  # what a bell has beyond the farthest point lies there
    templates = np.zeros((edges.size + 1, scales.size))
    np.add.at(templates, shell, parts)
    own = np.abs(np.log2(scales)) < 0.01
    weights = _fit(counts, templates, own, sigma, n)
    expected = templates @ weights
    # What the bells leave unexplained, from the outside in: believed where it is sure.
    left = counts - expected
    correction = np.where(np.abs(left) > _SURE * sigma, left, 0.0)
    factor = np.maximum(expected + correction, 0.0) / np.maximum(expected, 1e-9)
    masses = parts @ weights * factor[shell]
    empty = expected < 1e-9
    if empty.any():
        masses = masses + np.where(
            empty[shell], np.maximum(correction, 0.0)[shell] / np.bincount(shell)[shell], 0.0
        )
    total = max(masses.sum(), 1e-12)
    return RadialLaw(middle, masses / total, sigma / max(n, 1.0), dim)


def _fit(counts: Floats, templates: Floats, own: Flags, sigma: float, n: float) -> Floats:
    """Nonnegative weights (in rows): least squares with a threshold on all scales but the bell's own."""
    gram = templates.T @ templates / sigma**2
    pull = templates.T @ counts / sigma**2
    size = np.sqrt(np.diagonal(gram))
    entry = np.where(own, 0.0, _ENTRY * size)
    weights = np.where(own, n, 0.0)
    for _ in range(_SWEEPS):
        for i in range(weights.size):
            slope = pull[i] - gram[i] @ weights - entry[i]
            weights[i] = max(weights[i] + slope / gram[i, i], 0.0)
    if weights.sum() <= 0:
        weights = np.where(own, 1.0, 0.0)
    return np.asarray(weights)


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
