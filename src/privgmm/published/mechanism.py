"""The public functions of the published method: from data or parameters to a frozen ``Design``, from which mixtures are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.checks import real, whole
from privgmm.errors import InputError
from privgmm.model.fitting import fit, refuse_small_classes, weights_on_grid
from privgmm.model.labels import labelled_arrays
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import generator
from privgmm.published.neighbours import (
    Adjacency,
    Neighbours,
    adjacency_named,
    ball_shape,
    clip_to_ball,
    mean_shifts,
)
from privgmm.published.objective import true_component_kl
from privgmm.published.options import Options, options_from
from privgmm.published.problem import alternate, listed_shapes, optimise, pose
from privgmm.published.weights_map import WeightsMap
from privgmm.types import ClassName, Floats

SOLVER_TOLERANCE = 1e-5

# Noise scales are divided by epsilon and squared: with a smaller epsilon or delta they would overflow.
_FINEST_EPSILON = 1e-6
_FINEST_DELTA = 1e-100


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """The noise of the published mechanism for one data set. It is itself a function of private data.

    mean_noise : (K, d, d) Gamma_k^-1, the covariance of the noise on the mean, (eq5)
    wishart_scale : (K,) gamma_k; the covariance noise is Wishart_d(I/gamma_k, d+1), (eq6)
    epsilon_means, epsilon_covariances : (K,) eps_k and eps'_k;  epsilon_weights : eps_0, (eq09)
    weights_map : f(. | pi(D)), Prop. 3
    objective : Prop. 2's expected KL (eq_obj) of this design;  history : its value per iteration
    fitted : the non-private fit (of the clipped rows, if a radius was given)
    """

    mean_noise: Floats
    wishart_scale: Floats
    epsilon_means: Floats
    epsilon_weights: float
    objective: float
    history: tuple[float, ...]
    weights_map: WeightsMap
    fitted: Mixture
    counts: Floats
    epsilon: float
    delta: float
    adjacency: Adjacency
    radius: float | None
    options: Options

    def __repr__(self) -> str:
        # Short on purpose: the fields hold the non-private fit.
        return (
            f"Design(adjacency={self.adjacency!r}, epsilon={self.epsilon}, delta={self.delta}, "
            f"method={self.options.method!r}, objective={self.objective:.6g})"
        )

    @property
    def epsilon_covariances(self) -> Floats:
        """eps'_k = 3 gamma_k / (2 N_k), Lemma 2."""
        return np.asarray(3 * self.wishart_scale / (2 * self.counts))

    def draw(self, seed: int | np.random.Generator | None = None) -> Mixture:
        """One released mixture: (eq5), (eq6) and pi~ ~ f. ``seed=None`` uses the OS's entropy."""
        rng = generator(seed)
        K, d = self.fitted.means.shape
        weights = self.weights_map.draw(rng)
        try:
            factors = np.linalg.cholesky(self.mean_noise)
        except np.linalg.LinAlgError:
            raise InputError(
                "The noise of this design has no spread in some direction; rescale the columns."
            ) from None
        shift = (factors @ rng.standard_normal((K, d, 1)))[:, :, 0]
        # d+1 is an integer: a Wishart draw is the Gram matrix of d+1 Gaussian rows.
        G = rng.standard_normal((K, d + 1, d))
        W = G.transpose(0, 2, 1) @ G / self.wishart_scale[:, None, None]
        return Mixture(
            weights, self.fitted.means + shift, self.fitted.covariances + W, self.fitted.classes
        )

    def true_expected_kl(self, samples: int = 2000, seed: int | None = 0) -> tuple[float, float]:
        """E KL(released || fitted) without Prop. 2's shortcut; (value, standard error)."""
        cost, error = true_component_kl(
            self.fitted.covariances, self.mean_noise, self.wishart_scale, samples, seed
        )
        weights = self.weights_map.mean_weights()
        value = self.weights_map.expected_loss() + weights @ cost
        return float(value), float(np.sqrt(((weights * error) ** 2).sum()))


