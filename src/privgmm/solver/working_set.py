"""Many points, few that matter: at most d(d+1)/2 of them touch the ellipsoid.

Solve the dual on a small live set, score all N points with the result (one pass), let the violators
in and the idle points out, repeat. A pass costs about as much as X^T X; nothing else sees N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Floats
from privgmm.solver.newton import solve_dual, spectrum, warm_up

_MAX_ROUNDS = 60
_WARM_UP_STEPS = 7
# Rows per block of a pass: the block and its product stay in the cache.
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class DualSolution:
    """The dual optimum over all points, and what it certifies.

    ``root`` = M(p)^(1/2) in whitened coordinates, ``lower`` = (tr root)^2 <= optimum,
    ``support``/``multipliers`` the points with positive p, ``scores`` = s_n of all points.
    """

    root: Floats
    lower: float
    scores: Floats
    support: NDArray[np.intp]
    multipliers: Floats
    iterations: int


def solve_all(X: Floats, whiten: Floats, tol: float) -> DualSolution:
    """Minimum-trace ellipsoid of the points z_n = whiten^T x_n, which must span their space."""
    d = X.shape[1]
    q = d * (d + 1) // 2
    live, p, steps = _first_live_set(X, whiten, max(200, 10 * d))
    for round_ in range(_MAX_ROUNDS):
        Z = X[live] @ whiten
        dual = solve_dual(Z, p, tol / 2)
        p, steps = dual.multipliers, steps + dual.steps
        r, U = spectrum(Z, p)
        scores = quadratic_forms(X, whiten @ (U / np.sqrt(r)))
        trace = float(r.sum())
        worst = float(scores.max())
        if worst <= (1 + tol) * trace or round_ == _MAX_ROUNDS - 1:
            break
        entering = _violators(scores, live, trace, limit=max(64, q))
        if entering.size == 0:
            break  # the live set alone is at the precision that float64 gives
        # A short axis needs a tiny p: being near the surface counts as much as carrying weight.
        busy = (p > 1e-5 * p.max()) | (scores[live] > 0.5 * trace)
        live = np.concatenate([live[busy], entering])
        p = np.concatenate([p[busy], np.full(entering.size, 0.1 * p[busy].mean())])
        p, _ = warm_up(X[live] @ whiten, p / p.sum(), 1)
    root = (U * r) @ U.T
    return DualSolution(root, trace**2, scores, live, p, steps)


def _first_live_set(X: Floats, whiten: Floats, size: int) -> tuple[NDArray[np.intp], Floats, int]:
    """The points that score highest when all points weigh the same, warmed up."""
    n = X.shape[0]
    moment = whiten.T @ (X.T @ X) @ whiten / n
    eigenvalues, U = np.linalg.eigh(moment)
    scores = quadratic_forms(X, whiten @ (U * eigenvalues**-0.25))
    live = np.arange(n) if n <= size else np.argpartition(scores, n - size)[n - size :]
    start = scores[live] ** 2
    p, s = warm_up(X[live] @ whiten, start / start.sum(), _WARM_UP_STEPS)
    # About 2d points end up in contact, and the update has already sent most others towards zero.
    kept = max(60, 4 * X.shape[1])
    if live.size > kept:
        cut = live.size - kept
        chosen = np.union1d(np.argpartition(p, cut)[cut:], np.argpartition(s, cut)[cut:])
        live, p = live[chosen], p[chosen] / p[chosen].sum()
    return live, p, _WARM_UP_STEPS


def _violators(
    scores: Floats, live: NDArray[np.intp], trace: float, limit: int
) -> NDArray[np.intp]:
    """The worst points outside the live set that stick out of the current ellipsoid."""
    outside = np.flatnonzero(scores > trace)
    outside = outside[~np.isin(outside, live)]
    if outside.size > limit:
        outside = outside[np.argpartition(scores[outside], -limit)[-limit:]]
    return outside


def quadratic_forms(X: Floats, B: Floats) -> Floats:
    """|B^T x_n|^2 for every row x_n, in blocks that fit the cache."""
    n = X.shape[0]
    if n <= _BLOCK_ROWS:
        image = X @ B
        return np.asarray(np.einsum("ij,ij->i", image, image))
    out = np.empty(n)
    buffer = np.empty((_BLOCK_ROWS, B.shape[1]))
    for start in range(0, n, _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        image = np.matmul(block, B, out=buffer[: block.shape[0]])
        np.einsum("ij,ij->i", image, image, out=out[start : start + block.shape[0]])
    return out
