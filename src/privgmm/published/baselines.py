"""The four baselines of section V, all under the same total (eps, delta).

                    weights     means             covariances
laplace             Laplace     Laplace           Laplace               (Wu et al. 2016, Algorithm 2)
gaussian            Gaussian    Gaussian          Gaussian              (ln(2/delta) rule)
colored-gaussian    Gaussian    min-MSE Gamma     Gaussian              (eq5) with weight I in (eq23)
r1smg               Gaussian    rank-1 noise      Wishart (eq6)         (Ji and Li 2024, Eq. (9))

Accounting is the paper's: per-class releases compose in parallel, the three parts in sequence, so
eps = eps_weights + eps_means + eps_covariances, and delta is shared equally by the parts that need one.
The split is the best of a grid on this data set, as the paper tunes its baselines, or as given.
R1SMG's sensitivity is not stated in the paper; both readings are offered (``sensitivity`` of ``baseline_design``).
None of this is private as claimed (R is read from the data, R1SMG's calibration is wrong).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.fitting import fit, refuse_small_classes
from privgmm.model.labels import labelled_arrays
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import generator
from privgmm.published.baseline_parts import (
    COVARIANCE_PARTS,
    MEAN_PARTS,
    Facts,
    draw_weights,
    expected_weights,
    gather,
)
from privgmm.published.mechanism import check_budget
from privgmm.types import ClassName, Floats

Split = tuple[float, float, float]

# name -> (weights, means, covariances)
BASELINES: dict[str, tuple[str, str, str]] = {
    "laplace": ("laplace", "laplace", "laplace"),
    "gaussian": ("gaussian", "gaussian", "gaussian"),
    "colored-gaussian": ("gaussian", "colored-gaussian", "gaussian"),
    "r1smg": ("gaussian", "r1smg", "wishart"),
}
_PURE = {"laplace", "wishart"}  # these parts spend no delta
_WEIGHT_SHARES = (0.02, 0.1, 1 / 3)
_MEAN_SHARES = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)  # of what the weights leave


@dataclass(frozen=True, eq=False, repr=False)
class BaselineDesign:
    """A baseline tuned to one data set: ``split`` are the shares of eps for weights, means, covariances."""

    parts: tuple[str, str, str]
    facts: Facts
    split: Split
    budgets: tuple[tuple[float, float], ...]

    def draw(self, seed: int | np.random.Generator | None = None) -> Mixture:
        """One released mixture; ``seed=None`` uses the OS's entropy."""
        rng = generator(seed)
        return Mixture(
            draw_weights(self.parts[0], self.facts, *self.budgets[0], rng)[0],
            MEAN_PARTS[self.parts[1]].draw(self.facts, *self.budgets[1], rng),
            COVARIANCE_PARTS[self.parts[2]].draw(self.facts, *self.budgets[2], rng),
            self.facts.fitted.classes,
        )

    def expected_kl(self, draws: int = 30) -> float:
        """E KL(released || fitted): exact for the noise on the means, averaged over draws for the rest."""
        weights, loss = expected_weights(self.parts[0], self.facts, *self.budgets[0], 200 * draws)
        return loss + float(weights @ (self.means_kl() + self._covariances_kl(draws)))

    def means_kl(self) -> Floats:
        """(K,) what the noise on the means adds to KL(N~_k || N_k), exactly."""
        return MEAN_PARTS[self.parts[1]].class_kl(self.facts, *self.budgets[1], 0)

    def _covariances_kl(self, draws: int) -> Floats:
        return COVARIANCE_PARTS[self.parts[2]].class_kl(self.facts, *self.budgets[2], draws)


