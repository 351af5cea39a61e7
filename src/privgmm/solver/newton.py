"""The dual of the minimum-trace ellipsoid on a few points: multiplicative warm-up, then Newton.

For points z_1..z_m and multipliers p >= 0 let M(p) = sum_n p_n z_n z_n^T. The dual of

    min tr Y   s.t.  Y >= z_n z_n^T for all n         (equivalently z_n^T Y^-1 z_n <= 1)

is   max_p  2 tr M(p)^(1/2) - sum_n p_n,   with gradient  s_n - 1,   s_n = z_n^T M(p)^(-1/2) z_n.

In the eigenbasis of M, with r = eigenvalues of M^(1/2) and v_n = r^(-1/2) U^T z_n,

    s_n = |v_n|^2,     -d s_i / d p_j = sum_ab v_ia v_ib v_ja v_jb / (r_a + r_b) = (Q Q^T)_ij,

so the negative Hessian is Q Q^T with Q of d(d+1)/2 columns: a Newton step costs one small Cholesky.
The barrier tau * sum ln p keeps p positive; t_n stands for the slack 1 - s_n with p_n t_n -> tau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dsyevd

from privgmm.types import Floats

# Bounds on Newton steps and on halvings within one; the gap of the answer shows if one was met.
_MAX_STEPS = 60
_MAX_HALVINGS = 25
# t is kept within this factor of tau / p, so that a bad step cannot freeze a coordinate for ever.
_CENTRALITY = 1e3
# Ratio of eigenvalues of M(p) below which its short axes are computed from the points themselves.
_ILL_CONDITIONED = 1e-6


@dataclass(frozen=True)
class DualPoint:
    """Multipliers p on the simplex, r and U of M(p)^(1/2) = U diag(r) U^T, and the steps spent."""

    multipliers: Floats
    r: Floats
    U: Floats
    steps: int

    @property
    def trace(self) -> float:
        """tr M(p)^(1/2): its square is a lower bound of the optimum, by weak duality."""
        return float(self.r.sum())

    @property
    def root(self) -> Floats:
        """(d, d) M(p)^(1/2), from its eigenvalues and eigenvectors."""
        return np.asarray((self.U * self.r) @ self.U.T)


def spectrum(Z: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues r of M(p)^(1/2), floored above zero, and the eigenvectors of M(p)."""
    # LAPACK is called directly: for small d np.linalg.eigh spends most of its time around that call.
    eigenvalues, U, info = dsyevd((Z.T * p) @ Z)
    if info == 0 and eigenvalues[0] > _ILL_CONDITIONED * eigenvalues[-1]:
        return np.sqrt(eigenvalues), U
    # Squaring has lost half of the digits of the short axes, so they are computed from the points themselves.
    _, r, Vt = np.linalg.svd(np.sqrt(p)[:, None] * Z, full_matrices=len(p) < Z.shape[1])
    # The relative floor keeps a direction that p has not reached yet from giving an infinite score.
    r = np.concatenate([r, np.zeros(Vt.shape[0] - r.size)])
    return np.maximum(r, 1e-13 * r[0]), Vt.T


def warm_up(Z: Floats, p: Floats, steps: int) -> tuple[Floats, Floats]:
    """p_n <- p_n s_n^2, normalised: the multiplicative update with a bold exponent.

    With exponent 1 it is monotone but slow; 2 loses the proof and keeps the aim, which is all a
    starting point needs (the certificate is computed from the final p, whatever its history).
    Returns p and the scores that the last update used.
    """
    ones = np.ones(Z.shape[1])  # a product with ones sums rows fastest
    for _ in range(steps):
        r, U = spectrum(Z, p)
        V = Z @ (U / np.sqrt(r))
        s = (V * V) @ ones
        p = p * (s * s)
        p = np.maximum(p / p.sum(), 1e-4 / p.size)
    return p / p.sum(), s


