"""What the baselines share: their sensitivities, their noise scales, and the form of one part.

Sensitivities (Wu et al. 2016), with R >= |x|_1 read from the data and n rows in K classes:
S(pi) = K/n,  S(mu_k) = 4RK/n,  S(Sigma_k) = (12nKR^2 + 8K^2R^2)/n^2, in L1; the Gaussian parts use them
as the L2 bounds that they also are, with sigma = S sqrt(2 ln(2/delta)) / eps, and so does R1SMG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from privgmm.model.fitting import precisions
from privgmm.model.mixture import Floats, Mixture

Draw = Callable[["Facts", float, float, np.random.Generator], Floats]
Cost = Callable[["Facts", float, float], float]

# Costs that have no closed form are averaged over the same draws for every split.
TUNING_SEED = 20240521


@dataclass(frozen=True, eq=False)
class Facts:
    """What the parts read of the data; ``cache`` holds the shapes of the coloured noise."""

    X: Floats
    codes: NDArray[np.intp]
    fitted: Mixture
    precisions: Floats
    bound: float
    cache: dict[str, Floats] = field(default_factory=dict)

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.bincount(self.codes, minlength=self.fitted.n_classes)

    def sensitivities(self) -> tuple[float, float, float]:
        """S(pi), S(mu_k), S(Sigma_k)."""
        n, K, R = self.codes.size, self.fitted.n_classes, self.bound
        return K / n, 4 * R * K / n, (12 * n * K * R**2 + 8 * K**2 * R**2) / n**2


@dataclass(frozen=True)
class Part:
    """draw(facts, eps, delta, rng) and expected_kl(facts, eps, delta)."""

    draw: Draw
    expected_kl: Cost


def gather(X: Floats, codes: NDArray[np.intp], fitted: Mixture) -> Facts:
    """The facts of a data set."""
    return Facts(
        X,
        codes,
        fitted,
        precisions(fitted),
        float(np.abs(X).sum(axis=1).max()),
    )


def gaussian_scale(sensitivity: float, eps: float, delta: float) -> float:
    """sigma = S sqrt(2 ln(2/delta)) / eps, the paper's rule."""
    return float(sensitivity * np.sqrt(2 * np.log(2 / delta)) / eps)


def r1smg_variance(sensitivity: float, eps: float, delta: float, dim: int) -> float:
    """sigma* = 2 S^2 / (eps psi), psi = (delta Gamma((M-1)/2) / (sqrt(pi) Gamma(M/2)))^(2/(M-2)), M = dim."""
    log_base = np.log(delta) + gammaln((dim - 1) / 2) - 0.5 * np.log(np.pi) - gammaln(dim / 2)
    return float(2 * sensitivity**2 / eps * np.exp(-2 / (dim - 2) * log_base))


def iid(
    kind: str,
    sensitivity: float,
    eps: float,
    delta: float,
    rng: np.random.Generator,
    shape: tuple[int, ...],
) -> Floats:
    if kind == "laplace":
        return rng.laplace(scale=sensitivity / eps, size=shape)
    return gaussian_scale(sensitivity, eps, delta) * rng.standard_normal(shape)
