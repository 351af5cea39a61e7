"""(P2)'s budget solved jointly: a monotone root per class inside a search over the single eps_0.

For a given eps_0 each class has the budget b = eps - eps_0 and, all constraints tight, minimises

    h(gamma) = d ln gamma + (d+1) tr Sigma^-1 / gamma + a / (b - 3 gamma/(2N))^2,   a = 2 ln(2/delta) tr(Sigma^-1 Y).

gamma^2 h'(gamma) = d gamma - (d+1) tr Sigma^-1 + (3a/N) gamma^2 / (b - 3 gamma/(2N))^3 is increasing,
from a negative value to +infinity, so its single root is the global minimum of the class. The
weights E[pi~_k] > 0 multiply the class costs and do not move these minima.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from privgmm.model.mixture import Floats
from privgmm.published.alternating import alternate, covariance_epsilon
from privgmm.published.objective import best_gamma
from privgmm.published.problem import Allocation, Problem

# (P2) asks for eps_0 > 0 and its infimum is often at 0: the least share that weights keep.
LEAST_WEIGHT_SHARE = 1e-3
_BISECTIONS = 60


def optimise(problem: Problem) -> Allocation:
    """The joint optimum; never worse than Algorithm 1, whose answer starts the history."""
    start = alternate(problem)
    shares = [0.0]
    if problem.releases_weights:
        shares = [LEAST_WEIGHT_SHARE, 0.01, 0.03, 0.1, 0.2, 1 / 3, 0.5, 0.7, 0.9]
    coarse = [evaluate(problem, share * problem.epsilon) for share in shares]
    best = min(coarse, key=lambda found: found.history[-1])
    i = coarse.index(best)
    if problem.releases_weights and 0 < i < len(shares) - 1:
        # The map's sign pattern makes the objective kinked in eps_0: refine between neighbours.
        refined = minimize_scalar(
            lambda epsilon_0: evaluate(problem, epsilon_0).history[-1],
            bounds=(shares[i - 1] * problem.epsilon, shares[i + 1] * problem.epsilon),
            method="bounded",
        )
        finer = evaluate(problem, float(refined.x))
        best = min(best, finer, key=lambda found: found.history[-1])
    if best.history[-1] > start.history[-1]:
        return start
    history = (*start.history, *best.history)
    return Allocation(
        best.epsilon_means, best.wishart_scale, best.epsilon_weights, best.mapping, history
    )


def evaluate(problem: Problem, epsilon_0: float) -> Allocation:
    """The best allocation at this eps_0, every class tight."""
    gamma = best_class_gamma(problem, problem.epsilon - epsilon_0)
    epsilon_k = problem.epsilon - epsilon_0 - covariance_epsilon(problem, gamma)
    cost = problem.cost(epsilon_k, gamma)
    mapping = problem.weights_map(cost, epsilon_0)
    return Allocation(epsilon_k, gamma, epsilon_0, mapping, (problem.objective(mapping, cost),))


def best_class_gamma(problem: Problem, budget: float) -> Floats:
    """The root of gamma^2 h'(gamma) per class, by bisection on (0, min(gamma*, 2 N b / 3))."""
    d, n = problem.dim, problem.counts
    a = problem.rule * problem.shape_cost
    low = np.zeros(n.size)
    high = np.minimum(best_gamma(problem.trace_precision, d), 2 * n * budget / 3)
    for _ in range(_BISECTIONS):
        gamma = (low + high) / 2
        left = budget - 3 * gamma / (2 * n)
        slope = d * gamma - (d + 1) * problem.trace_precision + 3 * a / n * gamma**2 / left**3
        low, high = np.where(slope < 0, gamma, low), np.where(slope < 0, high, gamma)
    return np.asarray((low + high) / 2)
