"""Linear algebra whose result for a row never depends on the rows around it.

A row lies in a column of a (d, n) array, and every operation is an elementwise one: IEEE multiply
and add are the same bits in any vector width, while a BLAS product may sum in another order for
another shape. Costs d^2/2 passes over a cache-sized chunk.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privgmm.statistics.source import Floats

Columns = NDArray[np.float64]


def columns(X: Floats, centre: Floats) -> Columns:
    """(d, n) array of x - centre."""
    z = np.ascontiguousarray(X.T)
    return z - centre[:, None]


def linear_map(z: Columns, lower: Floats) -> Columns:
    """L z for a lower-triangular L, column by column; overwrites and returns z."""
    scratch = np.empty(z.shape[1])
    # From the last coordinate up, so that z_j for j < i is still the input when row i needs it.
    for i in range(z.shape[0] - 1, -1, -1):
        z[i] *= lower[i, i]
        for j in range(i):
            if lower[i, j] != 0.0:
                np.multiply(z[j], lower[i, j], out=scratch)
                z[i] += scratch
    return z


def squared_norm(z: Columns) -> NDArray[np.float64]:
    """(n,) array of ||z||_2^2."""
    total: NDArray[np.float64] = z[0] * z[0]
    scratch = np.empty_like(total)
    for column in z[1:]:
        np.multiply(column, column, out=scratch)
        total += scratch
    return total
