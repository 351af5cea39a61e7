"""Algorithm 1: alternate gamma (eq21), then Gamma^-1 and eps_k (eq23), then F' and eps_0 (Prop. 3)."""

from __future__ import annotations

import numpy as np

from privgmm.model.mixture import Floats
from privgmm.published.objective import best_gamma
from privgmm.published.problem import Allocation, Problem

EARLY_STOP = 1e-3


def alternate(problem: Problem, max_iterations: int = 50, stop: float = EARLY_STOP) -> Allocation:
    """Run Algorithm 1 from eps_0 = eps_k = eps/3; ``history`` is the objective after each iteration.

    (eq23) costs nothing here: its answer is Y_k rule / eps_k^2 with the largest eps_k allowed.
    After the first pass every constraint is tight, so eps_0 keeps its start value eps/3 for ever:
    the alternation stalls by construction, and stops at its second iteration.
    """
    epsilon_0 = problem.epsilon / 3 if problem.releases_weights else 0.0
    epsilon_k = np.full(problem.counts.size, problem.epsilon / 3)
    history: list[float] = []
    for _ in range(max_iterations):
        gamma = update_gamma(problem, epsilon_0, epsilon_k)
        epsilon_k = problem.epsilon - epsilon_0 - covariance_epsilon(problem, gamma)
        cost = problem.cost(epsilon_k, gamma)
        if problem.releases_weights:  # (eq25)
            epsilon_0 = problem.epsilon - float(
                (epsilon_k + covariance_epsilon(problem, gamma)).max()
            )
        mapping = problem.weights_map(cost, epsilon_0)
        history.append(problem.objective(mapping, cost))
        if len(history) > 1 and abs(history[-1] - history[-2]) <= stop:
            break
    return Allocation(epsilon_k, gamma, epsilon_0, mapping, tuple(history))


def update_gamma(problem: Problem, epsilon_0: float, epsilon_k: Floats) -> Floats:
    """gamma_k = min{(d+1)/d tr Sigma_k^-1, 2 N_k (eps - eps_0 - eps_k)/3}, (eq21)."""
    allowed = 2 * problem.counts * (problem.epsilon - epsilon_0 - epsilon_k) / 3
    return np.minimum(best_gamma(problem.trace_precision, problem.dim), allowed)


def covariance_epsilon(problem: Problem, gamma: Floats) -> Floats:
    """eps'_k = 3 gamma_k / (2 N_k), Lemma 2."""
    return np.asarray(3 * gamma / (2 * problem.counts))
