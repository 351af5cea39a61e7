"""Algorithm 1 and the joint optimum: the updates, the stall, and who wins."""

import dataclasses

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm import fit
from privgmm.published import design
from privgmm.published.neighbours import ball_shape, mean_shifts
from privgmm.published.problem import (
    alternate,
    best_class_gamma,
    evaluate,
    listed_shapes,
    optimise,
    pose,
)


def problem_of(X, y, epsilon=1.0, delta=1e-5, adjacency="label", radius=None):
    fitted, counts = fit(X, y), np.bincount(y)
    if adjacency in ("record-change", "record-add"):
        shapes = np.stack([ball_shape(n, X.shape[1], radius) for n in counts])
    else:
        shifts = [mean_shifts(X, y, k, mean, adjacency) for k, mean in enumerate(fitted.means)]
        shapes = listed_shapes(shifts, fitted, 1e-6)
    return pose(
        fitted, counts, shapes, epsilon=epsilon, delta=delta, adjacency=adjacency, smoothing=1e-3
    )


def test_first_updates_by_hand(labelled):
    """(eq21), then eps_k = eps - eps_0 - 3 gamma/(2N), from eps_0 = eps_k = eps/3."""
    X, y = labelled(0, dim=3)
    fitted = fit(X, y)
    trace = np.trace(np.linalg.inv(fitted.covariances), axis1=1, axis2=2)
    counts = np.bincount(y)
    for epsilon in (0.3, 3.0, 30.0):
        found = design(X, y, epsilon)
        gamma = np.minimum(4 / 3 * trace, 2 * counts * (epsilon / 3) / 3)
        np.testing.assert_allclose(found.wishart_scale, gamma, rtol=1e-9)
        np.testing.assert_allclose(
            found.epsilon_means, 2 * epsilon / 3 - 3 * gamma / (2 * counts), rtol=1e-9
        )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.05, 20))
def test_alternation_stalls_and_never_climbs(labelled, seed, epsilon):
    X, y = labelled(seed)
    found = design(X, y, epsilon)
    assert found.epsilon_weights == pytest.approx(epsilon / 3, rel=1e-9)
    assert len(found.history) == 2
    assert found.history[1] <= found.history[0] + 1e-9
    assert found.objective == found.history[-1]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 5),
    dim=st.integers(1, 5),
    epsilon=st.floats(0.01, 50),
    adjacency=st.sampled_from(["label", "record-remove", "record-change", "record-add"]),
)
def test_joint_is_never_worse(labelled, seed, n_classes, dim, epsilon, adjacency):
    X, y = labelled(seed, n_classes, dim)
    problem = problem_of(X, y, epsilon, adjacency=adjacency, radius=30.0)
    assert optimise(problem).history[-1] <= alternate(problem).history[-1]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.1, 10), share=st.floats(0.05, 0.9))
def test_class_gamma_is_the_minimum(labelled, seed, epsilon, share):
    """No other gamma on a fine grid gives a lower class cost at the same eps_0."""
    X, y = labelled(seed)
    problem = problem_of(X, y, epsilon)
    budget = epsilon * share
    gamma = best_class_gamma(problem, budget)
    limit = 2 * problem.counts * budget / 3

    def cost(g):
        return problem.cost(budget - 3 * g / (2 * problem.counts), g)

    for fraction in np.linspace(0.001, 0.999, 200):
        assert (cost(gamma) <= cost(fraction * limit) + 1e-9).all()


def test_joint_is_stationary_in_epsilon_0(labelled):
    """No eps_0 on a fine grid does better than the joint optimum."""
    for seed in range(5):
        problem = problem_of(*labelled(seed), epsilon=2.0)
        best = optimise(problem).history[-1]
        grid = [evaluate(problem, s * 2.0).history[-1] for s in np.linspace(0.001, 0.95, 100)]
        assert best <= min(grid) + 1e-3 * abs(best)


def test_mean_noise_solves_eq23(labelled):
    """(eq23) in its printed form, budget and all, by an SDP solver."""
    X, y = labelled(7, dim=2, spare=4)
    found = design(X, y, epsilon=1.5, delta=1e-4)
    k = 1
    c = found.epsilon_means[k] ** 2 / (2 * np.log(2 / 1e-4))
    shifts = mean_shifts(X, y, k, found.fitted.means[k], "label")
    noise = cp.Variable((2, 2), PSD=True)
    blocks = [cp.bmat([[np.full((1, 1), c), s[None]], [s[:, None], noise]]) >> 0 for s in shifts]
    precision = np.linalg.inv(found.fitted.covariances[k])
    problem = cp.Problem(cp.Minimize(cp.trace(precision @ noise)), blocks)
    problem.solve(solver="CLARABEL")
    assert np.trace(precision @ found.mean_noise[k]) == pytest.approx(problem.value, rel=1e-4)


def test_objective_is_eq20a_summed_by_hand(labelled):
    """Sum f g over pi(D), its neighbours and all of S (listed: N is small here)."""
    X, y = labelled(11, n_classes=2, dim=1, spare=3)
    found = design(X, y, smoothing=0.1)
    n, fitted, mapping = len(y), found.fitted, found.weights_map
    trace = 1 / fitted.covariances[:, 0, 0]
    bracket = 0.5 * (
        np.log(found.wishart_scale)
        + 2 / found.wishart_scale * trace
        + trace * found.mean_noise[:, 0, 0]
    )
    everything = np.array([[a, n - a] for a in range(1, n)]) / n

    def g(pi):
        return (pi * (np.log(pi / fitted.weights) + bracket)).sum(axis=1)

    total = 0.9 * mapping.column @ g(mapping.candidates) + 0.1 * g(everything).mean()
    euler = 0.57721566490153286
    assert found.objective == pytest.approx(total - 0.5 * (np.log(2) - euler), rel=1e-10)


def test_iteration_limit_and_stop(labelled):
    problem = problem_of(*labelled(1))
    assert len(alternate(problem, max_iterations=1).history) == 1
    looser = dataclasses.replace(problem, epsilon=problem.epsilon * 2)
    assert alternate(looser).history[-1] < alternate(problem).history[-1]