def design(
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    adjacency: str = "label",
    radius: float | None = None,
    smoothing: float = 1e-3,
    neighbours: Neighbours = "both",
    *,
    method: Literal["alternating", "joint"] = "alternating",
    classes: Sequence[ClassName] | None = None,
    scalable: bool = False,
    eqr5: Literal["repaired", "printed"] = "repaired",
    max_iterations: int = 50,
) -> Design:
    """Design the published mechanism for a data set; its guarantee is claimed, not proven.

    adjacency : "label", "record-remove", "record-change" ("record"), "record-add"
    radius : B; rows are clipped to |x| <= B. Needed by record-change, record-add and ``scalable``
    smoothing : lambda, the share of the uniform draw from S
    neighbours : label level: "both" rows that enter a class and rows that leave it move its mean in
        (eq10), or "departures" only; the print allows either reading (docs/published.md)
    method : "alternating" (Algorithm 1) or "joint" (the same problem, solved jointly)
    scalable : use (eqr5) for the mean noise, whose cost does not depend on N
    eqr5 : "repaired" 8 B^2, or "printed" 8 B
    """
    options = Options(smoothing, method, scalable, neighbours, eqr5, max_iterations)
    relation = _checked(adjacency, epsilon, delta, radius, options)
    x, codes, names = labelled_arrays(X, y, classes)
    if relation == "label" and len(names) < 2:
        raise InputError(
            "There is one class only, so no label can flip; give at least two classes or choose "
            "a record-level adjacency."
        )
    if radius is not None:
        x = clip_to_ball(x, radius)
    counts = np.bincount(codes, minlength=len(names))
    refuse_small_classes(
        counts, names, at_least=x.shape[1] + 2, why="the published mechanism's covariance"
    )
    fitted = fit(x, codes, classes=range(len(names)))
    fitted = Mixture(fitted.weights, fitted.means, fitted.covariances, names)
    shifts = None
    if not uses_ball(relation, options):
        shifts = [
            mean_shifts(x, codes, k, mean, relation, neighbours)
            for k, mean in enumerate(fitted.means)
        ]
    return _designed(fitted, counts, shifts, epsilon, delta, relation, radius, options)


def design_for(
    fitted: Mixture,
    n: int,
    shifts: Sequence[ArrayLike] | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    adjacency: str = "label",
    radius: float | None = None,
    **options: Any,
) -> Design:
    """Design the published mechanism for given parameters: Algorithm 1's own inputs.

    With it a model that was fitted in another way, for example by EM, can be released as the paper's
    remark on continuous weights says: the weights are moved to the nearest point of the 1/N grid,
    and N_k = N pi_k.

    fitted : pi, mu_k and Sigma_k
    n : N, the number of rows behind them
    shifts : for each class the rows mu_k(D) - mu_k(D') over all neighbours D', (M_k, d); not needed where
        (eqr5) bounds them by ``radius`` (record-change, record-add, ``scalable``)
    options : the other options of ``design``: smoothing, method, scalable, eqr5
    """
    chosen = options_from(options)
    relation = _checked(adjacency, epsilon, delta, radius, chosen)
    if not isinstance(fitted, Mixture):
        raise InputError("The parameters must be a privgmm.Mixture.")
    whole(n, "The number of rows")
    weights = weights_on_grid(fitted.weights, n)
    counts = np.rint(weights * n).astype(np.intp)
    if relation == "label" and counts.size < 2:
        raise InputError("There is one class only, so no label can flip.")
    model = Mixture(weights, fitted.means, fitted.covariances, fitted.classes)
    listed = None
    if not uses_ball(relation, chosen):
        listed = _checked_shifts(shifts, model)
    return _designed(model, counts, listed, epsilon, delta, relation, radius, chosen)


def uses_ball(adjacency: Adjacency, options: Options) -> bool:
    """Whether the mean noise comes from (eqr5) and not from a list of neighbours."""
    return options.scalable or adjacency in ("record-change", "record-add")