class AxisPairs(NamedTuple):
    """All pairs a <= b of axes, and the square root of how often each pair occurs in the full matrix: sqrt 2 off the diagonal."""

    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    multiplicity: Floats

    @staticmethod
    def of(d: int) -> AxisPairs:
        """For d axes."""
        axis = np.arange(d)
        rows, cols = np.nonzero(axis[:, None] <= axis)
        return AxisPairs(rows, cols, np.where(rows == cols, 1.0, np.sqrt(2.0)))


def solve_dual(Z: Floats, p: Floats, tol: float, pairs: AxisPairs) -> DualPoint:
    """Maximise the dual over p from a positive start, until max_n s_n <= (1 + tol) tr M^(1/2)."""
    m, d = Z.shape
    rows, cols, multiplicity = pairs
    ones = np.ones(d)
    r, U = spectrum(Z, p)
    # The best multiple of p on its ray makes the p-average of s equal to one.
    ray = r.sum() / p.sum()
    p, r = p * ray**2, r * ray
    total, logs = p.sum(), np.log(p).sum()
    value = 2 * r.sum() - total
    t = 0.1 * total / m / p
    best, best_gap, step_length = (p, r, U), np.inf, 0.0
    for step in range(_MAX_STEPS + 1):
        V = Z @ (U / np.sqrt(r))
        s = (V * V) @ ones
        gap = s.max() * total / (p @ s) - 1
        if gap < best_gap:
            best, best_gap = (p, r, U), gap
        if gap <= tol or step == _MAX_STEPS:
            break
        # Long steps say that the centre is near: aim at a much smaller barrier next.
        shrink = 0.03 if step_length > 0.9 else (0.1 if step_length > 0.5 else 0.3)
        tau = shrink * (p @ t) / m
        Q = V.take(rows, axis=1)
        Q *= V.take(cols, axis=1)
        Q *= multiplicity / np.sqrt(r[rows] + r[cols])
        ascent = s - 1 + tau / p
        dp = _newton_direction(Q, t / p, ascent)
        if dp is None:
            break
        dt = (tau - t * dp) / p - t
        merit = value + tau * logs
        slope = ascent @ dp
        step_length = _to_boundary(p, dp)
        for _ in range(_MAX_HALVINGS):
            trial = p + step_length * dp
            r, U = spectrum(Z, trial)
            total, logs = trial.sum(), np.log(trial).sum()
            value = 2 * r.sum() - total
            gained = value + tau * logs - merit
            if gained >= 1e-4 * step_length * slope - 1e-12 * abs(merit):
                break
            step_length *= 0.4
        else:
            break  # rounding has eaten the ascent: the best point so far is the answer
        p = trial
        t = t + _to_boundary(t, dt) * dt
        centre = tau / p
        t = np.minimum(np.maximum(t, centre / _CENTRALITY), centre * _CENTRALITY)
    p, r, U = best
    total = p.sum()
    return DualPoint(p / total, r / np.sqrt(total), U, step)


def _newton_direction(Q: Floats, diagonal: Floats, rhs: Floats) -> Floats | None:
    """Solve (Q Q^T + diag) x = rhs in whichever dimension is smaller; None if not solvable."""
    m, q = Q.shape
    if m <= 2 * q:
        G = Q @ Q.T
        G.flat[:: m + 1] += diagonal
        _, x, info = dposv(G, rhs)
    else:
        # Woodbury: x = w (rhs - Q (I + Q^T w Q)^-1 Q^T w rhs), w = 1/diag
        w = 1 / diagonal
        G = Q.T @ (Q * w[:, None])
        G.flat[:: q + 1] += 1
        _, y, info = dposv(G, Q.T @ (w * rhs))
        x = w * (rhs - Q @ y)
    if info != 0 or not np.isfinite(x @ x):
        return None
    return np.asarray(x, dtype=np.float64)


def _to_boundary(x: Floats, dx: Floats) -> float:
    """The largest step in (0, 1] that keeps x + step * dx at least 1 % of x."""
    fastest = float((dx / x).min())
    return 1.0 if fastest >= -0.99 else -0.99 / fastest
