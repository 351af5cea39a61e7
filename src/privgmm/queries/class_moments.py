"""Count, sum and second moment of each class, of rows clipped into an ellipsoid and rounded to an integer grid, and their sensitivity.

Proof: docs/proofs/class-moments.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.errors import InputError
from privgmm.rowwise import Columns, columns, linear_map, of_class, squared_norm
from privgmm.types import Adjacency, Codes, Floats, Integers

# A clipped row becomes integers v with ||v||_2 <= GRID: 15 bits with the sign.
GRID = 2**14
# |sum v_i v_j| <= rows * GRID^2 must stay below 2^53 for float64 BLAS to be exact: 2^23 rows do.
_EXACT_ROWS = 2**23


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Totals of (1, v, upper triangle of v v^T) per class, v = the row on the integer grid.

    A row x of class k is mapped to u = T_k (x - c_k), clipped into the unit ball and rounded to
    v = [s u], s = ``grid_scale(d)``. Each v is a pure function of its own row: the map runs column by column, since
    BLAS may round a row differently in chunks of different shape.

    Parameters
    ----------
    centres : (K, d) array
    transforms : (K, d, d) lower-triangular arrays; T_k (x - c_k) in the unit ball is not clipped
    """

    centres: Floats
    transforms: Floats

    @property
    def width(self) -> int:
        """Totals per class: 1 + d + d(d+1)/2."""
        d = int(self.centres.shape[1])
        return 1 + d + d * (d + 1) // 2

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """(K * width,) totals, class after class."""
        if X.shape[0] > _EXACT_ROWS:
            raise InputError(f"Chunks of at most {_EXACT_ROWS} rows are summed exactly.")
        n_classes, d = self.centres.shape
        upper = np.triu_indices(d)
        totals = np.zeros((n_classes, self.width), dtype=np.int64)
        for k in range(n_classes):
            rows = of_class(X, codes, k)
            if rows.shape[0] == 0:
                continue
            v = clipped_to_grid(linear_map(columns(rows, self.centres[k]), self.transforms[k]))
            totals[k, 0] = rows.shape[0]
            totals[k, 1 : 1 + d] = v.sum(axis=1).astype(np.int64)
            totals[k, 1 + d :] = (v @ v.T)[upper].astype(np.int64)
        return totals.ravel()


def grid_scale(dim: int) -> float:
    """Grid steps per unit of u. Rounding moves a row by at most sqrt(d)/2, so it cannot leave GRID."""
    return GRID - math.sqrt(dim) / 2 - 1


def clipped_to_grid(u: Columns) -> Columns:
    """(d, n) columns u to integer-valued v with ||v||_2 <= GRID, v near grid_scale(d) u min(1, 1/||u||)."""
    inner = grid_scale(u.shape[0])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        norm = np.sqrt(squared_norm(u))
        u *= np.minimum(inner, inner / norm)
        np.rint(u, out=u)
        # The clip is checked again in integers (exact in float64: at most 2^28). A row that is
        # not inside, which needs an overflow or a NaN above, contributes zeros.
        outside = ~(squared_norm(u) <= float(GRID) ** 2)
    if outside.any():
        u[:, outside] = 0.0
    return u


@dataclass(frozen=True)
class Shape:
    """How the noise of one round is divided between counts, means and second moments: a row adds (a, b v/GRID, c v v^T/GRID^2)."""

    count: float
    mean: float
    second: float

    def squared_sensitivity(self, adjacency: Adjacency, n_blocks: int = 2, dim: int = 2) -> float:
        """sup of the squared change, class-moments.md (1)-(3), (5); that of several blocks and columns, if not told, is never less.

        A dropped row contributes zero. A change to or from zero is at most ``own``, and every value below is at
        least as large (4).
        """
        a2, b2, c2 = self.count**2, self.mean**2, self.second**2
        own = a2 + b2 + c2
        if adjacency == "add-remove":
            return own
        across = 2 * own
        if adjacency == "label":
            return across
        # Two rows of one class at angle theta on the sphere: 2 b^2 (1 - t) + 2 c^2 (1 - t^2) at
        # t = cos theta = max(-1, -b^2 / (2 c^2)).
        within = 2 * b2 + 2 * c2 + b2**2 / (2 * c2) if b2 <= 2 * c2 else 4 * b2
        if n_blocks > 1:
            return max(across, within)
        # In a single block no row changes blocks (5). On a line, rows at 1 and -y: at most y = b^2 / (c^2 - b^2).
        if dim == 1:
            within = b2 + c2 + b2**2 / (c2 - b2) if c2 > 2 * b2 else 4 * b2
        return max(own, within)


@dataclass(frozen=True, eq=False)
class ClassMomentsQuery:
    """One round: counts, means and second moments of all classes in their current ellipsoids."""

    kernel: ClassMoments
    shape: Shape
    name: str = "class counts, means and second moments"

    @property
    def steps(self) -> Floats:
        """Noise per total: 1/a, GRID/b, GRID^2/c on the diagonal and GRID^2/(c sqrt 2) off it.

        Off-diagonal entries stand for two entries of the symmetric matrix, so the sqrt 2 makes
        the norm of the upper triangle the Frobenius norm.
        """
        n_classes, d = self.kernel.centres.shape
        rows, cols = np.triu_indices(d)
        second = np.where(rows == cols, 1.0, math.sqrt(0.5)) * GRID**2 / self.shape.second
        one_class = np.concatenate(
            [[1 / self.shape.count], np.full(d, GRID / self.shape.mean), second]
        )
        return np.tile(one_class, n_classes)

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer, see ``Counting``."""
        return float(answer.reshape(-1, self.kernel.width)[:, 0].sum())

    def sensitivity(self, adjacency: Adjacency) -> float:
        """The largest change between neighbours, class-moments.md (1)-(5)."""
        return math.sqrt(self.shape.squared_sensitivity(adjacency, *self.kernel.centres.shape))
