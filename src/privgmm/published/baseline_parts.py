"""The parts of the baselines: what they read of the data, and their noise on weights, means and covariances.

Sensitivities (Wu et al. 2016), with R >= |x|_1 read from the data and n rows in K classes:
S(pi) = K/n,  S(mu_k) = 4RK/n,  S(Sigma_k) = (12nKR^2 + 8K^2R^2)/n^2, in L1; the Gaussian parts use them
as the L2 bounds that they also are, with sigma = S sqrt(2 ln(2/delta)) / eps. R1SMG is defined by an L2
sensitivity, which the paper does not state: "wu" is the bound above, "l2" is 2K max|x|_2 / n, the most that
one row within max|x|_2 can move the mean of a class of n/K rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from privgmm.model.fitting import precisions
from privgmm.model.mixture import Mixture
from privgmm.published.neighbours import mean_shifts
from privgmm.solver import min_trace_ellipsoid
from privgmm.types import Floats

Draw = Callable[["Facts", float, float, np.random.Generator], Floats]
Cost = Callable[["Facts", float, float, int], Floats]

# Costs without a closed form are averaged over draws of this seed, the same for every split, so that splits can be compared.
TUNING_SEED = 20240521
# Eigenvalues of a projected covariance are at least this share of R^2.
_EIGENVALUE_FLOOR = 1e-6


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
class BaselinePart:
    """How one part is released, draw(facts, eps, delta, rng), and what it costs, class_kl(facts, eps, delta, draws).

    ``class_kl`` is (K,): what the part adds to KL(N~_k || N_k) on average, over ``draws`` draws where there is no
    closed form.
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


def draw_weights(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator, times: int = 1
) -> Floats:
    """(times, K) noisy weights: noise, clip at zero, renormalise."""
    pi = facts.fitted.weights
    noise = iid(kind, facts.sensitivities()[0], eps, delta, rng, (times, pi.size))
    clipped = np.maximum(pi + noise, 0)
    total = clipped.sum(axis=1, keepdims=True)
    return np.where(total > 0, clipped / np.where(total > 0, total, 1), 1 / pi.size)


def expected_weights(
    kind: str, facts: Facts, eps: float, delta: float, draws: int
) -> tuple[Floats, float]:
    """E[pi~] and E[sum_k pi~_k ln(pi~_k / pi_k)] over ``draws`` draws, the same ones every time."""
    q = draw_weights(kind, facts, eps, delta, np.random.default_rng(TUNING_SEED), draws)
    ratio = np.where(q > 0, q, 1) / facts.fitted.weights
    return q.mean(axis=0), float((q * np.log(ratio)).sum(axis=1).mean())


def _draw_iid_means(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator
) -> Floats:
    mu = facts.fitted.means
    return mu + iid(kind, facts.sensitivities()[1], eps, delta, rng, mu.shape)


def _iid_means_kl(kind: str, facts: Facts, eps: float, delta: float, _: int) -> Floats:
    s = facts.sensitivities()[1]
    variance = 2 * (s / eps) ** 2 if kind == "laplace" else gaussian_scale(s, eps, delta) ** 2
    return _isotropic_kl(facts, variance)


def _isotropic_kl(facts: Facts, variance: float) -> Floats:
    """tr(Sigma_k^-1) variance / 2 per class."""
    return np.asarray(0.5 * np.trace(facts.precisions, axis1=1, axis2=2) * variance)


def _colored_shapes(facts: Facts) -> Floats:
    """(K, d, d) minimum-MSE noise at eps^2 = 2 ln(2/delta): the minimum-trace ellipsoid of the flips with weight I."""
    if "colored" not in facts.cache:
        facts.cache["colored"] = np.stack(
            [
                min_trace_ellipsoid(mean_shifts(facts.X, facts.codes, k, mu, "label")).shape
                for k, mu in enumerate(facts.fitted.means)
            ]
        )
    return facts.cache["colored"]


