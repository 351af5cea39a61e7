"""Ellipsoids of the moment round: what a row adds, and how wide they are."""

import numpy as np
import pytest

from privgmm.proven.label.frames import ClipEllipsoids, choose_frames, moment_error, query_shape
from privgmm.proven.label.statistics import column_scale, moments_under
from privgmm.proven.label.tuning import TUNING


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, 2)) * np.array([1.0, 1.6, 0.7])[y][:, None] + y[:, None], y


def framed(X, labels, mu=0.2, n_rows=None):
    return choose_frames(X, labels, column_scale(X), (n_rows or len(X)) / len(X), mu, TUNING)


def test_contributions_are_what_the_query_counts():
    """phi_k(x) in float is one row's integer contribution over the steps, up to the grid."""
    X, y = rows(40)
    X[0] *= 100
    frames = framed(X, np.eye(3)[y])
    steps = frames.query.steps.reshape(3, -1)
    for k in range(3):
        phi = frames.contributions(frames.clipped(X, k))
        for row in range(40):
            one = frames.query.kernel(X[row : row + 1], np.array([k])).reshape(3, -1)
            assert np.abs(one[k] / steps[k] - phi[row]).max() < 3e-4


def test_totals_and_scores_are_sums_of_contributions():
    X, y = rows()
    frames = framed(X, np.eye(3)[y])
    rng = np.random.default_rng(1)
    for k in range(3):
        u, labels = frames.clipped(X, k), rng.random(len(X))
        phi = frames.contributions(u)
        np.testing.assert_allclose(frames.totals(u, labels), labels @ phi, rtol=1e-12, atol=1e-12)
        slopes = rng.standard_normal(phi.shape[1])
        np.testing.assert_allclose(frames.scores(u, slopes), phi @ slopes, rtol=1e-12, atol=1e-12)


def test_less_noise_makes_wider_ellipsoids_until_no_row_is_outside():
    X, y = rows(400)
    volumes = []
    for mu in (0.05, 0.5, 5.0, 1e4):
        frames = framed(X, np.eye(3)[y], mu)
        volumes.append(np.mean([-np.linalg.slogdet(m)[1] for m in frames.maps]))
    assert volumes == sorted(volumes)
    assert volumes[0] < volumes[-1]
    for k in range(3):
        u = (X - frames.centres[k]) @ frames.maps[k].T
        assert (u**2).sum(axis=1).max() <= 1


def test_the_split_of_a_row_has_unit_norm_and_least_cost():
    shape = query_shape(4, 2.0)
    parts = np.array([shape.count, shape.mean, shape.second]) ** 2
    assert parts.sum() == pytest.approx(1)

    def cost(a2, b2, c2, d=4, r=2.0):
        return 1 / a2 + d * r**2 / b2 + d * (d + 1) / 4 * r**4 / c2

    rng = np.random.default_rng(0)
    for _ in range(50):
        assert cost(*rng.dirichlet(np.ones(3))) >= cost(*parts) - 1e-9
    # At the best split the cost is the square of what moment_error adds up.
    assert cost(*parts) == pytest.approx(moment_error(1.0, 4, 2.0))


def test_classes_of_no_rows_still_have_an_ellipsoid():
    X, y = rows()
    frames = framed(X, np.eye(4)[y])
    assert isinstance(frames, ClipEllipsoids)
    assert np.isfinite(frames.maps).all()
    assert moments_under(X, np.eye(4)[y]).counts[3] == 0