def baseline_design(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    split: Split | None = None,
    classes: Sequence[ClassName] | None = None,
    covariances: str | None = None,
    sensitivity: Literal["wu", "l2"] = "wu",
) -> BaselineDesign:
    """Tune a baseline to a data set; the result can be drawn from as often as wanted.

    split : shares of eps for (weights, means, covariances), summing to one; grid search if omitted
    covariances : another covariance part ("laplace", "gaussian", "wishart") than the baseline's own
    sensitivity : R1SMG's: "wu" 4RK/n as for the other baselines, or "l2" 2K max|x|_2 / n
    """
    if sensitivity not in ("wu", "l2"):
        raise InputError(f"The sensitivity must be 'wu' or 'l2', got {sensitivity!r}.")
    if sensitivity == "l2" and name in BASELINES and name != "r1smg":
        raise InputError("Only R1SMG has a choice of sensitivity; the others use Wu's.")
    facts = gather(*_checked(name, X, y, epsilon, delta, classes), rank_one=sensitivity)
    parts = _parts(name, covariances)
    shares = best_split(parts, facts, epsilon, delta) if split is None else split
    return BaselineDesign(parts, facts, shares, _budgets(parts, shares, epsilon, delta))


def baseline(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    seed: int | np.random.Generator | None = None,
    **choices: Any,
) -> Mixture:
    """One mixture released by a baseline; ``choices`` are those of ``baseline_design``."""
    return baseline_design(name, X, y, epsilon, delta, **choices).draw(seed)


def best_split(parts: tuple[str, str, str], facts: Facts, epsilon: float, delta: float) -> Split:
    """The split of a grid with the least expected KL, which is the sum of the costs of the three parts.

    A few draws, the same for every split, suffice for the comparison; pi is used in place of E[pi~].
    """
    pi, few = facts.fitted.weights, max(1, 24 // facts.fitted.dim)
    best: Split = (1 / 3, 1 / 3, 1 / 3)
    least = np.inf
    for weight_share in _WEIGHT_SHARES:
        weight_cost = np.inf
        for mean_share in _MEAN_SHARES:
            rest = 1 - weight_share
            split = (weight_share, rest * mean_share, rest * (1 - mean_share))
            weights, means, covariances = _budgets(parts, split, epsilon, delta)
            if weight_cost == np.inf:  # the same for every mean share
                weight_cost = expected_weights(parts[0], facts, *weights, 64)[1]
            per_class = MEAN_PARTS[parts[1]].class_kl(facts, *means, few)
            per_class = per_class + COVARIANCE_PARTS[parts[2]].class_kl(facts, *covariances, few)
            cost = weight_cost + float(pi @ per_class)
            if cost < least:
                best, least = split, cost
    return best


def _budgets(
    parts: tuple[str, str, str], split: Split, epsilon: float, delta: float
) -> tuple[tuple[float, float], ...]:
    """(eps_i, delta_i) of each part; they add up to at most (eps, delta)."""
    if len(split) != 3 or min(split) <= 0 or abs(sum(split) - 1) > 1e-9:
        raise InputError("A split is three positive shares of epsilon that sum to one.")
    users = sum(part not in _PURE for part in parts)
    return tuple(
        (share * epsilon, 0.0 if part in _PURE else delta / users)
        for part, share in zip(parts, split, strict=True)
    )


def _parts(name: str, covariances: str | None) -> tuple[str, str, str]:
    weights, means, own = BASELINES[name]
    if covariances is not None and covariances not in COVARIANCE_PARTS:
        raise InputError(
            f"Unknown covariance part {covariances!r}; choose one of {', '.join(COVARIANCE_PARTS)}."
        )
    return weights, means, covariances or own


def _checked(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float,
    delta: float,
    classes: Sequence[ClassName] | None,
) -> tuple[np.ndarray, np.ndarray, Mixture]:
    """Features, class codes and the non-private fit, or one sentence on what is wrong."""
    if name not in BASELINES:
        raise InputError(f"Unknown baseline {name!r}; choose one of {', '.join(BASELINES)}.")
    check_budget(epsilon, delta)
    x, codes, names = labelled_arrays(X, y, classes)
    if len(names) < 2:
        raise InputError("There is one class only; the baselines need at least two classes.")
    if name == "r1smg" and x.shape[1] < 3:
        raise InputError(
            f"R1SMG needs at least three features (its exponent is 2/(d-2)), got {x.shape[1]}."
        )
    counts = np.bincount(codes, minlength=len(names))
    refuse_small_classes(counts, names, at_least=x.shape[1] + 2, why="an invertible covariance")
    fitted = fit(x, codes, classes=range(len(names)))
    return x, codes, Mixture(fitted.weights, fitted.means, fitted.covariances, names)
