"""(P2): its constants once the semidefinite part is solved, Algorithm 1, and the same problem solved jointly.

(eq19) says Gamma_k^-1 >= D_n D_n^T 2 ln(2/delta) / eps_k^2 for all shifts D_n. The smallest such
matrix is Gamma_k^-1 = Y_k 2 ln(2/delta) / eps_k^2, where Y_k is the minimum-trace ellipsoid of the
shifts and does not depend on the budget. So (eq23) is solved once, here.

Solved jointly, for a given eps_0 each class has the budget b = eps - eps_0 and, all constraints tight, minimises

    h(gamma) = d ln gamma + (d+1) tr Sigma^-1 / gamma + a / (b - 3 gamma/(2N))^2,   a = 2 ln(2/delta) tr(Sigma^-1 Y).

gamma^2 h'(gamma) = d gamma - (d+1) tr Sigma^-1 + (3a/N) gamma^2 / (b - 3 gamma/(2N))^3 is increasing,
from a negative value to +infinity, so its single root is the global minimum of the class. The
weights E[pi~_k] > 0 multiply the class costs and do not move these minima.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from privgmm.model.fitting import precisions
from privgmm.model.mixture import Mixture
from privgmm.published.neighbours import Adjacency, adjacent_counts
from privgmm.published.objective import best_gamma, component_cost, printed_expected_kl, weight_loss
from privgmm.published.weights_map import WeightsMap, transition_columns
from privgmm.solver import min_trace_ellipsoid
from privgmm.types import Floats

EARLY_STOP = 1e-3
# (P2) asks for eps_0 > 0 and its infimum is often at 0, so the weights keep at least this share of epsilon.
LEAST_WEIGHT_SHARE = 1e-3
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Problem:
    """The constants of (P2).

    shapes : (K, d, d) Y_k;  shape_cost : (K,) tr(Sigma_k^-1 Y_k);  trace_precision : (K,) tr Sigma_k^-1
    candidates : (J+1, K) pi(D) and S'(D);  rule : 2 ln(2/delta)
    """

    epsilon: float
    rule: float
    dim: int
    counts: NDArray[np.intp]
    shapes: Floats
    shape_cost: Floats
    trace_precision: Floats
    candidates: Floats
    smoothing: float

    @property
    def releases_weights(self) -> bool:
        """False when all neighbours share pi(D): no F, no eps_0 (section IV-C, second case)."""
        return len(self.candidates) > 1

    def cost(self, epsilon_means: Floats, gamma: Floats) -> Floats:
        """The bracket of (eq_obj) per class, with Gamma_k^-1 = rule Y_k / eps_k^2."""
        mean_cost = self.rule * self.shape_cost / epsilon_means**2
        return component_cost(gamma, self.trace_precision, mean_cost, self.dim)

    def weights_map(self, cost: Floats, epsilon_0: float) -> WeightsMap:
        """F' of Prop. 3 for g_i = g(candidate i), smoothed over S."""
        g = weight_loss(self.candidates, self.candidates[0]) + self.candidates @ cost
        column, other = transition_columns(g, epsilon_0)
        smoothing = self.smoothing if self.releases_weights else 0.0
        return WeightsMap(self.candidates, column, other, smoothing, int(self.counts.sum()))

    def objective(self, mapping: WeightsMap, cost: Floats) -> float:
        """(eq20a) with the constant of (eq_obj): Prop. 2's expected KL."""
        return printed_expected_kl(mapping.mean_weights(), mapping.expected_loss(), cost, self.dim)


@dataclass(frozen=True, eq=False)
class Allocation:
    """A feasible point of (P2): budgets, Wishart scales, the weight map, and how it was reached."""

    epsilon_means: Floats
    wishart_scale: Floats
    epsilon_weights: float
    mapping: WeightsMap
    history: tuple[float, ...]


def listed_shapes(shifts: Sequence[Floats], fitted: Mixture, tol: float) -> Floats:
    """(K, d, d) Y_k of (eq23): the minimum-trace ellipsoid of each class's mean shifts."""
    inverses = precisions(fitted)
    return np.stack(
        [min_trace_ellipsoid(shifts[k], inverses[k], tol).shape for k in range(fitted.n_classes)]
    )


def pose(
    fitted: Mixture,
    counts: NDArray[np.intp],
    shapes: Floats,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
    smoothing: float,
) -> Problem:
    """Collect the constants of (P2) for classes of ``counts`` rows whose shapes Y_k are solved."""
    inverses = precisions(fitted)
    neighbours = np.vstack([counts, adjacent_counts(counts, adjacency)])
    return Problem(
        epsilon=epsilon,
        rule=2 * np.log(2 / delta),
        dim=fitted.dim,
        counts=counts,
        shapes=shapes,
        shape_cost=np.einsum("kij,kij->k", inverses, shapes),
        trace_precision=np.trace(inverses, axis1=1, axis2=2),
        candidates=neighbours / neighbours.sum(axis=1, keepdims=True),
        smoothing=smoothing,
    )


def alternate(problem: Problem, max_iterations: int = 50) -> Allocation:
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
        if len(history) > 1 and abs(history[-1] - history[-2]) <= EARLY_STOP:
            break
    return Allocation(epsilon_k, gamma, epsilon_0, mapping, tuple(history))


def update_gamma(problem: Problem, epsilon_0: float, epsilon_k: Floats) -> Floats:
    """gamma_k = min{(d+1)/d tr Sigma_k^-1, 2 N_k (eps - eps_0 - eps_k)/3}, (eq21)."""
    allowed = 2 * problem.counts * (problem.epsilon - epsilon_0 - epsilon_k) / 3
    return np.minimum(best_gamma(problem.trace_precision, problem.dim), allowed)


def covariance_epsilon(problem: Problem, gamma: Floats) -> Floats:
    """eps'_k = 3 gamma_k / (2 N_k), Lemma 2."""
    return np.asarray(3 * gamma / (2 * problem.counts))


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
        # The objective has kinks in eps_0, where signs in the map change; so it is refined between neighbouring grid points.
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
