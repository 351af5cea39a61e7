"""A prior for pure label models: assignments that make bell-shaped classes are likelier.

Noisy counts cannot tell where a small component belongs, but the features can: a class that is
Gaussian, as (eq2) has it, is not made of components far apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from privgmm.proven.label.assignments import PurePosterior
from privgmm.proven.label.statistics import Moments, moments_under
from privgmm.types import Floats

LogPrior = Callable[[NDArray[np.intp]], Floats]


def bell_shaped(
    X: Floats,
    shares: Floats,
    responsibilities: Floats,
    n_classes: int,
    scale: Floats,
    belief: float,
) -> LogPrior:
    """ln prior of assignments (S, M) of components to classes, up to a constant of the rows X.

    ``shares`` (n,) say how much each row counts; ``scale`` (d,) are the columns' spreads; ``belief`` is the part of the log-likelihood that counts.
    """
    parts = moments_under(X, responsibilities * shares[:, None])
    n, d = float(shares.sum()), X.shape[1]
    # Shapes lean on that of all rows by d + 2 rows, so that few rows do not make a sharp class.
    base = (d + 2) * moments_under(X, shares[:, None]).covariances(scale)

    def log_prior(assignments: NDArray[np.intp]) -> Floats:
        out = np.empty(len(assignments))
        for s, z in enumerate(assignments):
            classes: Moments = parts.merged(z, n_classes)
            shape = (classes.scatter + base) / (classes.counts + d + 2)[:, None, None]
            volume = np.linalg.slogdet(shape)[1]
            out[s] = xlogy(classes.counts, classes.counts / n).sum() - classes.counts @ volume / 2
        return belief * out

    return log_prior


def reweighted(
    posterior: PurePosterior, log_prior: LogPrior, rng: np.random.Generator
) -> PurePosterior:
    """The posterior under another prior than the uniform one, from its own draws."""
    unique, counts = np.unique(posterior.draws, axis=0, return_counts=True)
    log_weight = np.log(counts) + log_prior(unique)
    total = float(logsumexp(log_weight))
    picks = rng.choice(len(unique), len(posterior.draws), p=np.exp(log_weight - total))
    return PurePosterior(
        unique[picks], posterior.log_evidence + total - float(np.log(counts.sum()))
    )
