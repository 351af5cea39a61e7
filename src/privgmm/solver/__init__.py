"""The minimum-trace ellipsoid around 0, with a certified duality gap: the whole of the SDP in (eq23).

Public surface: ``min_trace_ellipsoid(points, weight=None, tol=1e-4) -> Ellipsoid``.

points     reads arrays, memory maps and blocks; what one pass over all points finds
whitening  coordinates in which weight and span are the identity
working_set  chooses the few points that matter: pool and live set
newton     solves the dual on the live set
ellipsoid  the public function
"""

from privgmm.solver.ellipsoid import Ellipsoid, min_trace_ellipsoid
from privgmm.solver.points import Points

__all__ = ["Ellipsoid", "Points", "min_trace_ellipsoid"]
