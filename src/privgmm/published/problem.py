"""(P2) once its semidefinite part is solved: a handful of numbers per class.

(eq19) says Gamma_k^-1 >= D_n D_n^T 2 ln(2/delta) / eps_k^2 for all shifts D_n. The smallest such
matrix is Gamma_k^-1 = Y_k 2 ln(2/delta) / eps_k^2, where Y_k is the minimum-trace ellipsoid of the
shifts and does not depend on the budget. So (eq23) is solved once, here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.model.fitting import precisions
from privgmm.model.mixture import Floats, Mixture
from privgmm.published.neighbours import Adjacency, adjacent_counts
from privgmm.published.objective import component_cost, printed_expected_kl, weight_loss
from privgmm.published.weights_map import WeightsMap, transition_columns
from privgmm.solver import min_trace_ellipsoid


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
