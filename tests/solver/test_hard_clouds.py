"""Clouds that break solvers: thin, tiny, doubled, clustered, all near the surface, few points."""

import numpy as np
import pytest
from certificate import check, forms
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.solver import min_trace_ellipsoid


def ill_conditioned(rng, n, d):
    return rng.standard_normal((n, d)) * np.logspace(0, -5, d)


def near_the_surface(rng, n, d):
    """All points within 1e-3 of one sphere, seen through a random map."""
    points = rng.standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * rng.uniform(0.999, 1, (n, 1)) @ rng.standard_normal((d, d))


def doubled(rng, n, d):
    few = rng.standard_normal((max(n // 10, d), d))
    return np.vstack([few[rng.integers(0, len(few), n)], few, -few])


def clusters(rng, n, d):
    centres = 5 * rng.standard_normal((d + 2, d))
    return centres[rng.integers(0, len(centres), n)] + 0.05 * rng.standard_normal((n, d))


def with_outliers(rng, n, d):
    points = rng.standard_normal((n, d))
    points[rng.integers(0, n, 3)] *= 1e4
    return np.vstack([points, 2 * np.eye(d)])


CLOUDS = [ill_conditioned, near_the_surface, doubled, clusters, with_outliers]


@settings(max_examples=60, deadline=None)
@given(
    cloud=st.sampled_from(CLOUDS),
    seed=st.integers(0, 10**6),
    n=st.integers(30, 400),
    d=st.integers(1, 9),
    tol=st.sampled_from([1e-2, 1e-4, 1e-7]),
)
def test_small_hard_clouds_are_certified(cloud, seed, n, d, tol):
    rng = np.random.default_rng(seed)
    points = cloud(rng, n, d)
    root = rng.standard_normal((d, 2 * d))
    weight = root @ root.T / d
    check(points, weight, min_trace_ellipsoid(points, weight, tol), tol)


@pytest.mark.parametrize(("n", "d"), [(20_000, 4), (6000, 20), (700, 50)])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_large_hard_clouds_are_certified(cloud, n, d):
    """More points than a pass keeps, and up to fifty columns."""
    points = cloud(np.random.default_rng(n), n, d)
    check(points, np.eye(d), min_trace_ellipsoid(points), 1e-4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 50), share=st.floats(0.02, 0.98))
def test_fewer_points_than_columns(seed, d, share):
    """Every point is in contact then: for orthogonal points the optimum is (sum of their lengths^2)."""
    rng = np.random.default_rng(seed)
    n = max(1, int(share * d))
    basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
    lengths = rng.uniform(0.1, 3, n)
    points = basis[:n] * lengths[:, None]
    found = min_trace_ellipsoid(points)
    assert forms(points, found.shape).max() <= 1 + 1e-6
    assert found.gap <= 1.01e-4
    assert found.value == pytest.approx((lengths**2).sum(), rel=1.1e-4)
    assert np.linalg.eigvalsh(found.shape)[0] > 0


@pytest.mark.parametrize("scale", [1e-130, 1e-40, 1e40, 1e130])
def test_extreme_units_change_nothing_but_the_unit(scale):
    rng = np.random.default_rng(3)
    points = rng.standard_normal((300, 4))
    unit = 2.0 ** np.round(np.log2(scale))
    here, there = min_trace_ellipsoid(points), min_trace_ellipsoid(points * unit)
    np.testing.assert_array_equal(there.support, here.support)
    np.testing.assert_allclose(there.shape / unit / unit, here.shape, rtol=1e-9)
