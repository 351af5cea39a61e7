"""Scores: numbers that tell two neighbours apart by what is published, or by which somebody who knows one row guesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privgmm.model import Mixture
from privgmm.types import Floats

# A class of weight zero or a far point would give an infinite score, which cannot be ranked.
_FAR = 1e6
# With fewer runs, even a score that betrays D every time would not refute epsilon = 1.
FEWEST_RUNS = 20
# Less than any difference between scores that means something.
_COIN = 1e-9


def tossed(scores: Sequence[float], rng: np.random.Generator) -> Floats:
    """The scores with ties broken at random: a tie would count as a loss, so the attacker tosses a coin instead."""
    return np.asarray(np.array(scores) + _COIN * rng.random(len(scores)))


def outside_support(released: Mixture, fitted: Mixture) -> float:
    """How far some covariance lies outside {M >= Sigma_k}, the support of Sigma_k + Wishart noise.

    Positive means: this output is impossible on the table that ``fitted`` was fitted to.
    """
    gaps = np.linalg.eigvalsh(released.covariances - fitted.covariances)
    return float(-gaps.min())


def gaussian_ratio(
    means: Floats, first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> float:
    """Log-likelihood ratio of released means (K, d) under two pairs (means, noise covariances)."""
    return _gaussian_log_density(means, *second) - _gaussian_log_density(means, *first)


def _gaussian_log_density(means: Floats, center: Floats, noise: Floats) -> float:
    off = means - center
    squares = np.einsum("ki,kij,kj->", off, np.linalg.inv(noise), off)
    return float(-0.5 * squares - 0.5 * np.linalg.slogdet(noise)[1].sum())


def shift(means: Floats, first: Floats, second: Floats) -> float:
    """Projection of released means on the change of the fitted means."""
    return float(((means - first) * (second - first)).sum())


def rank_one_ratio(means: Floats, first: Floats, second: Floats) -> float:
    """Log-likelihood ratio of rank-one noise z*u on the means, up to its bounded part.

    The density of z*u at distance r is proportional to r^(1-d) exp(-r^2 / 2 sigma*): it has a pole at
    the true mean, so an output near mu_k(D) betrays D.
    """
    moved = np.any(first != second, axis=1)
    logs = [
        np.log(np.maximum(np.linalg.norm((means - center)[moved], axis=1), 1e-300)).sum()
        for center in (first, second)
    ]
    return float((first.shape[1] - 1) * (logs[0] - logs[1]))


def parameters(mixture: Mixture) -> Floats:
    """All parameters as one vector, variances on a logarithmic scale."""
    diagonal = np.log(np.diagonal(mixture.covariances, axis1=1, axis2=2))
    lower = np.tril_indices(mixture.dim, -1)
    return np.concatenate(
        [
            mixture.weights,
            mixture.means.ravel(),
            diagonal.ravel(),
            mixture.covariances[:, lower[0], lower[1]].ravel(),
        ]
    )


def trained(low: Sequence[Mixture], high: Sequence[Mixture]) -> tuple[Floats, Floats]:
    """Scores of the second halves under a logistic classifier trained on the first halves."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer

    half = min(len(low), len(high)) // 2
    features = [np.stack([parameters(m) for m in side]) for side in (low, high)]
    # Features are replaced by their ranks, because released covariances have heavy tails.
    model = make_pipeline(
        QuantileTransformer(n_quantiles=min(half, 200), output_distribution="normal"),
        LogisticRegression(C=0.1, max_iter=500),
    )
    model.fit(np.vstack([f[:half] for f in features]), np.repeat([0, 1], half))
    scores = [np.asarray(model.decision_function(f[half:])) for f in features]
    return scores[0], scores[1]


def label_odds(mixture: Mixture, x: Floats, other: int, label: int) -> float:
    """ln of the posterior odds that x (d,) carries ``label`` rather than ``other``."""
    joint = np.maximum(mixture.log_joint(x[None])[0], -_FAR)
    return float(joint[label] - joint[other])


def membership(mixture: Mixture, x: Floats, label: int) -> float:
    """ln p(x, label): a model fits its own rows better (the loss-threshold attack, Yeom et al. 2018)."""
    return float(max(mixture.log_joint(x[None])[0, label], -_FAR))
