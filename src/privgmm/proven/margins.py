"""The shape of each column in each class, from noisy histograms (record level) or from rows with soft labels (label level).

Record level. The range of a column is divided into small cells with masses p proportional to exp(ln b + f): b is the class's
Gaussian, its bell, and f has a Gaussian-process prior with mean zero. The noisy counts, and the released mean and deviation
with their errors, are the observations. Where noise hides the shape, f stays near zero and the bell is released.

Label level, where features are public. The rows of a class, weighted by their soft labels, are reweighted by
exp(a t + b t^2), which changes the weights as little as possible and gives them the released mean and deviation.
Both are post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from privgmm.model.margins import SCORES
from privgmm.types import Floats

# Priors of f, how a class may differ from its bell: the standard deviation of a smooth part, its correlation length in cells, and
# the standard deviation of a part that is independent for every cell (spikes). For each column the prior with the largest evidence
# is used. Chosen by hand to span a bell, smooth skew and spikes, while looking at wine and covertype (docs/shapes.md); not swept.
SHAPES = (
    (0.0, 1.0, 0.05),
    (0.3, 3.0, 0.1),
    (1.0, 6.0, 0.1),
    (1.0, 3.0, 0.1),
    (1.0, 3.0, 0.5),
    (2.0, 1.5, 1.0),
    (0.3, 3.0, 2.0),
)
# The part of b that is a Gaussian of three times the width, for columns with heavier tails than a Gaussian.
_TAILS = 0.03
# Stands for the logarithm of zero.
_NOTHING = -80.0
# Gauss-Newton iterations, the largest change of f in one of them, and a change after which a column takes no more.
_TURNS, _STEP, _SETTLED = 12, 1.5, 1e-4
# A tilt takes at most _TILTS Newton steps, each halved at most _HALVINGS times, and ends when a step gains less than _STILL nats.
_TILTS, _HALVINGS, _STILL = 30, 30, 1e-7
# Released means and second moments are treated as at least this uncertain, in deviations, so that no shape is bent to meet them exactly.
LEAST_ERROR = 0.01
# Every value of a column in a label-level file stands for at least this many rows, the smallest number that
# statistical offices usually ask for.
_TOGETHER = 5


@dataclass(frozen=True, eq=False)
class Seen:
    """Observations of M histograms with the same number G of cells and R of observations.

    edges : (M, G + 1) of the cells; parts : (M, R, G) the part of each cell's mass that an observation counts;
    answers, errors : (M, R) the observations and their standard errors; means, deviations : (M,) of the bells
    """

    edges: Floats
    parts: Floats
    answers: Floats
    errors: Floats
    means: Floats
    deviations: Floats


def shares(bins: Floats, edges: Floats) -> Floats:
    """(B, G) the part of every cell that lies in each bin; the first and the last bin reach to infinity."""
    ends = bins.copy()
    ends[0], ends[-1] = -np.inf, np.inf
    width = np.diff(edges)
    inside = np.minimum(ends[1:, None], edges[1:]) - np.maximum(ends[:-1, None], edges[:-1])
    return np.asarray(np.clip(inside / width, 0.0, 1.0))


def moments(edges: Floats, mean: Floats, deviation: Floats) -> Floats:
    """(M, 2, G) first and second moments of the cells about the mean, in deviations."""
    t = (edges - mean[:, None]) / deviation[:, None]
    middle, width = (t[:, 1:] + t[:, :-1]) / 2, np.diff(t)
    return np.stack([middle, middle**2 + width**2 / 12], axis=1)


def bells(edges: Floats, mean: Floats, deviation: Floats) -> Floats:
    """(M, G) masses of the bells between the first and the last edge, with a little more mass in the tails."""

    def masses(wide: Floats) -> Floats:
        p = np.diff(ndtr((edges - mean[:, None]) / wide[:, None])) + 1e-12 * np.diff(edges)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    p = (1 - _TAILS) * masses(deviation) + _TAILS * masses(3 * deviation)
    return np.maximum(p, 1e-12)


def denoised(seen: Seen, top: Floats) -> Floats:
    """(M, G) most probable masses of the cells, under the prior of SHAPES with the largest evidence; cells above ``top`` (M,) have none."""
    base = np.log(bells(seen.edges, seen.means, seen.deviations))
    base[(seen.edges[:, 1:] + seen.edges[:, :-1]) / 2 > top[:, None]] = _NOTHING
    A = seen.parts / seen.errors[:, :, None]
    y = seen.answers / seen.errors
    best, log_best = np.exp(base), np.full(len(y), -np.inf)
    for shape in SHAPES:
        p, evidence = _posterior(A, y, base, _prior(base.shape[1], *shape))
        better = evidence > log_best
        best = np.where(better[:, None], p, best)
        log_best = np.where(better, evidence, log_best)
    return best


def _prior(n_cells: int, smooth: float, reach: float, own: float) -> Floats:
    apart = np.arange(n_cells)[:, None] - np.arange(n_cells)
    return np.asarray(
        smooth**2 * np.exp(-(apart**2) / (2 * reach**2)) + (own**2 + 1e-6) * np.eye(n_cells)
    )


def _posterior(A: Floats, y: Floats, base: Floats, C: Floats) -> tuple[Floats, Floats]:
    """Masses at the mode of f ~ N(0, C) given y = A p + N(0, I), and Laplace's log evidence, for each of M."""
    f = np.zeros_like(base)
    moving = np.arange(len(y))
    for _ in range(_TURNS):
        some, at = A[moving], f[moving]
        _, off, J, H, S = _linearised(some, y[moving], base[moving], at, C)
        target = np.einsum("mgh,mh->mg", H, at) + np.einsum("mrg,mr->mg", J, off)
        step = np.linalg.solve(S, target[:, :, None])[:, :, 0] @ C - at
        size = np.abs(step).max(axis=1, keepdims=True)
        f[moving] = at + step * np.minimum(1.0, _STEP / np.maximum(size, 1e-12))
        moving = moving[size[:, 0] > _SETTLED]
        if not moving.size:
            break
    p, off, _, _, S = _linearised(A, y, base, f, C)
    cost = (off**2).sum(axis=1) + np.einsum("mg,mg->m", f, np.linalg.solve(C, f.T).T)
    return p, -0.5 * (cost + np.linalg.slogdet(S)[1])


