"""Choose the few points that matter among many: at most d(d+1)/2 points are needed to hold the ellipsoid.

There are two sieves. The pool holds the points that a pass over all N points found farthest out; inside the pool a
small live set carries the dual. We solve on the live set, add violators from the pool and remove idle points until the
pool is covered, and then check all N points in one pass, which also refills the pool. A pass costs about as much as
X^T X, nothing else depends on N, and three passes usually suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.solver.newton import AxisPairs, DualPoint, solve_dual, spectrum, warm_up
from privgmm.solver.points import SomePoints, Survey, Whitening, farthest, quadratic_forms
from privgmm.types import Floats

# Rows that a pass may keep, and how near to the surface they must be once there is an ellipsoid.
_POOL = 4096
_NEAR = 0.8
# Bounds on passes over all points and on rounds within the pool. Where one is met the answer is
# still feasible, and its gap says how far it may be from the best.
_MAX_PASSES = 30
_MAX_ROUNDS = 60
# Multiplicative steps that rank the first candidates, and how many of them start (at least).
_WARM_UP_STEPS = 5
_FIRST_LIVE = 30
# The farthest point's score is known to this relative precision; the shape is inflated by it.
_ROUNDING = 1e-12
# A live point leaves when it gives less than this share of any direction and is this far inside.
_IDLE, _SLACK = 1e-5, 1e-3
# An earlier answer is of use if its points give at least this part of the shortest axis, squared.
_SPANNING = 1e-4


@dataclass(frozen=True)
class Covering:
    """A shape that contains all points, and the dual that bounds how much smaller one could be."""

    shape: Floats
    value: float
    gap: float
    support: NDArray[np.intp]
    multipliers: Floats
    iterations: int
    passes: int


@dataclass(frozen=True)
class Live:
    """Positions in the pool that carry multipliers (sum one)."""

    at: NDArray[np.intp]
    p: Floats


def cover(seen: Survey, white: Whitening, tol: float, start: Floats) -> Covering:
    """Minimum-trace ellipsoid of all points; ``start`` holds multipliers of the rows picked already."""
    into, weight = white.into, white.factor @ white.factor.T
    pool, passes, steps = seen.picked, seen.passes + (white.flat.size > 0), 1
    live = _resumed(pool.rows @ into, start, white.spread[0])
    if live is None:
        # The points that score highest when all points weigh the same.
        metric = white.axes * white.spread**-0.25
        _, pool = farthest(seen.reader, metric, seen.count, _POOL)
        live = _first_live_set(pool.rows @ into, quadratic_forms(pool.rows, metric))
        passes, steps = passes + 1, _WARM_UP_STEPS
    spent = steps
    while True:
        stuck = spent == 0  # if this happens twice in a row, float64 allows no further progress
        live, dual, spent = _solve_pool(pool.rows @ into, live, tol)
        steps += spent
        shape = white.shape(dual.root, dual.trace)
        factor = np.linalg.inv(np.linalg.cholesky(shape)).T
        worst, far = farthest(seen.reader, factor, seen.count, _POOL, _NEAR)
        passes += 1
        support = pool.index[live.at]
        # Inflated to touch the worst point of all: feasible by construction.
        shape = shape * (worst * (1 + _ROUNDING))
        value = float(np.sum(shape * weight))
        gap = max(value / dual.trace**2 - 1, 0.0)
        done = gap <= tol or passes >= _MAX_PASSES or (stuck and spent == 0)
        if done or np.isin(far.index, pool.index).all():
            return Covering(shape, value, gap, support, live.p, steps, passes)
        new = ~np.isin(far.index, support)
        pool = SomePoints(
            np.concatenate([pool.rows[live.at], far.rows[new]]),
            np.concatenate([support, far.index[new]]),
        )
        live = Live(np.arange(support.size), live.p)


def _solve_pool(Z: Floats, live: Live, tol: float) -> tuple[Live, DualPoint, int]:
    """The dual over the points of the pool, and the steps it took."""
    # Only a few violators enter at a time: a step on m points costs m^2 or more, and most points that enter leave again.
    limit, steps = max(64, 4 * Z.shape[1]), 0
    at, p, pairs = live.at, live.p, AxisPairs.of(Z.shape[1])
    for round_ in range(_MAX_ROUNDS):
        dual = solve_dual(Z[at], p, tol / 2, pairs)
        p, steps = dual.multipliers, steps + dual.steps
        scores = quadratic_forms(Z, dual.U / np.sqrt(dual.r))
        if scores.max() <= (1 + tol) * dual.trace or round_ == _MAX_ROUNDS - 1:
            break
        entering = _violators(scores, at, dual.trace, limit)
        if entering.size == 0:
            break  # the live set is solved to the precision of float64
        # A short axis lives on tiny p: what counts is the share p_n z_n^T M^-1 z_n of a direction.
        share = p * quadratic_forms(Z[at], dual.U / dual.r)
        busy = (share > _IDLE) | (scores[at] > (1 - _SLACK) * dual.trace)
        at = np.concatenate([at[busy], entering])
        p = np.concatenate([p[busy], np.full(entering.size, 0.1 * p[busy].mean())])
        p, _ = warm_up(Z[at], p / p.sum(), 1)
    return Live(at, p), dual, steps


def _resumed(Z: Floats, p: Floats, shortest: float) -> Live | None:
    """The multipliers of an earlier answer, if their points still span the space; else None."""
    if p.size == 0 or not spectrum(Z, p)[0].min() ** 2 > _SPANNING * shortest:
        return None
    # Points that had no weight may need some now: the update floors and moves them.
    p, _ = warm_up(Z, p / p.sum(), 1)
    return Live(np.arange(p.size), p)


def _first_live_set(Z: Floats, scores: Floats) -> Live:
    """The points of the pool with the largest multipliers after a few multiplicative updates."""
    n, d = Z.shape
    size = max(200, 10 * d)
    at = np.arange(n) if n <= size else np.argpartition(scores, n - size)[n - size :]
    p = scores[at] ** 2
    p, s = warm_up(Z[at], p / p.sum(), _WARM_UP_STEPS)
    # About 2d points end up in contact, and the update has already sent most others towards zero.
    kept = max(_FIRST_LIVE, 4 * d)
    if at.size > kept:
        cut = at.size - kept
        chosen = np.zeros(at.size, dtype=bool)
        chosen[np.argpartition(p, cut)[cut:]] = True
        chosen[np.argpartition(s, cut)[cut:]] = True
        at, p = at[chosen], p[chosen] / p[chosen].sum()
    return Live(at, p)


def _violators(
    scores: Floats, live: NDArray[np.intp], trace: float, limit: int
) -> NDArray[np.intp]:
    """The worst points outside the live set that stick out of the current ellipsoid."""
    outside = np.flatnonzero(scores > trace)
    outside = outside[~np.isin(outside, live)]
    if outside.size > limit:
        outside = outside[np.argpartition(scores[outside], -limit)[-limit:]]
    return outside
