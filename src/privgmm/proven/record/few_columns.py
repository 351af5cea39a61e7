"""The log-posterior of classes of few columns as one linear map of monomials: what ``posterior`` computes, in half the time.

With three columns and a dozen chains nearly all time of ``Posterior`` goes to calling NumPy on tiny matrices. Here a class is
x = (n, diag L, 1 / diag L, m, the other entries of L). Everything that the log-density squares is linear in products of these:
    T = n (1, m, triangle of L L^T + m m^T),   the histograms' means,   L^-1 R = diag(1 / L_ii) (I + N)^-1 R,
where N_ij = L_ij / L_jj below the diagonal, so that (I + N)^-1 is a sum over descending paths of products of -N. And a product's
derivative in the logarithm of a factor is the product itself, which makes the gradient one more linear map.
The number of products grows like 2^d + d^3: beyond ``MOST_COLUMNS`` the matrices are faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from privgmm.proven.record.posterior import (
    LOG_COUNT,
    LOG_DIAGONAL,
    Posterior,
    fewest,
)
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Floats

# Draws for a release of four classes, in ms by matrices and by products: 102 and 51 with three columns, 126 and 95 with five, 140 and 148
# with six.
MOST_COLUMNS = 5
# Added to every entry, so that one may divide by it; it changes no entry but an exact zero.
_TINY = 1e-300
# The columns of x: 1, n - fewest and n, then diag L and its inverse, then theta.
_ONE, _EXCESS, _N, _DIAGONAL = range(4)

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Products:
    """Which columns of x are multiplied.

    m, L : the columns of the entries of m, and of L by row and column
    pairs : (2, z) the two columns of each product
    upper : the entries of a triangle by row and column
    triples : (i, j, k) of the products L_ik L_jk, which follow those for 1, m and m m^T
    paths : the products of N along each descending path
    stages : where products of two earlier ones begin, and which
    """

    m: list[int]
    L: dict[tuple[int, int], int]
    pairs: Places
    upper: list[tuple[int, int]]
    triples: list[tuple[int, int, int]]
    paths: dict[tuple[int, ...], int]
    stages: list[tuple[int, Places, Places]]

    @property
    def size(self) -> int:
        return int(self.pairs.shape[1])


def _products(d: int) -> _Products:
    inverse, theta = _DIAGONAL + d, _DIAGONAL + 2 * d
    m = [theta + 1 + i for i in range(d)]
    entries = [(i, j) for i in range(d) for j in range(i + 1)]
    L = {
        (i, j): _DIAGONAL + i if i == j else theta + 1 + d + at for at, (i, j) in enumerate(entries)
    }
    upper = list(combinations_with_replacement(range(d), 2))
    triples = [(i, j, k) for i, j in upper for k in range(i + 1)]
    pairs = [(_ONE, _ONE), *((_ONE, x) for x in m), *((m[i], m[j]) for i, j in upper)]
    pairs += [(L[i, k], L[j, k]) for i, j, k in triples]
    step: dict[tuple[int, ...], int] = {}
    for j, i in combinations(range(d), 2):
        step[i, j] = len(pairs)
        pairs.append((L[i, j], inverse + j))
    paths, longest = dict(step), dict(step)
    stages: list[tuple[int, Places, Places]] = []
    while longest := _longer(longest, step, paths, len(pairs), stages):
        # Until their stage they are one.
        pairs += [(_ONE, _ONE)] * len(longest)
    return _Products(m, L, np.array(pairs, dtype=np.intp).T, upper, triples, paths, stages)


def _longer(
    longest: dict[tuple[int, ...], int],
    step: dict[tuple[int, ...], int],
    paths: dict[tuple[int, ...], int],
    start: int,
    stages: list[tuple[int, Places, Places]],
) -> dict[tuple[int, ...], int]:
    """The paths that are one step longer, added to ``paths`` and as a stage."""
    longer: dict[tuple[int, ...], int] = {}
    factors = []
    for path, place in longest.items():
        for k in range(path[-1]):
            longer[(*path, k)] = start + len(longer)
            factors.append((place, step[path[-1], k]))
    if longer:
        left, right = np.array(factors, dtype=np.intp).T
        stages.append((start, left, right))
    paths |= longer
    return longer


def _squares(at: _Products, posterior: Posterior) -> Floats:
    """(K, z, p + 2 d + d^2) the totals per row, the columns' means and variances, and (I + N)^-1 R, from the products.

    Totals and means are such that their squares add up to what they cost.
    """
    totals, columns, scatter = posterior.totals, posterior.columns, posterior.scatter[:, 0]
    n_classes, d = scatter.shape[:2]
    sums = np.eye(at.size, totals.best.shape[-1])
    first = 1 + d + len(at.upper)
    back = columns.inverse[:, 0]
    means, variances = np.zeros((2, n_classes, at.size, d))
    weight = np.sqrt(columns.mean_weight)
    means[:, 1 : 1 + d] = np.swapaxes(back, 1, 2) * weight
    for place, (i, j, _) in enumerate(at.triples, first):
        sums[place, 1 + d + at.upper.index((i, j))] = 1
        variances[:, place] = back[:, :, i] * back[:, :, j] * (1 if i == j else 2)
    solved = np.zeros((n_classes, at.size, d, d))
    solved[:, 0] = scatter
    for path, place in at.paths.items():
        solved[:, place, path[0]] = (-1) ** (len(path) - 1) * scatter[:, path[-1]]
    root = _root(totals.precision)
    flat = solved.reshape(n_classes, at.size, d * d)
    return np.concatenate([sums @ root, means, variances, flat], axis=2)


def _root(precision: Floats) -> Floats:
    """(K, p, p) R with R R^T = precision; where it is singular to rounding, as after frames of very different widths, by its axes."""
    try:
        return np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
    except np.linalg.LinAlgError:
        values, axes = np.linalg.eigh(precision)
        return np.asarray(axes * np.sqrt(np.maximum(values, 0.0))[:, None, :])


class FewColumns:
    """Log-density (K, C) and gradient (K, C, D) of a posterior at theta (K, C, D), for at most ``MOST_COLUMNS`` columns."""

    def __init__(self, posterior: Posterior, chains: int) -> None:
        n_classes, d = posterior.frames.centres.shape
        totals, columns = posterior.totals, posterior.columns
        at = _products(d)
        self._dim, self._fewest = d, fewest(d)
        diagonal = [1 + d + entry for entry, (i, j) in enumerate(at.L) if i == j]
        self._special = np.array([0, *diagonal], dtype=np.intp)
        self._least = np.array([LOG_COUNT[0], *[-LOG_DIAGONAL] * d])
        self._most = np.array([LOG_COUNT[1], *[LOG_DIAGONAL] * d])
        self._pairs, self._stages = at.pairs, at.stages
        self._map = _squares(at, posterior)
        self._back = np.ascontiguousarray(np.swapaxes(self._map, 1, 2))
        inverse = _DIAGONAL + d + np.arange(d)
        p = totals.best.shape[-1]
        self._scales = np.array(
            [_N] * p + [_ONE] * (2 * d) + [i for i in inverse for _ in range(d)]
        )
        self._variances = slice(p + d, p + 2 * d)
        # As large as what they are added to: NumPy takes its time to stretch small arrays.
        self._shift = np.zeros((n_classes, chains, self._scales.size))
        best = totals.best @ _root(totals.precision)
        self._shift[..., :p] = -best
        self._shift[..., p : p + d] = columns.offset * np.sqrt(columns.mean_weight)
        weight = np.sqrt(columns.width_weight)
        self._width = weight / 2, weight * columns.log_sd
        self._narrow = np.full(d, 1 / (2 * TUNING.prior.widest**2))
        self._half_power = np.broadcast_to(columns.power / 2, columns.log_sd.shape)
        self._power = np.broadcast_to(posterior.power, (n_classes, 1, d))
        self._linear = np.zeros((n_classes, chains, 1 + d + len(at.L)))
        self._linear[..., 0] = 1
        self._linear[..., diagonal] = self._power
        # Derivatives in ln n, ln diag L, and x times those in the other entries.
        logs = np.zeros((_DIAGONAL + 2 * d + self._linear.shape[-1], self._linear.shape[-1]))
        inside = [_N, *at.m, *at.L.values()]
        logs[inside, np.arange(len(inside))] = 1
        logs[inverse, diagonal] = -1
        products = logs[at.pairs].sum(axis=0)
        for start, left, right in at.stages:
            products[start : start + left.size] = products[left] + products[right]
        self._product_logs, self._scale_logs = -products, -logs[self._scales]
        others = [_ONE if i == j else column for (i, j), column in at.L.items()]
        self._divisors = np.array([_N, *at.m, *others])

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """As ``Posterior`` has them, but for rounding."""
        d, v = self._dim, self._variances
        shape = theta.shape[:-1]
        special = theta.take(self._special, axis=-1)
        np.maximum(special, self._least, out=special)
        np.minimum(special, self._most, out=special)
        x = np.empty((*shape, _DIAGONAL + 2 * d + theta.shape[-1]))
        x[..., _ONE] = 1
        excess, diagonal = x[..., _EXCESS], x[..., _DIAGONAL : _DIAGONAL + d]
        np.exp(special[..., 0], out=excess)
        np.add(excess, self._fewest, out=x[..., _N])
        np.exp(special[..., 1:], out=diagonal)
        np.divide(1.0, diagonal, out=x[..., _DIAGONAL + d : _DIAGONAL + 2 * d])
        np.add(theta, _TINY, out=x[..., _DIAGONAL + 2 * d :])
        left, right = self._pairs
        products = x.take(left, axis=-1)
        products *= x.take(right, axis=-1)
        for start, left, right in self._stages:
            stage = products[..., start : start + left.size]
            np.multiply(products.take(left, axis=-1), products.take(right, axis=-1), out=stage)
        scales = x.take(self._scales, axis=-1)
        scaled = products @ self._map
        scaled *= scales
        # The log-density is minus half of these squares, but for the variances, of which it takes the ln and the distance from what
        # the histograms expect, in deviations; and for terms that are linear in ln n, ln diag L, these ln, and the variances.
        squared = scaled + self._shift
        variance = squared[..., v].copy()
        log_variance = np.log(variance)
        half, expected = self._width
        width = log_variance * half
        width -= expected
        squared[..., v] = width
        value = np.vecdot(squared, squared)
        value *= -0.5
        value += theta[..., 0]
        value += np.vecdot(special[..., 1:], self._power)
        value -= np.vecdot(log_variance, self._half_power)
        value -= np.vecdot(variance, self._narrow)
        # The gradient with its sign turned, from the squares down to theta: through the products and through the scales.
        width *= half
        width += self._half_power
        width /= variance
        width += self._narrow
        slope = squared * scales
        slope[..., v] = width
        squared[..., v] = 0
        scaled *= squared
        products *= slope @ self._back
        out = products @ self._product_logs
        out += scaled @ self._scale_logs
        out /= x.take(self._divisors, axis=-1)
        out[..., 0] *= excess
        out += self._linear
        return value, out
