"""How far out the rows of each class lie: the distribution of their length ||u||, from noisy counts of shells around the class.

Where noise hides the counts, a class is assumed to be Gaussian; where they contradict that, they are believed. Tails that are
too faint to show in one class may show in all classes together: columns mean the same in every class, so all classes are
assumed to have tails of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, gammaincinv, logsumexp

from privgmm.proven.record.frames import bell_kept
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Flags, Floats

# Lengths, in units of sqrt(d), of the shells' edges: fine where a bell ends, coarser outside.
_EDGE_START, _SHELLS = 0.6, 18
# Scales of the bells whose mixture is fitted to the counts.
_SCALES_PER_OCTAVE = 2
_SWEEPS = 300
# The fit ends after a sweep that changes no weight by more than this part of a count's noise.
_STILL = 1e-6
# Sweeps of the fit where it is made for many draws of the noise, which need no more than two digits.
_REDRAWN_SWEEPS = 60
# Kinds of tails: this part of the rows is a bell so many times as wide as the others'. They end, as rows in stated bounds do
# (Student's t instead made electricity profiles at epsilon 16 half as far again from the fit).
_TAILS = tuple((part, times) for times in (1.5, 2.0, 3.0, 5.0, 10.0) for part in (0.1, 0.3))
# Rows far from all others, as codes for missing values and wrong entries are: this part of them in a bell so many times as wide as the frame.
_FAR_TAILS = tuple(
    (part, 10.0 ** (k / 3)) for k in range(3, 10) for part in (0.003, 0.01, 0.03, 0.1)
)
# ln of how many times as wide as its frame a class's core may be: where it ends, and how many widths are tried.
_CORE_MOST, _CORES = 1.5, 31


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

    def taken(self, radius: float) -> float:
        """E (||u||^2 - r^2)+: what a clip at this radius takes of E ||u||^2."""
        return float(np.maximum(self.lengths**2 - radius**2, 0.0) @ self.masses)

    def quantiles(self, level: Floats) -> Floats:
        """Lengths below which the shares ``level`` of the rows lie."""
        at = np.searchsorted(np.cumsum(self.masses), level)
        return self.lengths[np.minimum(at, self.lengths.size - 1)]

    @property
    def reach(self) -> float:
        """The length within which all but a hundredth of E ||u||^2 lies."""
        squares = np.cumsum(self.lengths**2 * self.masses)
        return float(self.lengths[int(np.searchsorted(squares, 0.99 * squares[-1]))])

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

    @cached_property
    def _made(self) -> dict[tuple[int, int], _Templates]:
        return {}

    def templates(self, k: int, dim: int) -> _Templates:
        """What is fitted to the counts of class k, made once: several laws are fitted to the same counts."""
        if (k, dim) not in self._made:
            self._made[k, dim] = _templates(self.edges[k], self.farthest[k], dim)
        return self._made[k, dim]

    def together(self, again: Shells) -> Shells:
        """Two noisy counts of the same shells as one."""
        part = (again.sd**2 / (self.sd**2 + again.sd**2))[:, None]
        counts = part * self.counts + (1 - part) * again.counts
        return Shells(counts, self.edges, np.sqrt(part[:, 0]) * self.sd, self.farthest)


def shell_edges(dim: int, farthest: Floats) -> Floats:
    """(K, B - 1) edges for classes whose rows lie at most ``farthest`` (K,) from their centres."""
    last = np.maximum(farthest, 2.0 * np.sqrt(dim))
    steps = np.linspace(0.0, 1.0, _SHELLS - 1)
    start = _EDGE_START * np.sqrt(dim)
    return np.asarray(start * (last[:, None] / start) ** steps)


def radial_laws(
    shells: Shells, counts: Floats, dim: int, for_radius: bool = False, far: bool = False
) -> tuple[RadialLaw, ...]:
    """The radial law of each class, by its own shells and by the kind of tails that all classes together show; they have ``counts`` (K,) rows.

    The kind is one of ``_TAILS`` or none. Its log-evidence is the sum over the classes, each with a width of its own. Under "none"
    a class keeps the law that it surely shows by itself (``radial_law``), so that a weak hypothesis cannot remove it. With
    ``for_radius`` fainter tails are believed of large classes. With ``far`` the kinds of ``_FAR_TAILS`` may be, too.
    """
    entry = np.full(counts.size, TUNING.tails.entry)
    if for_radius:
        entry = np.interp(
            np.log(np.maximum(counts, 1.0) / shells.sd),
            np.log(TUNING.tails.large),
            TUNING.tails.radius_entry,
        )
    own = [radial_law(shells, k, n, dim, entry[k]) for k, n in enumerate(counts)]
    if far and far_out(tuple(own), counts, shells.sd).any():
        # Where one class has rows far out, others are likely to.
        own = [
            radial_law(shells, k, n, dim, TUNING.tails.radius_entry[1])
            for k, n in enumerate(counts)
        ]
    kinds = len(_TAILS) + (len(_FAR_TAILS) if far else 0)
    evidence = np.zeros(1 + kinds)
    tailed = []
    for k, (law, n) in enumerate(zip(own, counts, strict=True)):
        at = shells.templates(k, dim)
        parts, log_prior = _two_bells(at, dim, far) if far else at.two_bells
        left = shells.counts[k] - n * _in_shells(parts, at.shell)
        log_post = log_prior - 0.5 * (left**2).sum(axis=-1) / shells.sd[k] ** 2
        shown = shells.counts[k] - n * _in_shells(law.masses, at.shell)
        seen = logsumexp(log_post, axis=1)
        seen[0] = max(seen[0], -0.5 * float(shown @ shown) / shells.sd[k] ** 2)
        evidence += seen
        tailed.append(np.einsum("fs,fsp->fp", np.exp(log_post[1:] - seen[1:, None]), parts[1:]))
    evidence += np.log([TUNING.tails.bells] + [(1 - TUNING.tails.bells) / kinds] * kinds)
    likely = np.exp(evidence - logsumexp(evidence))
    if likely[1 + len(_TAILS) :].sum() < TUNING.far.likely:
        likely[1 + len(_TAILS) :] = 0.0
        likely /= likely.sum()
    return tuple(
        RadialLaw(law.lengths, likely[0] * law.masses + likely[1:] @ masses, law.mass_sd, dim)
        for law, masses in zip(own, tailed, strict=True)
    )


def own_laws(shells: Shells, counts: Floats, dim: int) -> tuple[RadialLaw, ...]:
    """The law of each class by its own shells, for frames of spikes: rows far from a spike are no surprise."""
    return tuple(radial_law(shells, k, n, dim, TUNING.spikes.entry) for k, n in enumerate(counts))


def far_out(laws: tuple[RadialLaw, ...], counts: Floats, sd: Floats) -> Flags:
    """(K,) classes much wider than their frames, of rows enough (K,) for the noise of a shell (K,) to show it."""
    return np.array([law.spread > TUNING.far.spread for law in laws]) & (
        counts > TUNING.far.seen * sd
    )


def far_beyond(laws: tuple[RadialLaw, ...], lengths: Floats | float) -> Flags:
    """(K,) classes whose rows reach beyond so far (K,)."""
    return np.asarray(np.array([law.reach for law in laws]) > lengths)


def _two_bells(at: _Templates, dim: int, far: bool) -> tuple[Floats, Floats]:
    """Parts (F, S, P) in the fine shells of one bell and of every kind of tails, for cores of S widths; ln of the prior (F, S).

    A core is as wide as a bell with the same median length; its width is thought near that of the frame.
    """
    widths = np.exp(np.linspace(-_CORE_MOST, _CORE_MOST, _CORES))[:, None]
    below = [chdtr(dim, (at.ends / widths) ** 2)]
    for part, times in _TAILS:
        below.append((1 - part) * below[0] + part * chdtr(dim, (at.ends / widths / times) ** 2))
    for part, times in _FAR_TAILS if far else ():
        below.append((1 - part) * below[0] + part * chdtr(dim, (at.ends / times) ** 2))
    parts = np.diff(np.array(below), axis=-1)
    parts /= np.maximum(parts.sum(axis=-1, keepdims=True), 1e-300)
    middle = (parts.cumsum(axis=-1) < 0.5).sum(axis=-1)
    core = at.lengths[np.minimum(middle, at.lengths.size - 1)] / np.sqrt(
        2 * gammaincinv(dim / 2, 0.5)
    )
    log_prior = -0.5 * (np.log(core) / TUNING.tails.core) ** 2
    return parts, log_prior - logsumexp(log_prior, axis=1, keepdims=True)


def _in_shells(parts: Floats, shell: NDArray[np.intp]) -> Floats:
    """Parts (..., P) of the fine shells added up to those of the counted ones (..., B)."""
    first = np.flatnonzero(np.diff(shell, prepend=-1))
    return np.asarray(np.add.reduceat(parts, first, axis=-1))


def radial_law(shells: Shells, k: int, n: float, dim: int, entry: float | None = None) -> RadialLaw:
    """The law that explains the noisy shell counts of class k; a scale enters by so many standard deviations."""
    at = shells.templates(k, dim)
    entry = TUNING.tails.entry if entry is None else entry
    counts, sigma = shells.counts[k], float(shells.sd[k])
    weights = _fit(counts[None], at, sigma, n, np.array([entry]), _SWEEPS)[0]
    expected = at.templates @ weights
    # What the bells leave unexplained, from the outside in: believed where it is sure.
    left = counts - expected
    correction = np.where(np.abs(left) > TUNING.tails.sure * sigma, left, 0.0)
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
    shells: Shells, k: int, n: float, dim: int, radius: float, lots: Floats, farthest: Floats
) -> tuple[Floats, Floats]:
    """Draws (S,) of E(|u| - r)+ and E(|u|^2 - r^2)+ of an odd class k: what a clip at r may take of its rows.

    ``lots`` (S, B) are standard normal draws: the law is fitted again to counts minus a draw of their noise. No row of a draw
    lies farther out than ``farthest`` (S,).
    """
    at = shells.templates(k, dim)
    sigma = float(shells.sd[k])
    least = np.linspace(*TUNING.tails.beyond_entry, len(lots))
    weights = _fit(shells.counts[k] + sigma * lots, at, sigma, n, least, _REDRAWN_SWEEPS)
    masses = weights @ at.parts.T
    masses /= np.maximum(masses.sum(axis=1, keepdims=True), 1e-12)
    far = np.maximum(np.minimum(at.lengths, farthest[:, None]), radius)
    return (masses * (far - radius)).sum(axis=1), (masses * (far**2 - radius**2)).sum(axis=1)


@dataclass(frozen=True, eq=False)
class _Templates:
    """Bells of several scales: their parts (P, M) in fine shells between ``ends`` (P + 1,), of these lengths (P,), which lie
    in ``shell`` (P,), and in the counted ones (B, M); ``own`` (M,) is the scale that the frame expects."""

    ends: Floats
    lengths: Floats
    shell: NDArray[np.intp]
    parts: Floats
    templates: Floats
    own: Flags
    dim: int

    @cached_property
    def two_bells(self) -> tuple[Floats, Floats]:
        """``_two_bells`` of the usual kinds of tails."""
        return _two_bells(self, self.dim, far=False)


def _templates(edges: Floats, farthest: float, dim: int) -> _Templates:
    top = max(farthest, edges[-1] * 1.01)
    octaves = np.log2(top / np.sqrt(dim))
    scales = 2.0 ** np.arange(-2.0, max(octaves, 0.5) + 0.01, 1 / _SCALES_PER_OCTAVE)
    fine = np.concatenate(
        [
            np.linspace(0, edges[0], 12)[:-1],
            np.geomspace(edges, [*edges[1:], top], 7, axis=1)[:, :-1].ravel(),
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
    return _Templates(fine, lengths, shell, parts, templates, np.abs(np.log2(scales)) < 0.01, dim)


def _fit(
    counts: Floats, at: _Templates, sigma: float, n: float, least: Floats, sweeps: int
) -> Floats:
    """(S, M) nonnegative weights (in rows) for counts (S, B): least squares with a threshold on all scales but the bell's own."""
    gram = at.templates.T @ at.templates / sigma**2
    pull = counts @ at.templates / sigma**2
    entry = np.where(at.own, 0.0, least[:, None] * np.sqrt(np.diagonal(gram)))
    weights = np.tile(np.where(at.own, n, 0.0), (len(counts), 1))
    for _ in range(sweeps):
        # A scale that has no weight and would take none can wait for the next sweep.
        slopes = pull - weights @ gram - entry
        before = weights.copy()
        for i in np.flatnonzero(((weights > 0) | (slopes > 0)).any(axis=0)):
            slope = pull[:, i] - weights @ gram[i] - entry[:, i]
            weights[:, i] = np.maximum(weights[:, i] + slope / gram[i, i], 0.0)
        if np.abs(weights - before).max() <= _STILL * sigma:
            break
    none = weights.sum(axis=1) <= 0
    weights[none] = np.where(at.own, 1.0, 0.0)
    return weights


