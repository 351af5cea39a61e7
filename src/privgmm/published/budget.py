"""Theorem 1 as a check: what a design spends on each part, recomputed from its noise and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.labels import labelled_arrays
from privgmm.published.mechanism import Design, uses_ball
from privgmm.published.neighbours import clip_to_ball, mean_shifts
from privgmm.published.weights_map import log_grid_size
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class Spent:
    """The least eps_k (eq10), eps'_k (Lemma 2) and eps_0 (eq17) that the noise allows, and (eq09)."""

    means: Floats
    covariances: Floats
    weights: float

    @property
    def total(self) -> float:
        """max_k (eps_k + eps'_k) + eps_0, the right-hand side of (eq09)."""
        return float((self.means + self.covariances).max() + self.weights)


def spent(design: Design, X: ArrayLike, y: ArrayLike) -> Spent:
    """Recompute Theorem 1's left-hand sides for a design of (X, y), without trusting its budgets."""
    if uses_ball(design.adjacency, design.options):
        return spent_on(design, None)
    x, codes, _ = labelled_arrays(X, y, design.fitted.classes)
    if design.radius is not None:
        x = clip_to_ball(x, design.radius)
    return spent_on(
        design,
        [
            mean_shifts(x, codes, k, mean, design.adjacency, design.options.neighbours)
            for k, mean in enumerate(design.fitted.means)
        ],
    )


def spent_on(design: Design, shifts: Sequence[ArrayLike] | None) -> Spent:
    """What a design spends, from the mean shifts of all neighbours (eq10), or without shifts from the ball (eq10a).

    What a design with a ball spends is decided by (eq10a), not by (eqr5) as printed.
    """
    rule = 2 * np.log(2 / design.delta)
    means = np.empty(design.counts.size)
    for k in range(means.size):
        precision = np.linalg.inv(design.mean_noise[k])
        if shifts is None:
            if design.radius is None:
                raise InputError("This design lists its neighbours; give their mean shifts.")
            # (eq10a): eps_k^2 N_k^2 / (2 ln(2/delta)) >= 4 B^2 |Gamma_k|_2
            worst = (2 * design.radius / design.counts[k]) ** 2 * np.linalg.eigvalsh(precision)[-1]
        else:
            rows = np.asarray(shifts[k], dtype=np.float64)
            worst = np.einsum("ni,ij,nj->n", rows, precision, rows, optimize=True).max()
        means[k] = np.sqrt(rule * worst)
    ratio = np.log(design.weights_map.column / design.weights_map.other)
    return Spent(means, design.epsilon_covariances, float(np.abs(ratio).max()))


def smoothing_log_ratio(n: int, n_classes: int, smoothing: float) -> float:
    """ln f(pi~|pi)/f(pi~|pi') at a pi~ that f'(.|pi) reaches and f'(.|pi') does not, all g_i of one sign.

    The loss that the paper's post-processing argument overlooks: f' has data-dependent support, so
    (eq11), which Theorem 1 asks of *all* pi~, fails by this much.
    """
    log_uniform = np.log(smoothing) - log_grid_size(n, n_classes)
    near = (1 - smoothing) / (n_classes * (n_classes - 1) + 1)
    return float(np.log(near + np.exp(log_uniform)) - log_uniform)
