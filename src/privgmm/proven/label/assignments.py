"""Which class does each component carry? Posterior of pure label models, given noisy cell counts.

Model j says that all rows of component m carry one class k(m): q_n = r_n B with one-hot rows
B_m = e_k(m). Cell counts then have mean G B, G = A^T R (cells x components, public), and
    T ~ N(G B, I) ,   ln p(T | B) = -||T - G B||^2 / 2 + const.  (in units of the noise)
With a uniform prior on the K^M assignments the conditional of one row is a softmax, so Gibbs
sampling is exact; chains run side by side. Draws that leave classes out are then reweighted.

The prior prefers assignments whose classes look Gaussian. Noisy counts cannot tell to which class a small component belongs,
but the features can: a class that is Gaussian, as (eq2) assumes, does not consist of components far apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from privgmm.proven.label.statistics import ClassFit, moments_under
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Floats

Assignments = NDArray[np.intp]
LogPrior = Callable[[NDArray[np.intp]], Floats]


@dataclass(frozen=True, eq=False)
class PurePosterior:
    """Draws of k(.) (S, M) and the log evidence of the model."""

    draws: Assignments
    log_evidence: float


def pure_posteriors(
    models: Sequence[tuple[Floats, Floats]],
    n_labels: int,
    tuning: Tuning,
    rng: np.random.Generator,
) -> list[PurePosterior]:
    """Anneal, sample and score the assignments of components to labels, of every model (G, T); noise has unit variance.

    T (cells, K) counts K classes. With n_labels = K + 1 a component may carry none of them. The chains of all models run side by
    side: a smaller model has components more that are in no cell, and carry any label.
    """
    n_classes, most = models[0][1].shape[1], max(G.shape[1] for G, _ in models)
    grams = np.zeros((len(models), most, most))
    z = rng.integers(0, n_labels, (len(models), tuning.chains, most))
    pulls = np.zeros((*z.shape, n_labels))
    for j, (G, T) in enumerate(models):
        size = G.shape[1]
        grams[j, :size, :size] = G.T @ G
        z[j, 0, :size] = np.argmax(G.T @ T, axis=1)
        pulls[j, :, :size] = _pulls(G, T, n_labels, z[j, :, :size])
    chains = _Chains(grams, z, pulls, n_classes)
    hottest = np.maximum(20.0, grams.max(axis=(1, 2)) / 5)
    for temperature in np.geomspace(hottest, 1.0, tuning.anneal):
        chains.sweep(temperature, rng)
    for j, (G, T) in enumerate(models):
        size = G.shape[1]
        error = _errors(G, T, z[j, :, :size])
        alive = np.flatnonzero(error <= error.min() + tuning.stuck)
        z[j] = z[j, alive[np.arange(tuning.chains) % alive.size]]
        pulls[j, :, :size] = _pulls(G, T, n_labels, z[j, :, :size])
    draws = np.empty((tuning.keep, *z.shape), dtype=np.intp)
    for t in range(tuning.keep):
        chains.sweep(np.ones(len(models)), rng)
        draws[t] = z
    return [
        _scored(G, T, n_labels, draws[:, j, :, : G.shape[1]], tuning, rng)
        for j, (G, T) in enumerate(models)
    ]


def _scored(
    G: Floats,
    T: Floats,
    n_labels: int,
    draws: Assignments,
    tuning: Tuning,
    rng: np.random.Generator,
) -> PurePosterior:
    """The draws (sweeps, C, M) of one model, fewer of those that leave classes out, and its evidence."""
    n_classes = T.shape[1]
    z = draws[-1]
    best = z[int(np.argmin(_errors(G, T, z)))]
    flat = draws.reshape(-1, G.shape[1])
    missing = n_classes - sum((flat == k).any(axis=1) for k in range(n_classes))
    least = int(missing.min())
    weight = np.exp(-tuning.absent * (missing - least))
    kept = flat[rng.choice(len(flat), len(flat), p=weight / weight.sum())]
    return PurePosterior(kept, _log_evidence(G, T, n_labels, best) - tuning.absent * least)


def _residuals(G: Floats, T: Floats, z: Assignments) -> Floats:
    """E = T - G B of every chain (C, cells, K)."""
    n_classes = T.shape[1]
    B = (z[:, :, None] == np.arange(n_classes)).astype(float)
    return np.asarray(T - G @ B)


def _errors(G: Floats, T: Floats, z: Assignments) -> Floats:
    """-ln likelihood of every chain, up to a constant."""
    return np.asarray((_residuals(G, T, z) ** 2).sum(axis=(1, 2)) / 2)


def _pulls(G: Floats, T: Floats, n_labels: int, z: Assignments) -> Floats:
    """E_k g_m of every chain (C, M, L); what stands in the column of "none of the classes" is never read."""
    out = np.zeros((len(z), G.shape[1], n_labels))
    out[..., : T.shape[1]] = G.T @ _residuals(G, T, z)
    return out


@dataclass(frozen=True, eq=False)
class _Chains:
    """Gibbs chains of several models: grams G^T G (J, M, M), assignments z (J, C, M) and pulls (J, C, M, L).

    A sweep changes z and the pulls in place, the latter by the grams where z changes.
    """

    grams: Floats
    z: Assignments
    pulls: Floats
    n_classes: int

    def sweep(self, temperatures: Floats, rng: np.random.Generator) -> None:
        """One Gibbs pass over the components of every chain, at a temperature (J,) for each model."""
        n_models, n_chains, size, n_labels = self.pulls.shape
        model = np.repeat(np.arange(n_models), n_chains)
        chain = np.arange(model.size)
        z, pulls = self.z.reshape(-1, size), self.pulls.reshape(-1, size, n_labels)
        # Minus a Gumbel draw is the logarithm of an exponential one.
        minus_gumbel = np.log(rng.standard_exponential((size, model.size, n_labels)))
        minus_gumbel *= temperatures[model, None]
        for m in rng.permutation(size):
            old, own = z[:, m].copy(), self.grams[model, m, m]
            # ln likelihood of class k, up to a constant, when the component is taken out: E_k g; of no class: g g / 2.
            score = pulls[:, m].copy()
            score[chain, old] += own
            score[:, self.n_classes :] = own[:, None] / 2
            score -= minus_gumbel[m]
            new = score.argmax(axis=1)
            moved = (new != old).nonzero()[0]
            if moved.size:
                gram = self.grams[model[moved], m]
                pulls[moved, :, old[moved]] += gram
                pulls[moved, :, new[moved]] -= gram
                z[moved, m] = new[moved]


def _log_evidence(G: Floats, T: Floats, n_labels: int, best: Assignments) -> float:
    """ln of the mean likelihood over the L^M assignments, up to a constant shared by all models.

    The sum over assignments is approximated around the best draw: its likelihood times, for each component, the sum over
    the classes that it could have instead. This is exact when components share no cell.
    """
    mode, n_classes = best.copy(), T.shape[1]
    # The column of "none of the classes" stays zero, because no such rows are counted.
    residual = np.zeros((T.shape[0], n_labels))
    residual[:, :n_classes] = T - G @ np.eye(n_labels)[mode][:, :n_classes]
    squares = (G**2).sum(axis=0)

    def scores(m: int) -> Floats:
        """Log-likelihoods of the classes of component m, after it was taken out of the residual."""
        score = G[:, m] @ residual
        score[n_classes:] = squares[m] / 2
        return np.asarray(score)

    for _ in range(5):
        for m in range(mode.size):
            if mode[m] < n_classes:
                residual[:, mode[m]] += G[:, m]
            mode[m] = int(np.argmax(scores(m)))
            if mode[m] < n_classes:
                residual[:, mode[m]] -= G[:, m]
    weight = G.T @ residual
    weight[:, n_classes:] = squares[:, None] / 2
    listed = mode < n_classes
    weight[listed, mode[listed]] += squares[listed]
    weight -= weight[np.arange(mode.size), mode][:, None]
    alternatives = float(logsumexp(np.minimum(weight, 0.0), axis=1).sum())
    fit = -float((residual**2).sum()) / 2
    prior: float = -mode.size * math.log(n_labels)
    return fit + alternatives + prior


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
    # The covariance of all rows is added to every class as if it had d + 2 more rows, so that a few rows do not make a very narrow class.
    base = (d + 2) * moments_under(X, shares[:, None]).covariances(scale)

    def log_prior(assignments: NDArray[np.intp]) -> Floats:
        out = np.empty(len(assignments))
        for s, z in enumerate(assignments):
            classes: ClassFit = parts.merged(z, n_classes)
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
