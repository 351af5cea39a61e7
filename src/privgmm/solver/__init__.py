"""The minimum-trace ellipsoid around 0, with a certified duality gap: the whole of the SDP in (eq23).

Public surface: ``min_trace_ellipsoid(points, weight=None, tol=1e-4) -> Ellipsoid``.
"""

from privgmm.solver.ellipsoid import Ellipsoid, min_trace_ellipsoid

__all__ = ["Ellipsoid", "min_trace_ellipsoid"]
