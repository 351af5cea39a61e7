"""(eq23) without its budget: the minimum-trace ellipsoid around 0 that contains given points.

(eq23) is: minimise tr(Sigma^-1 X) s.t. X >= D_n D_n^T / c for all n, with c = eps_k^2 / (2 ln(2/delta)).
So X = Y / c, and Y does not depend on eps_k: solve once per class, then every budget is a scalar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.checks import real
from privgmm.errors import InputError
from privgmm.solver.points import Points, reader_of, survey, whitening
from privgmm.solver.working_set import cover
from privgmm.types import Floats

_FINEST_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{x : x^T shape^-1 x <= 1}, feasible always, optimal up to ``gap``.

    shape : (d, d) positive definite matrix; every point satisfies x^T shape^-1 x <= 1
    value : tr(weight @ shape), the objective reached
    gap : value / lower - 1, where lower <= optimum <= value is a dual bound computed for this very
        answer; so (value - optimum) / optimum <= gap. A certificate, not an estimate.
    iterations : multiplicative and Newton steps, all rounds together
    support, multipliers : rows that carry dual weight and their weights (sum one)
    passes : how many times all points were read
    """

    shape: Floats
    value: float
    gap: float
    iterations: int
    support: NDArray[np.intp]
    multipliers: Floats
    passes: int


def min_trace_ellipsoid(
    points: ArrayLike | Points,
    weight: ArrayLike | None = None,
    tol: float = 1e-4,
    *,
    start: Ellipsoid | None = None,
) -> Ellipsoid:
    """Minimise tr(weight @ shape) over ellipsoids around 0 that contain all points.

    Parameters
    ----------
    points : (N, d) array, or an object whose ``blocks()`` gives (m, d) arrays, the same at every
        call. Points are read block by block and never copied as a whole: a memory map may be larger
        than memory. The answer has the same bits however the same rows are cut into blocks.
        Zero rows and duplicates are allowed; all-zero input is refused. When the
        points do not span R^d, the missing axes get a relative length of about 1e-6 (rounding in
        the trace), so that ``shape`` is always invertible. A cloud of relative width below 1e-7 is
        covered the same way, and then certified to about 1e-6 only, which ``gap`` says.
    weight : (d, d) symmetric positive definite matrix, identity when omitted
    tol : the relative duality gap at which to stop, at least 1e-9
    start : the answer of a problem nearby (another weight, or points that moved a little) to begin
        from; it changes the time and, within ``tol``, the answer, never the certificate
    """
    if not real(tol, "The tolerance of the ellipsoid") > 0:
        raise InputError(f"The tolerance of the ellipsoid must be positive, got tol={tol}.")
    reader = reader_of(points)
    if start is not None and start.shape.shape != (reader.dim, reader.dim):
        raise InputError(f"The start must be an ellipsoid of points with {reader.dim} columns.")
    support, multipliers = _sorted_support(start)
    seen = survey(reader, support)
    white = whitening(seen, weight)
    begin = multipliers[: seen.picked.index.size]
    found = cover(seen, white, max(float(tol), _FINEST_TOL), begin)
    unit = seen.reader.unit**2
    return Ellipsoid(
        found.shape * unit, found.value * unit, found.gap, found.iterations,
        found.support, found.multipliers, found.passes,
    )  # fmt: skip


def _sorted_support(start: Ellipsoid | None) -> tuple[NDArray[np.intp], Floats]:
    """Rows in the order in which a pass meets them, and their multipliers."""
    if start is None:
        return np.empty(0, dtype=np.intp), np.empty(0)
    order = np.argsort(start.support)
    return start.support[order], start.multipliers[order]
