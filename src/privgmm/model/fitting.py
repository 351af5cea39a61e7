"""The non-private fit (eq2), labels by K-means (footnote 1), and weights on the 1/N grid (remark 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.checks import feature_array
from privgmm.errors import InputError
from privgmm.model.labels import label_array, label_text, labelled_arrays
from privgmm.model.mixture import Mixture
from privgmm.types import ClassName, Floats


def fit(
    X: ArrayLike,
    y: ArrayLike,
    classes: Sequence[ClassName] | None = None,
    person: ArrayLike | None = None,
) -> Mixture:
    """Fit a labelled Gaussian mixture by class frequencies, means and sample covariances, (eq2).

    ``classes`` fixes the order of the components; by default it is the sorted labels. ``person`` (n,) says to whom
    each row belongs: each person then counts once, each of its m rows for 1/m, and N_k is a number of persons. This
    is the non-private reference: nothing about its result is protected.
    """
    x, codes, names = labelled_arrays(X, y, classes)
    shares = None if person is None else _person_shares(person, x.shape[0])
    counts = np.bincount(codes, minlength=len(names))
    refuse_small_classes(counts, names, at_least=x.shape[1] + 1, why="an invertible covariance")
    sizes = counts if shares is None else np.bincount(codes, shares, minlength=len(names))
    if sizes.min() <= 1:
        raise InputError("A class counts for one person or less; its covariance needs more.")
    means = np.empty((len(names), x.shape[1]))
    covariances = np.empty((len(names), x.shape[1], x.shape[1]))
    for k in range(len(names)):
        rows = codes == k
        means[k], covariances[k] = mean_and_covariance(
            x[rows], None if shares is None else shares[rows]
        )
    return Mixture(sizes / sizes.sum(), means, covariances, names)


def _person_shares(person: ArrayLike, n: int) -> Floats:
    """(n,) one over the number of rows of each row's person; ids are matched as texts, as labels are."""
    ids = label_array(person, stated=True)
    texts = [label_text(value) for value in ids.tolist()] if ids.ndim == 1 else []
    if len(texts) != n or None in texts:
        raise InputError("Persons must be one per row, and none missing.")
    _, at, sizes = np.unique(np.array(texts), return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[at])


def mean_and_covariance(points: Floats, shares: Floats | None = None) -> tuple[Floats, Floats]:
    """mu_k and Sigma_k of (eq2): the covariance divides by N_k - 1, where N_k adds up the rows' shares."""
    if shares is None:
        mu = points.mean(axis=0)
        centred = points - mu
        return mu, centred.T @ centred / (points.shape[0] - 1)
    mu = shares @ points / shares.sum()
    centred = points - mu
    return mu, (shares[:, None] * centred).T @ centred / (shares.sum() - 1)


def precisions(fitted: Mixture) -> Floats:
    """(K, d, d) inverses of the covariances, symmetric."""
    try:
        inverse = np.linalg.inv(fitted.covariances)
    except np.linalg.LinAlgError:
        raise InputError(
            "The covariance of a class is too close to singular; remove constant or linearly "
            "dependent columns."
        ) from None
    return np.asarray((inverse + inverse.transpose(0, 2, 1)) / 2, dtype=np.float64)


def refuse_small_classes(
    counts: NDArray[np.intp], names: tuple[ClassName, ...], at_least: int, why: str
) -> None:
    """Refuse a table in which a class has too few rows for what ``why`` names."""
    small = np.flatnonzero(counts < at_least)
    if small.size:
        k = int(small[0])
        raise InputError(
            f"Class {names[k]!r} has {counts[k]} rows but {why} needs at least {at_least}; "
            "merge it with another class, drop it, or use fewer columns."
        )


def label_by_kmeans(X: ArrayLike, n_classes: int, seed: int = 0) -> NDArray[np.intp]:
    """Labels 0..K-1 by K-means (footnote 1). Not private: the centres are read from the rows."""
    from sklearn.cluster import KMeans

    x = feature_array(X)
    if not 1 <= n_classes <= x.shape[0]:
        raise InputError(f"K-means needs 1 to {x.shape[0]} classes, got {n_classes}.")
    labels = KMeans(n_clusters=n_classes, n_init=10, random_state=seed).fit_predict(x)
    return np.asarray(labels, dtype=np.intp)


def weights_on_grid(weights: ArrayLike, n: int) -> Floats:
    """The point of S (multiples of 1/N, each at least 1/N) nearest to continuous weights, e.g. those of EM.

    Largest-remainder rounding, with at least one unit for each class, gives the nearest point in L1.
    """
    w = np.asarray(weights, dtype=np.float64)
    # Refuses weights that are not on the simplex.
    _ = Mixture(w, np.zeros((w.size, 1)), np.ones((w.size, 1, 1)))
    if n < w.size:
        raise InputError(f"{w.size} positive weights do not fit on a grid of 1/{n}.")
    counts = np.maximum(np.floor(w * n), 1)
    while (excess := int(counts.sum()) - n) != 0:
        # Move one unit at a time where it distorts least; at most K steps.
        step = -1 if excess > 0 else 1
        cost = np.abs(counts + step - w * n) - np.abs(counts - w * n)
        cost[counts + step < 1] = np.inf
        counts[np.argmin(cost)] += step
    return counts / n