def choose_radius(law: RadialLaw, signal: float, hiding: float = 0.0) -> float:
    """The radius whose noise and clipping together cost least; signal is n mu / sensitivity.

    In the KL of a covariance, noise costs d(d+1)/8 (r^2 / signal)^2. Clipping takes the share 1 - kept of E|u|^2, which is
    put back evenly over all directions. Where a bell loses it that is right, and its error costs d/4 (1 - kept)^2; what
    is lost beyond that may all lie in one direction (covertype's hillshades), where it costs (d (1 - kept))^2 / 4.
    Noise that is not small hides directions, which costs more than its square: ``hiding`` times d relative noise^2 is added to one.
    """
    d = law.dim
    r = np.geomspace(0.8 * np.sqrt(d), max(law.lengths[-1], 2 * np.sqrt(d)), 200)
    kept = law.kept(r)
    bell = bell_kept(d, r / np.sqrt(max(law.spread, 1e-6)))
    lost, usual = 1 - kept, 1 - bell
    uneven = np.maximum(lost - usual, 0.0)
    size = max(law.spread, 1e-6)
    noise = (r * r / (signal * size * kept)) ** 2
    cost = (
        d * (d + 1) / 8 * noise * (1 + hiding * d * noise)
        + d / 4 * (usual**2 + d * uneven**2) / kept**2
    )
    return float(r[int(np.argmin(cost))])
