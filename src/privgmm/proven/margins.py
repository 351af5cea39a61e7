"""The shape of each column of each class, from noisy histograms and the release itself.

Masses p of small cells are exp(ln b + f), normalised: b is the class's bell, and f a Gaussian process that the counts
must pay for. Where noise hides the shape f stays near zero and the bell is released; the release's mean and
deviation are observations beside the counts, with their own errors. All of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from privgmm.types import Floats

# How a class may differ from its bell: the deviation of a smooth part of f, its reach in cells, and the deviation of
# a part of its own for every cell (spikes). The likeliest given the counts is taken, column by column. Chosen by
# hand to span a bell, smooth skew and spikes, while looking at wine and covertype (docs/shapes.md); not swept.
SHAPES = (
    (0.0, 1.0, 0.05),
    (0.3, 3.0, 0.1),
    (1.0, 6.0, 0.1),
    (1.0, 3.0, 0.1),
    (1.0, 3.0, 0.5),
    (2.0, 1.5, 1.0),
    (0.3, 3.0, 2.0),
)
# Part of b that is a bell of three times the width: tails that a bell has not.
_TAILS = 0.03
# The logarithm of no mass at all.
_NOTHING = -80.0
# Gauss-Newton turns, and the largest step of f in one of them.
_TURNS, _STEP = 12, 1.5


@dataclass(frozen=True, eq=False)
class Seen:
    """M histograms with the same number of cells and observations.

    edges : (M, G + 1) of the cells; parts : (M, R, G) what each observation counts of a cell;
    answers, errors : (M, R); means, deviations : (M,) of the bells
    """

    edges: Floats
    parts: Floats
    answers: Floats
    errors: Floats
    means: Floats
    deviations: Floats


def shares(bins: Floats, edges: Floats) -> Floats:
    """(B, G) the part of every cell that lies in each bin; the first and last bin have no outer end."""
    ends = bins.copy()
    ends[0], ends[-1] = -np.inf, np.inf
    width = np.diff(edges)
    inside = np.minimum(ends[1:, None], edges[1:]) - np.maximum(ends[:-1, None], edges[:-1])
    return np.asarray(np.clip(inside / width, 0.0, 1.0))


def moments(edges: Floats, mean: Floats, deviation: Floats) -> Floats:
    """(M, 2, G) first and second moment of a cell about the mean, in deviations."""
    t = (edges - mean[:, None]) / deviation[:, None]
    middle, width = (t[:, 1:] + t[:, :-1]) / 2, np.diff(t)
    return np.stack([middle, middle**2 + width**2 / 12], axis=1)


def bells(edges: Floats, mean: Floats, deviation: Floats) -> Floats:
    """(M, G) masses of the bells between the first and the last edge, with some more in the tails."""

    def masses(wide: Floats) -> Floats:
        p = np.diff(ndtr((edges - mean[:, None]) / wide[:, None])) + 1e-12 * np.diff(edges)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    p = (1 - _TAILS) * masses(deviation) + _TAILS * masses(3 * deviation)
    return np.maximum(p, 1e-12)


def denoised(seen: Seen, top: Floats) -> Floats:
    """(M, G) masses of the cells: the most probable under the likeliest of SHAPES; none above ``top`` (M,)."""
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
    eye, f = np.eye(C.shape[0]), np.zeros_like(base)
    for turn in range(_TURNS + 1):
        p = np.exp(base + f - (base + f).max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        fitted = np.einsum("mrg,mg->mr", A, p)
        J = (A - fitted[:, :, None]) * p[:, None, :]  # A (diag p - p p^T)
        H = np.swapaxes(J, 1, 2) @ J
        S = eye + H @ C
        if turn == _TURNS:
            break
        target = np.einsum("mgh,mh->mg", H, f) + np.einsum("mrg,mr->mg", J, y - fitted)
        step = np.linalg.solve(S, target[:, :, None])[:, :, 0] @ C - f
        size = np.abs(step).max(axis=1, keepdims=True)
        f = f + step * np.minimum(1.0, _STEP / np.maximum(size, 1e-12))
    cost = ((y - fitted) ** 2).sum(axis=1) + np.einsum("mg,mg->m", f, np.linalg.solve(C, f.T).T)
    return p, -0.5 * (cost + np.linalg.slogdet(S)[1])
