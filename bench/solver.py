"""(eq23) and one whole design, against cvxpy with interior-point and first-order solvers, in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Row, peak_mebibytes, row, together
from privgmm import datasets, fit
from privgmm.published import design
from privgmm.published.neighbours import mean_shifts
from privgmm.solver import min_trace_ellipsoid

# SCS needs minutes to reach 1e-4 on N = 1000 blocks; its row is measured on fewer points.
_SCS_POINTS = 60
_GROWTH = ((1000, 3), (1000, 10), (10_000, 20), (10_000, 50), (10**5, 10), (10**6, 10))
_ON_DISK = ((10**7, 10), (10**7, 50))
_BLOCK_ROWS = 1 << 14
_FROM_DISK = """
import sys
from bench.solver import RawRows
from privgmm.solver import min_trace_ellipsoid
print(min_trace_ellipsoid(RawRows(sys.argv[1], int(sys.argv[2]))).value)
"""


def rows(full: bool = False) -> list[Row]:
    """One dict per comparison: name, seconds, peer, peer_seconds, ratio (peer / ours), note."""
    return [
        _eq23_row("CLARABEL", 1000),
        _eq23_row("SCS", _SCS_POINTS),
        _design_row(),
        *(_pass_row(n, d) for n, d in _GROWTH),
        _warm_row(10**5, 10),
        *(_disk_row(n, d) for n, d in (_ON_DISK if full else ())),
    ]


def _eq23_row(peer: str, n: int) -> Row:
    """The ellipsoid of one class of the paper's synthetic data, gap 1e-4."""
    shifts, precision = _class_problem(n)
    seconds, ours = _median(lambda: min_trace_ellipsoid(shifts, precision, 1e-4), 50)
    peer_seconds, value = _cvxpy(shifts, precision, peer)
    note = f"objective {ours.value / value - 1:+.1e} of the peer's, certified gap {ours.gap:.1e}"
    goal = 1000.0 if peer == "CLARABEL" else None
    return row(f"(eq23) N={n} d=3", seconds, f"cvxpy+{peer.lower()}", peer_seconds, goal, note)


def _design_row() -> Row:
    """Algorithm 1 at N=1000, K=5, d=3; the peer solves only its K SDPs, once each."""
    X, y = datasets.synthetic(seed=0)
    seconds, found = _median(lambda: design(X, y), 10)
    peer_seconds, worst = 0.0, 0.0
    for k in range(5):
        precision = np.linalg.inv(found.fitted.covariances[k])
        shifts = mean_shifts(X, y, k, found.fitted.means[k], "label")
        spent, value = _cvxpy(shifts, precision, "CLARABEL")
        peer_seconds += spent
        scale = found.epsilon_means[k] ** 2 / (2 * np.log(2 / found.delta))
        ours = float(np.sum(precision * found.mean_noise[k])) * scale
        worst = max(worst, abs(ours / value - 1))
    note = f"five classes; objectives differ by at most {worst:.1e}"
    return row("design N=1000 K=5 d=3", seconds, "cvxpy+clarabel", peer_seconds, note=note)


def _pass_row(n: int, d: int) -> Row:
    """Many points against the physical limit of one pass; a ratio below one means slower."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    seconds, found = _median(lambda: min_trace_ellipsoid(X), 3)
    limit, _ = _median(lambda: X.T @ X, 5)
    note = f"{seconds / limit:.1f} times one X.T @ X, gap {found.gap:.1e}"
    goal = 1 / 40 if n >= 10**6 else None  # fewer points do not pay for the Newton steps
    return row(f"(eq23) N={n} d={d}", seconds, "X.T @ X", limit, goal, note)


def _warm_row(n: int, d: int) -> Row:
    """The same points under a weight that moved by a few percent, from the answer before."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    before = min_trace_ellipsoid(X)
    weight = np.diag(rng.uniform(0.97, 1.03, d))
    warm, cold = together(
        lambda: min_trace_ellipsoid(X, weight, start=before),
        lambda: min_trace_ellipsoid(X, weight),
        times=5,
    )
    ours, theirs = min_trace_ellipsoid(X, weight, start=before), min_trace_ellipsoid(X, weight)
    note = f"{ours.passes} passes instead of {theirs.passes}, gap {ours.gap:.1e}"
    return row(f"(eq23) N={n} d={d} from a start nearby", warm, "no start", cold, note=note)


class RawRows:
    """Rows of float32 in a plain file, read block by block: a source for the solver."""

    def __init__(self, path: str | Path, dim: int) -> None:
        self.path, self.dim = path, dim

    def blocks(self) -> Iterator[np.ndarray]:
        with open(self.path, "rb") as file:
            while (block := np.fromfile(file, np.float32, _BLOCK_ROWS * self.dim)).size:
                yield block.reshape(-1, self.dim)


def _disk_row(n: int, d: int) -> Row:
    """A float32 memory map against X.T @ X over the same map; memory when it is read in blocks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.f32"
        rng = np.random.default_rng(0)
        mixing = rng.standard_normal((d, d)).astype(np.float32)
        with open(path, "wb") as file:
            for start in range(0, n, _BLOCK_ROWS):
                size = min(_BLOCK_ROWS, n - start)
                (rng.standard_normal((size, d), dtype=np.float32) @ mixing).tofile(file)
        X = np.memmap(path, np.float32, "r", shape=(n, d))
        seconds, found = _median(lambda: min_trace_ellipsoid(X), 3)
        limit, _ = _median(lambda: _gram_in_chunks(X), 3)
        memory = peak_mebibytes(_FROM_DISK, str(path), str(d))
    note = (
        f"{seconds / limit:.1f} times one X.T @ X, {found.passes} passes, gap {found.gap:.1e}, "
        f"peak memory {memory:.0f} MiB for a file of {X.nbytes / 2**20:.0f} MiB"
    )
    return row(
        f"(eq23) float32 on disk N={n} d={d}", seconds, "X.T @ X in chunks", limit, note=note
    )


def _gram_in_chunks(X: np.ndarray) -> np.ndarray:
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS].astype(np.float64)
        total += block.T @ block
    return total


def _class_problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.synthetic(n=n, n_classes=5, dim=3, seed=0)
    fitted = fit(X, y)
    k = int(np.argmax(fitted.weights))
    return mean_shifts(X, y, k, fitted.means[k], "label"), np.linalg.inv(fitted.covariances[k])


def _cvxpy(shifts: np.ndarray, precision: np.ndarray, solver: str) -> tuple[float, float]:
    """Seconds and value of (eq23) with c = 1, as one would write it down; building is not timed."""
    import cvxpy as cp

    # Shifts are small numbers: unit scale is a kindness to the peer.
    scale = float(np.abs(shifts).max())
    d = shifts.shape[1]
    X = cp.Variable((d, d), PSD=True)
    blocks = [cp.bmat([[np.eye(1), s[None]], [s[:, None], X]]) >> 0 for s in shifts / scale]
    problem = cp.Problem(cp.Minimize(cp.trace(precision @ X)), blocks)
    start = time.perf_counter()
    problem.solve(solver=solver)
    return time.perf_counter() - start, float(problem.value) * scale**2


def _median(call: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The median time of a call and its last result."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        result = call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken)), result