def _draw_colored_means(facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    mu = facts.fitted.means
    factors = np.linalg.cholesky(_colored_shapes(facts))
    noise = (factors @ rng.standard_normal((*mu.shape, 1)))[:, :, 0]
    return np.asarray(mu + gaussian_scale(1.0, eps, delta) * noise)


def _colored_means_kl(facts: Facts, eps: float, delta: float, _: int) -> Floats:
    cost = np.einsum("kij,kij->k", facts.precisions, _colored_shapes(facts))
    return np.asarray(0.5 * gaussian_scale(1.0, eps, delta) ** 2 * cost)


def _r1smg_variance(facts: Facts, eps: float, delta: float) -> float:
    return r1smg_variance(facts.rank_one_sensitivity(), eps, delta, facts.fitted.dim)


def _draw_r1smg_means(facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    """mu + z u: u uniform on the sphere, z ~ N(0, sigma*)."""
    mu = facts.fitted.means
    u = rng.standard_normal(mu.shape)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    z = rng.standard_normal(mu.shape[0]) * np.sqrt(_r1smg_variance(facts, eps, delta))
    return np.asarray(mu + z[:, None] * u)


def _r1smg_means_kl(facts: Facts, eps: float, delta: float, _: int) -> Floats:
    return _isotropic_kl(facts, _r1smg_variance(facts, eps, delta) / facts.fitted.dim)


MEAN_PARTS = {
    kind: BaselinePart(partial(_draw_iid_means, kind), partial(_iid_means_kl, kind))
    for kind in ("laplace", "gaussian")
} | {
    "colored-gaussian": BaselinePart(_draw_colored_means, _colored_means_kl),
    "r1smg": BaselinePart(_draw_r1smg_means, _r1smg_means_kl),
}


def _draw(kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator) -> Floats:
    return np.asarray(_noisy(kind, facts, eps, delta, rng, 1)[0])


def _noisy(
    kind: str, facts: Facts, eps: float, delta: float, rng: np.random.Generator, times: int
) -> Floats:
    """(times, K, d, d) releases of all covariances."""
    sigma = facts.fitted.covariances
    K, d, _ = sigma.shape
    if kind == "wishart":
        # Lemma 2 with equality: gamma_k = 2 N_k eps / 3.
        gamma = 2 * facts.counts * eps / 3
        G = rng.standard_normal((times, K, d + 1, d))
        return np.asarray(sigma + G.swapaxes(-1, -2) @ G / gamma[:, None, None])
    rows, cols = np.triu_indices(d)
    noise = np.zeros((times, K, d, d))
    noise[..., rows, cols] = iid(
        kind, facts.sensitivities()[2], eps, delta, rng, (times, K, rows.size)
    )
    noise[..., cols, rows] = noise[..., rows, cols]
    eigenvalues, U = np.linalg.eigh(sigma + noise)
    floored = np.maximum(eigenvalues, _EIGENVALUE_FLOOR * facts.bound**2)
    return np.asarray((U * floored[..., None, :]) @ U.swapaxes(-1, -2))


def _class_kl(kind: str, facts: Facts, eps: float, delta: float, draws: int) -> Floats:
    """The covariance part of KL(N~_k || N_k), averaged over ``draws`` draws."""
    rng = np.random.default_rng(TUNING_SEED)
    released = _noisy(kind, facts, eps, delta, rng, draws)
    trace = np.einsum("kij,tkij->tk", facts.precisions, released)
    _, log_det = np.linalg.slogdet(released)
    _, own = np.linalg.slogdet(facts.fitted.covariances)
    return np.asarray(0.5 * (trace - facts.fitted.dim - log_det + own).mean(axis=0))


COVARIANCE_PARTS = {
    kind: BaselinePart(partial(_draw, kind), partial(_class_kl, kind))
    for kind in ("laplace", "gaussian", "wishart")
}
