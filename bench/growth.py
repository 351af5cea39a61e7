"""Growth curves in N, d and K of one exact pass and of a whole record-level release."""

from __future__ import annotations

import numpy as np

from bench.measure import Row, seconds
from privgmm import release
from privgmm.data import ArraySource
from privgmm.datasets import synthetic
from privgmm.queries.class_moments import ClassMoments


def curves(full: bool = False) -> list[Row]:
    """{"curve": what, "over": N, d or K, "at": value, "seconds": ...} for each point."""
    most = 10**7 if full else 10**6
    out = []
    for n in (10**4, 10**5, 10**6, 10**7):
        if n <= most:
            out.append(_point("pass", "N", n, _pass(n, 10, 10)))
    out += [_point("pass", "d", d, _pass(10**5, d, 10)) for d in (2, 5, 10, 20, 50)]
    out += [_point("pass", "K", k, _pass(10**5, 10, k)) for k in (2, 5, 10, 20, 50)]
    for n in (10**3, 10**4, 10**5):
        out.append(_point("record release", "N", n, _release(n, 3, 5)))
    out += [_point("record release", "d", d, _release(10**4, d, 5)) for d in (2, 3, 5, 10)]
    out += [_point("record release", "K", k, _release(10**4, 3, k)) for k in (2, 5, 10, 20)]
    return out


def _point(curve: str, over: str, at: int, taken: float) -> Row:
    return {"curve": curve, "over": over, "at": at, "seconds": taken}


def _pass(n: int, d: int, k: int) -> float:
    rng = np.random.default_rng(0)
    source = ArraySource(rng.standard_normal((n, d)), rng.integers(0, k, n), k)
    kernel = ClassMoments(np.zeros((k, d)), np.tile(np.eye(d) / 6, (k, 1, 1)))
    return min(seconds(lambda: source.total(kernel)) for _ in range(3 if n < 10**7 else 1))


def _release(n: int, d: int, k: int) -> float:
    X, y = synthetic(n=n, n_classes=k, dim=d, seed=0)
    radius = float(np.linalg.norm(X, axis=1).max())
    return seconds(lambda: release(X, y, unit="record", radius=radius, classes=range(k), seed=0))
