"""Theorem 1 holds for every design returned, with equality where the paper says so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.published import design, spent

adjacencies = st.sampled_from(["label", "record-remove", "record-change", "record-add"])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 5),
    dim=st.integers(1, 5),
    epsilon=st.floats(0.05, 20),
    delta=st.floats(1e-9, 0.1),
    adjacency=adjacencies,
    method=st.sampled_from(["alternating", "joint"]),
    scalable=st.booleans(),
    neighbours=st.sampled_from(["both", "departures"]),
)
def test_theorem_1(
    labelled, seed, n_classes, dim, epsilon, delta, adjacency, method, scalable, neighbours
):
    X, y = labelled(seed, n_classes, dim)
    radius = 40.0 if scalable or adjacency in ("record-change", "record-add") else None
    found = design(X, y, epsilon, delta, adjacency, radius, method=method, scalable=scalable,
                   neighbours=neighbours)  # fmt: skip
    used = spent(found, X, y)
    # (eq10) with equality: the ellipsoid touches the worst neighbour.
    np.testing.assert_allclose(used.means, found.epsilon_means, rtol=1e-6)
    # Lemma 2 with equality.
    np.testing.assert_allclose(used.covariances, 3 * found.wishart_scale / (2 * found.counts))
    # (eq17); tight only if the g_i have both signs, so an inequality here.
    assert used.weights <= found.epsilon_weights * (1 + 1e-9) + 1e-12
    # (eq09) with equality in every class, as (eq23) and (eq25) leave it.
    np.testing.assert_allclose(
        found.epsilon_means + used.covariances + found.epsilon_weights, epsilon, rtol=1e-9
    )
    assert used.total <= epsilon * (1 + 1e-6)
    assert (found.epsilon_means > 0).all()
    assert (found.wishart_scale > 0).all()
    if adjacency == "record-change":
        assert found.epsilon_weights == 0
    else:
        assert found.epsilon_weights > 0


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), factor=st.floats(0.3, 0.97))
def test_less_noise_is_noticed(labelled, seed, factor):
    """The check must reject a mechanism that adds too little noise to a mean."""
    X, y = labelled(seed)
    found = design(X, y)
    object.__setattr__(found, "mean_noise", found.mean_noise * factor)
    assert spent(found, X, y).total > found.epsilon - found.epsilon_weights
    assert (spent(found, X, y).means > found.epsilon_means * 1.01).all()


def test_calibration_constant(labelled):
    """One constraint by hand: eps_k^2 = 2 ln(2/delta) max_n D^T Gamma D, at delta = 1e-5."""
    X, y = labelled(3, dim=1)
    found = design(X, y, epsilon=1.0, delta=1e-5)
    inside, outside = X[y == 0, 0], X[y != 0, 0]
    mu = inside.mean()
    shift = max(
        np.abs(inside - mu).max() / (inside.size - 1),
        np.abs(outside - mu).max() / (inside.size + 1),
    )
    by_hand = 2 * np.log(2e5) * shift**2 / found.epsilon_means[0] ** 2
    assert found.mean_noise[0, 0, 0] == pytest.approx(by_hand, rel=1e-9)