def _designed(
    fitted: Mixture,
    counts: NDArray[np.intp],
    shifts: Sequence[Floats] | None,
    epsilon: float,
    delta: float,
    adjacency: Adjacency,
    radius: float | None,
    options: Options,
) -> Design:
    """Solve (P2) for the classes' shapes: those of the listed shifts, or the balls of (eqr5)."""
    if shifts is not None:
        shapes = listed_shapes(shifts, fitted, SOLVER_TOLERANCE)
    else:
        assert radius is not None  # for the type checker: _checked refuses otherwise
        printed = options.eqr5 == "printed"
        shapes = np.stack([ball_shape(int(n), fitted.dim, radius, printed) for n in counts])
    problem = pose(
        fitted,
        counts,
        shapes,
        epsilon=float(epsilon),
        delta=float(delta),
        adjacency=adjacency,
        smoothing=float(options.smoothing),
    )
    if options.method == "joint":
        found = optimise(problem)
    else:
        found = alternate(problem, options.max_iterations)
    return Design(
        mean_noise=problem.shapes * (problem.rule / found.epsilon_means**2)[:, None, None],
        wishart_scale=found.wishart_scale,
        epsilon_means=found.epsilon_means,
        epsilon_weights=found.epsilon_weights,
        objective=found.history[-1],
        history=found.history,
        weights_map=found.mapping,
        fitted=fitted,
        counts=counts.astype(np.float64),
        epsilon=float(epsilon),
        delta=float(delta),
        adjacency=adjacency,
        radius=radius,
        options=options,
    )


def _checked(
    adjacency: str, epsilon: float, delta: float, radius: float | None, options: Options
) -> Adjacency:
    """The adjacency that is meant, or one sentence on which setting is wrong."""
    relation = adjacency_named(adjacency)
    check_budget(epsilon, delta)
    if radius is None and uses_ball(relation, options):
        raise InputError(
            f"Adjacency {relation!r}{' with scalable noise' if options.scalable else ''} needs a "
            "radius that bounds every row; state one that does not come from the data."
        )
    if radius is not None and not (math.isfinite(real(radius, "The radius")) and radius > 0):
        raise InputError(f"The radius must be a positive number, got {radius}.")
    return relation


def _checked_shifts(shifts: Sequence[ArrayLike] | None, fitted: Mixture) -> list[Floats]:
    if shifts is None or len(shifts) != fitted.n_classes:
        raise InputError(
            f"Give the mean shifts of all neighbours, one array for each of the {fitted.n_classes} "
            "classes, or a radius with scalable=True."
        )
    rows = [np.asarray(class_shifts, dtype=np.float64) for class_shifts in shifts]
    for class_shifts in rows:
        if class_shifts.ndim != 2 or class_shifts.shape[1] != fitted.dim or not class_shifts.size:
            raise InputError(
                f"The mean shifts of a class must be a table with {fitted.dim} columns and a row "
                "for each neighbour."
            )
        if not np.isfinite(class_shifts).all():
            raise InputError("The mean shifts hold missing or infinite values.")
    return rows


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse eps <= 0 and delta outside (0, 1) in one sentence."""
    if not (math.isfinite(real(epsilon, "Epsilon")) and epsilon > 0):
        raise InputError(f"Epsilon must be a positive number, got epsilon={epsilon}.")
    if not _FINEST_EPSILON <= epsilon <= 1 / _FINEST_EPSILON:
        raise InputError(
            f"Epsilon must lie between {_FINEST_EPSILON:g} and {1 / _FINEST_EPSILON:g}, "
            f"got epsilon={epsilon:g}."
        )
    if not 0 < real(delta, "Delta") < 1:
        raise InputError(f"Delta must lie strictly between 0 and 1, got delta={delta}.")
    if delta < _FINEST_DELTA:
        raise InputError(f"Delta must be at least {_FINEST_DELTA:g}, got delta={delta:g}.")
