"""What the baselines share: their sensitivities, their noise scales, and the form of one part.

Sensitivities (Wu et al. 2016), with R >= |x|_1 read from the data and n rows in K classes:
S(pi) = K/n,  S(mu_k) = 4RK/n,  S(Sigma_k) = (12nKR^2 + 8K^2R^2)/n^2, in L1; the Gaussian parts use them
as the L2 bounds that they also are, with sigma = S sqrt(2 ln(2/delta)) / eps. R1SMG is defined by an L2
sensitivity, which the paper does not state: "wu" is the bound above, "l2" is 2K max|x|_2 / n, the most that
one row within max|x|_2 can move the mean of a class of n/K rows.
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
Cost = Callable[["Facts", float, float, int], Floats]

# Costs that have no closed form are averaged over the same draws for every split.
TUNING_SEED = 20240521


@dataclass(frozen=True, eq=False)
class Facts:
    """What the parts read of the data; ``cache`` holds the shapes of the coloured noise.

    bound : R = max |x|_1;  longest : max |x|_2;  rank_one : which sensitivity R1SMG uses, "wu" or "l2"
    """

    X: Floats
    codes: NDArray[np.intp]
    fitted: Mixture
    precisions: Floats
    bound: float
    longest: float
    rank_one: str = "wu"
    cache: dict[str, Floats] = field(default_factory=dict)

    @property
    def counts(self) -> NDArray[np.intp]:
        """(K,) rows of each class."""
        return np.bincount(self.codes, minlength=self.fitted.n_classes)

    def sensitivities(self) -> tuple[float, float, float]:
        """S(pi), S(mu_k), S(Sigma_k)."""
        n, K, R = self.codes.size, self.fitted.n_classes, self.bound
        return K / n, 4 * R * K / n, (12 * n * K * R**2 + 8 * K**2 * R**2) / n**2

    def rank_one_sensitivity(self) -> float:
        """The L2 sensitivity of a mean that R1SMG is calibrated to."""
        if self.rank_one == "wu":
            return self.sensitivities()[1]
        return 2 * self.fitted.n_classes * self.longest / self.codes.size


@dataclass(frozen=True)
class Part:
    """draw(facts, eps, delta, rng) and class_kl(facts, eps, delta, draws).

    ``class_kl`` is (K,), what the part adds to KL(N~_k || N_k) on average; where there is no closed form,
    over that many draws.
    """

    draw: Draw
    class_kl: Cost


def gather(X: Floats, codes: NDArray[np.intp], fitted: Mixture, rank_one: str = "wu") -> Facts:
    """The facts of a data set."""
    return Facts(
        X,
        codes,
        fitted,
        precisions(fitted),
        float(np.abs(X).sum(axis=1).max()),
        float(np.linalg.norm(X, axis=1).max()),
        rank_one,
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
    """Independent noise of one scale: Laplace, or Gaussian by the ln(2/delta) rule."""
    if kind == "laplace":
        return rng.laplace(scale=sensitivity / eps, size=shape)
    return gaussian_scale(sensitivity, eps, delta) * rng.standard_normal(shape)
