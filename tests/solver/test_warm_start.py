"""An earlier answer as the start: the same certificate for less work, and never a wrong answer."""

import numpy as np
import pytest
from certificate import check

from privgmm.errors import InputError
from privgmm.solver import min_trace_ellipsoid


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    root = rng.standard_normal((d, 2 * d))
    return points, root @ root.T / d, rng


SIZES = [(1000, 3), (20_000, 6), (3000, 20)]


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_another_weight_needs_less_work(n, d):
    points, weight, rng = problem(n, d)
    first = min_trace_ellipsoid(points, weight)
    nearby = weight + 0.02 * np.trace(weight) / d * np.diag(rng.uniform(size=d))
    cold = min_trace_ellipsoid(points, nearby)
    warm = min_trace_ellipsoid(points, nearby, start=first)
    check(points, nearby, warm, 1e-4)
    assert warm.value == pytest.approx(cold.value, rel=1e-4)
    assert warm.iterations < cold.iterations
    assert warm.passes < cold.passes


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_points_that_moved_need_less_work(n, d):
    points, weight, rng = problem(n, d)
    first = min_trace_ellipsoid(points, weight)
    moved = points + 0.002 * rng.standard_normal(points.shape)
    cold = min_trace_ellipsoid(moved, weight)
    warm = min_trace_ellipsoid(moved, weight, start=first)
    check(moved, weight, warm, 1e-4)
    assert warm.value == pytest.approx(cold.value, rel=1e-4)
    assert warm.iterations < cold.iterations
    assert warm.passes < cold.passes


def test_a_finer_tolerance_continues_from_a_coarse_answer():
    points, weight, _ = problem(5000, 5)
    coarse = min_trace_ellipsoid(points, weight, 1e-2)
    fine = min_trace_ellipsoid(points, weight, 1e-7, start=coarse)
    check(points, weight, fine, 1e-7)
    assert fine.iterations < min_trace_ellipsoid(points, weight, 1e-7).iterations


@pytest.mark.parametrize("case", ["reversed", "fewer", "one row", "flat", "far", "tiny"])
def test_a_start_that_does_not_fit_costs_time_only(case):
    points, weight, rng = problem(6000, 4)
    first = min_trace_ellipsoid(points, weight)
    other = {
        "reversed": points[::-1],
        "fewer": points[:300],
        "one row": points[:1],
        "flat": points * [1, 1, 1, 0],
        "far": rng.standard_t(2, points.shape),
        "tiny": points * 1e-120,
    }[case]
    warm, cold = min_trace_ellipsoid(other, weight, start=first), min_trace_ellipsoid(other, weight)
    assert warm.gap <= 1.01e-4
    assert warm.value == pytest.approx(cold.value, rel=2e-4)


def test_support_rows_that_became_zero():
    """Nothing of the start is left: it is dropped, not trusted."""
    points, weight, _ = problem(500, 3)
    first = min_trace_ellipsoid(points, weight)
    points[first.support] = 0
    check(points, weight, min_trace_ellipsoid(points, weight, start=first), 1e-4)


def test_a_start_of_another_dimension_is_refused():
    points, weight, _ = problem(50, 3)
    with pytest.raises(InputError, match="3 columns"):
        min_trace_ellipsoid(points, weight, start=min_trace_ellipsoid(points[:, :2]))
