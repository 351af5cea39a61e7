"""The solver is checked by its optimality residual, by closed forms, and against an SDP solver."""

import cvxpy as cp
import numpy as np
import pytest
from certificate import check, forms
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.errors import InputError
from privgmm.solver import min_trace_ellipsoid


def random_problem(rng, n, d, kind="normal"):
    draw = rng.standard_normal if kind == "normal" else lambda size: rng.standard_t(2, size)
    points = draw((n, d)) @ rng.standard_normal((d, d))
    root = rng.standard_normal((d, 2 * d))
    return points, root @ root.T / d


@pytest.mark.parametrize("d", range(1, 13))
def test_agrees_with_the_sdp_of_eq23(d):
    rng = np.random.default_rng(d)
    points, weight = random_problem(rng, d + 6, d)
    X = cp.Variable((d, d), PSD=True)
    blocks = [cp.bmat([[np.eye(1), p[None]], [p[:, None], X]]) >> 0 for p in points]
    problem = cp.Problem(cp.Minimize(cp.trace(weight @ X)), blocks)
    problem.solve(solver="CLARABEL")
    found = min_trace_ellipsoid(points, weight, tol=1e-7)
    assert found.value == pytest.approx(problem.value, rel=1e-5)
    np.testing.assert_allclose(found.shape, X.value, atol=2e-3 * np.abs(X.value).max())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 300),
    d=st.integers(1, 8),
    kind=st.sampled_from(["normal", "heavy"]),
    tol=st.sampled_from([1e-2, 1e-4, 1e-6]),
)
def test_feasible_and_certified(seed, n, d, kind, tol):
    points, weight = random_problem(np.random.default_rng(seed), max(n, d), d, kind)
    found = min_trace_ellipsoid(points, weight, tol)
    check(points, weight, found, tol)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 6), scale=st.sampled_from([1e-9, 1e-3, 1e5, 1e12])
)
def test_moves_with_linear_maps(seed, d, scale):
    """Y(XT^T; W) = T Y(X; T^T W T) T^T, for scales far from one too."""
    rng = np.random.default_rng(seed)
    points, weight = random_problem(rng, 40, d)
    T = scale * (rng.standard_normal((d, d)) + 2 * np.eye(d))
    there = min_trace_ellipsoid(points @ T.T, weight, 1e-8)
    here = min_trace_ellipsoid(points, T.T @ weight @ T, 1e-8)
    assert there.value == pytest.approx(here.value, rel=1e-6)


def test_closed_forms():
    axes = np.diag([3.0, 1.0, 0.5])
    assert min_trace_ellipsoid(axes, tol=1e-8).value == pytest.approx(9 + 1 + 0.25, rel=1e-7)
    angle = np.linspace(0, np.pi, 720, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(min_trace_ellipsoid(circle, tol=1e-8).shape, np.eye(2), atol=1e-3)
    line = min_trace_ellipsoid([[1.0], [-2.0], [0.5]], weight=[[5.0]])
    assert line.shape[0, 0] == pytest.approx(4, rel=1e-9)
    assert line.value == pytest.approx(20, rel=1e-9)


@pytest.mark.parametrize(
    ("points", "value"),
    [
        ([[3.0, 4.0]], 25.0),  # one point
        ([[3.0, 4.0]] * 7, 25.0),  # duplicates
        ([[3.0, 4.0], [0.0, 0.0]], 25.0),  # a zero point
        ([[3.0, 4.0], [-6.0, -8.0]], 100.0),  # a line in the plane
        ([[1.0, 0, 0], [0, 2.0, 0], [1.0, 2.0, 0]], None),  # a plane in space
    ],
)
def test_degenerate_points_are_solved(points, value):
    found = min_trace_ellipsoid(points)
    assert forms(np.array(points), found.shape).max() <= 1 + 1e-8
    assert found.gap <= 1e-4
    assert np.linalg.eigvalsh(found.shape)[0] > 0
    if value is not None:
        assert found.value == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("thin", [1e-3, 1e-6, 1e-9, 1e-13])
def test_nearly_flat_points_stay_covered(thin):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((50, 3)) * [1, 1, thin]
    found = min_trace_ellipsoid(points)
    assert forms(points, found.shape).max() <= 1 + 1e-6
    assert found.gap <= 1.01e-4


@pytest.mark.parametrize(("n", "d"), [(20_000, 6), (3000, 50), (100_000, 2)])
def test_many_points_and_many_dimensions(n, d):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((n, d)) * rng.uniform(0.1, 3, d)
    found = min_trace_ellipsoid(points)
    assert found.gap <= 1e-4
    assert forms(points, found.shape).max() <= 1 + 1e-9


def test_clusters_far_apart():
    """Points in a few tight clusters: the first scores see only the largest of them."""
    rng = np.random.default_rng(2)
    centres = rng.uniform(-10, 10, (5, 3))
    points = np.repeat(centres, 200, axis=0) + 0.01 * rng.standard_normal((1000, 3))
    found = min_trace_ellipsoid(points, tol=1e-6)
    assert found.gap <= 1e-6
    assert found.value >= np.square(points).sum(axis=1).max()


@pytest.mark.parametrize(
    ("points", "weight", "tol"),
    [
        ([[0.0, 0.0]], None, 1e-4),
        ([[np.nan, 1.0]], None, 1e-4),
        ([[np.inf, 1.0]], None, 1e-4),
        ([[1e-200, 1.0e-201]], None, 1e-4),  # its square is zero in float64
        ([[1e200, 1.0]], None, 1e-4),
        ([1.0, 2.0], None, 1e-4),
        (np.empty((0, 2)), None, 1e-4),
        ([["a", "b"]], None, 1e-4),
        ([[1.0, 2.0]], [[1.0, 0.0], [0.0, -1.0]], 1e-4),
        ([[1.0, 2.0]], [[1.0, 5.0], [0.0, 1.0]], 1e-4),
        ([[1.0, 2.0]], np.eye(3), 1e-4),
        ([[1.0, 2.0]], None, 0.0),
    ],
)
def test_bad_input_is_one_sentence(points, weight, tol):
    with pytest.raises(InputError, match=r"^[^\n]+\.$"):
        min_trace_ellipsoid(points, weight, tol)


@pytest.mark.parametrize(
    ("points", "options"),
    [
        ([[1e200, 1.0]], {}),
        ([[1e-200, 0.0]], {}),
        ([[10**400, 1]], {}),
        ([["1", "2"]], {}),
        ([[1j, 1]], {}),
        (np.eye(2), {"tol": None}),
        (np.eye(2), {"tol": "x"}),
        (np.eye(2), {"weight": {}}),
        (np.eye(2), {"weight": [[1], [1, 2]]}),
        (np.eye(2), {"weight": np.eye(2) * 1e-320}),
        (np.eye(2), {"weight": np.full((2, 2), 1e308)}),
    ],
)
def test_what_is_no_problem_is_one_sentence(points, options):
    with pytest.raises(InputError):
        min_trace_ellipsoid(points, **options)