def _linearised(
    A: Floats, y: Floats, base: Floats, f: Floats, C: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Masses p, what is left of y, J = A (diag p - p p^T), H = J^T J and S = I + H C."""
    p = np.exp(base + f - (base + f).max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    fitted = np.vecdot(A, p[:, None, :])
    J = (A - fitted[:, :, None]) * p[:, None, :]
    H = np.swapaxes(J, 1, 2) @ J
    return p, y - fitted, J, H, np.eye(len(C)) + H @ C


def row_quantiles(x: Floats, labels: Floats, bells: Floats, step: float | None = None) -> Floats:
    """(K, 161) quantiles of a column of visible rows x (n,) in each class, by soft labels (n, K).

    ``bells`` (4, K) are the released means and deviations and their errors. Where values are ``step`` apart each is spread
    over its step, so that rounding a sample gives it back; values that several rows share stay one value.
    """
    x = nobodys_own(x)
    if step is not None:
        x = np.round(x / step) * step
    order = np.argsort(x, kind="stable")
    # A row of each array is a class: sums over many rows of the table then run along the memory.
    x, w = x[order], np.ascontiguousarray(labels.T)[:, order] + 1e-300
    mean, deviation, mean_error, deviation_error = (bell[:, None] for bell in bells)
    t = (x - mean) / deviation
    w *= np.exp(
        _tilt(t, w / w.sum(axis=1)[:, None], mean_error / deviation, deviation_error / deviation)
    )
    w /= w.sum(axis=1)[:, None]
    below = np.cumsum(w, axis=1)
    if step is not None:
        ends = np.flatnonzero(np.append(np.diff(x) > step / 2, True))
        at = np.column_stack([x[ends] - step / 2, x[ends] + step / 2]).ravel()
        below = np.repeat(below[:, ends], 2, axis=1)
        below[:, ::2] = np.hstack([np.zeros((len(w), 1)), below[:, 1:-1:2]])
    else:
        at, below = x, below - w / 2
    levels = ndtr(SCORES)
    told = np.stack([np.interp(levels, shares, at) for shares in below])
    return np.maximum.accumulate(told, axis=1)


def nobodys_own(x: Floats) -> Floats:
    """The values x (n,) with rare ones averaged: ``_TOGETHER`` neighbouring values become their mean, so that no single row's value shows.

    Features are public at label level, so no guarantee depends on this; but a file that is passed on need not hold the
    largest income to the cent. Values that at least ``_TOGETHER`` rows share stay as they are.
    """
    _, kind, counts = np.unique(x, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(counts[kind] < _TOGETHER)
    if alone.size == 0:
        return x
    alone = alone[np.argsort(x[alone], kind="stable")]
    # The last block also takes the remaining rows, so that no block is smaller; fewer rows than that make one block.
    last = max(alone.size // _TOGETHER - 1, 0)
    block = np.minimum(np.arange(alone.size) // _TOGETHER, last)
    told = x.copy()
    told[alone] = (np.bincount(block, x[alone]) / np.bincount(block))[block]
    return told


def _tilt(t: Floats, w: Floats, mean_error: Floats, deviation_error: Floats) -> Floats:
    """(K, n) exponents a t + b t^2 that bring weights w (K, n) closest to mean 0 and second moment 1 of t (K, n).

    The least relative entropy plus what the moments are off by, in their errors e (K, 1): its dual is
    b - ln sum w exp(a t + b t^2) - (e_1^2 a^2 + e_2^2 b^2) / 2, which is concave and has one finite optimum.
    """
    square = t * t
    e = np.maximum([mean_error, 2 * deviation_error], LEAST_ERROR) ** 2

    def dual(at: Floats) -> tuple[Floats, Floats, Floats]:
        """Its value (K, 1), the exponents (K, n) and the tilted weights (K, n), at a and b (2, K, 1)."""
        exponent = at[1] * square
        exponent += at[0] * t
        top = exponent.max(axis=1, keepdims=True)
        exponent -= top
        p = np.exp(exponent)
        p *= w
        total = p.sum(axis=1, keepdims=True)
        p /= total
        value = at[1] - top - np.log(total) - (e * at * at).sum(axis=0) / 2
        return value, exponent, p

    at = np.zeros((2, t.shape[0], 1))
    value, exponent, p = dual(at)
    for _ in range(_TILTS):
        m1, m2 = np.vecdot(p, t)[:, None], np.vecdot(p, square)[:, None]
        off, off_square = t - m1, square - m2
        c12 = np.vecdot(p * off, off_square)[:, None]
        c11 = np.vecdot(p * off, off)[:, None] + e[0]
        c22 = np.vecdot(p * off_square, off_square)[:, None] + e[1]
        slope = np.array([-m1, 1 - m2]) - e * at
        newton = np.array([c22 * slope[0] - c12 * slope[1], c11 * slope[1] - c12 * slope[0]])
        newton /= c11 * c22 - c12 * c12
        gain = (newton * slope).sum(axis=0)
        if gain.max() < _STILL:
            break
        part = np.ones((t.shape[0], 1))
        for _ in range(_HALVINGS):
            new = dual(at + part * newton)
            worse = ~(new[0] >= value)
            if not worse.any():
                break
            part[worse] /= 2
        at = at + np.where(worse, 0.0, part) * newton
        value, exponent, p = dual(at) if worse.any() else new
    return exponent
