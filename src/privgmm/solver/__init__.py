"""The minimum-trace ellipsoid around 0, with a certified duality gap: the whole of the SDP in (eq23).

Public surface: ``min_trace_ellipsoid(points, weight=None, tol=1e-4) -> Ellipsoid``.

points     arrays, memory maps and block sources    working_set  two sieves: pool and live set
passes     what one pass over all points finds      newton       the dual on the live set
whitening  weight and span become the identity      ellipsoid    the public function
"""

from privgmm.solver.ellipsoid import Ellipsoid, min_trace_ellipsoid
from privgmm.solver.points import Points

__all__ = ["Ellipsoid", "Points", "min_trace_ellipsoid"]
