"""The four baselines of section V, all under the same total (eps, delta).

                    weights     means             covariances
laplace             Laplace     Laplace           Laplace               (Wu et al. 2016, Algorithm 2)
gaussian            Gaussian    Gaussian          Gaussian              (ln(2/delta) rule)
colored-gaussian    Gaussian    min-MSE Gamma     Gaussian              (eq5) with weight I in (eq23)
r1smg               Gaussian    rank-1 noise      Wishart (eq6)         (Ji and Li 2024, Eq. (9))

Accounting is the paper's: per-class releases compose in parallel, the three parts in sequence, so
eps = eps_weights + eps_means + eps_covariances, and delta is shared equally by the parts that need one.
The split is the best of a grid on this data set, as the paper tunes its baselines, or as given.
None of this is private as claimed (R is read from the data, R1SMG's calibration is wrong).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.fitting import fit, labelled_arrays, refuse_small_classes
from privgmm.model.mixture import ClassName, Mixture
from privgmm.model.sampling import generator
from privgmm.published.baseline_covariances import COVARIANCE_PARTS
from privgmm.published.baseline_facts import Facts, gather
from privgmm.published.baseline_means import MEAN_PARTS, WEIGHT_PARTS
from privgmm.published.mechanism import check_budget

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


def baseline(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    seed: int | np.random.Generator | None = None,
    *,
    split: Split | None = None,
    classes: Sequence[ClassName] | None = None,
    covariances: str | None = None,
) -> Mixture:
    """One mixture released by a baseline; ``seed=None`` uses the OS's entropy.

    split : shares of eps for (weights, means, covariances), summing to one; grid search if omitted
    covariances : another covariance part ("laplace", "gaussian", "wishart") than the baseline's own
    """
    facts = gather(*_checked(name, X, y, epsilon, delta, classes))
    parts = _parts(name, covariances)
    shares = best_split(parts, facts, epsilon, delta) if split is None else split
    return _release(parts, facts, _budgets(parts, shares, epsilon, delta), seed)


def tuned_split(
    name: str,
    X: ArrayLike,
    y: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    classes: Sequence[ClassName] | None = None,
    covariances: str | None = None,
) -> Split:
    """The split that ``baseline`` uses on this data set: reuse it to draw many times cheaply."""
    facts = gather(*_checked(name, X, y, epsilon, delta, classes))
    return best_split(_parts(name, covariances), facts, epsilon, delta)


def best_split(parts: tuple[str, str, str], facts: Facts, epsilon: float, delta: float) -> Split:
    """Grid search: the split with the least expected KL, whose three parts simply add up."""
    best: Split = (1 / 3, 1 / 3, 1 / 3)
    least = np.inf
    for weight_share in _WEIGHT_SHARES:
        weight_cost = np.inf
        for mean_share in _MEAN_SHARES:
            rest = 1 - weight_share
            split = (weight_share, rest * mean_share, rest * (1 - mean_share))
            weights, means, covariances = _budgets(parts, split, epsilon, delta)
            if weight_cost == np.inf:  # the same for every mean share
                weight_cost = WEIGHT_PARTS[parts[0]].expected_kl(facts, *weights)
            cost = (
                weight_cost
                + MEAN_PARTS[parts[1]].expected_kl(facts, *means)
                + COVARIANCE_PARTS[parts[2]].expected_kl(facts, *covariances)
            )
            if cost < least:
                best, least = split, cost
    return best


def _release(
    parts: tuple[str, str, str],
    facts: Facts,
    budgets: tuple[tuple[float, float], ...],
    seed: int | np.random.Generator | None,
) -> Mixture:
    rng = generator(seed)
    return Mixture(
        WEIGHT_PARTS[parts[0]].draw(facts, *budgets[0], rng),
        MEAN_PARTS[parts[1]].draw(facts, *budgets[1], rng),
        COVARIANCE_PARTS[parts[2]].draw(facts, *budgets[2], rng),
        facts.fitted.classes,
    )


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
