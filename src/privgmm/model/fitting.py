"""The non-private fit (eq2), labels by K-means (footnote 1), and weights on the 1/N grid (remark 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.errors import InputError
from privgmm.model.mixture import ClassName, Floats, Mixture, class_names


def fit(X: ArrayLike, y: ArrayLike, classes: Sequence[ClassName] | None = None) -> Mixture:
    """Fit a labelled Gaussian mixture by class frequencies, means and sample covariances, (eq2).

    ``classes`` fixes the order of the components; by default the sorted labels. This is the
    non-private reference: nothing about its result is protected.
    """
    x, codes, names = labelled_arrays(X, y, classes)
    counts = np.bincount(codes, minlength=len(names))
    refuse_small_classes(counts, names, at_least=x.shape[1] + 1, why="an invertible covariance")
    means = np.empty((len(names), x.shape[1]))
    covariances = np.empty((len(names), x.shape[1], x.shape[1]))
    for k in range(len(names)):
        means[k], covariances[k] = mean_and_covariance(x[codes == k])
    return Mixture(counts / counts.sum(), means, covariances, names)


def mean_and_covariance(points: Floats) -> tuple[Floats, Floats]:
    """mu_k and Sigma_k of (eq2): the covariance divides by N_k - 1."""
    mu = points.mean(axis=0)
    centred = points - mu
    return mu, centred.T @ centred / (points.shape[0] - 1)


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


def labelled_arrays(
    X: ArrayLike, y: ArrayLike, classes: Sequence[ClassName] | None
) -> tuple[Floats, NDArray[np.intp], tuple[ClassName, ...]]:
    """Check features and labels; return (X float64, codes into the class list, class list)."""
    x = feature_array(X)
    labels = label_array(y)
    if labels.shape != (x.shape[0],):
        raise InputError(
            f"Labels must be one per row: {x.shape[0]} rows, labels of shape {labels.shape}."
        )
    names, codes = encode_labels(labels, classes)
    return x, codes, names


def feature_array(X: ArrayLike) -> Floats:
    """X as a finite (n, d) float64 array, or one sentence on what is wrong with it."""
    try:
        given = np.asarray(_unmasked(X))
        # NumPy would drop imaginary parts and read dates as counts of nanoseconds.
        if given.dtype.kind not in "biufO":
            raise TypeError
        x = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "Features must be numbers; choose numeric columns or encode the others first."
        ) from None
    if x.ndim != 2 or x.shape[0] < 1 or x.shape[1] < 1:
        raise InputError(f"Features must be a table with rows and columns, got shape {x.shape}.")
    bad = np.flatnonzero(~np.isfinite(x).all(axis=0))
    if bad.size:
        raise InputError(
            f"Feature columns {bad.tolist()} hold missing or infinite values; "
            "remove or impute those rows first."
        )
    return x


def _unmasked(X: ArrayLike) -> ArrayLike:
    """Masked cells are missing ones; NumPy's conversion would take what lies under the mask."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    return X


def label_array(y: ArrayLike) -> NDArray[np.generic]:
    """Labels as an array; a masked one is missing."""
    try:
        labels = np.asarray(y)
    except (TypeError, ValueError):
        raise InputError("Labels must be one per row, each a text, number or boolean.") from None
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        raise InputError("The labels hold missing values; remove those rows first.")
    if labels.dtype.kind not in "biufOSUT":
        raise InputError("Labels must be texts, numbers or booleans; convert them to text first.")
    return labels


def encode_labels(
    labels: NDArray[np.generic], classes: Sequence[ClassName] | None
) -> tuple[tuple[ClassName, ...], NDArray[np.intp]]:
    """Class names and the code of each label; labels outside a given class list are refused."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("The labels hold missing values; remove those rows first.")
    if labels.dtype == object and any(v is None or v != v for v in labels):
        raise InputError("The labels hold missing values; remove those rows first.")
    try:
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError("The labels mix types that cannot be compared; use one type.") from None
    if classes is None:
        return class_names(found), codes.reshape(-1)
    names = class_names(classes)
    position = {name: k for k, name in enumerate(names)}
    lookup = np.array([position.get(value, -1) for value in class_names(found)], dtype=np.intp)
    if (lookup < 0).any():
        raise InputError(
            "Some rows carry a label that is not in the class list; add it to the list or remove the rows."
        )
    return names, lookup[codes.reshape(-1)]


def refuse_small_classes(
    counts: NDArray[np.intp], names: tuple[ClassName, ...], at_least: int, why: str
) -> None:
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
    """Continuous weights (e.g. from EM) to the nearest point of S: multiples of 1/N, each at least 1/N.

    Largest-remainder rounding above the floor of one, so the result is the L1-nearest point of S.
    """
    w = np.asarray(weights, dtype=np.float64)
    _ = Mixture(w, np.zeros((w.size, 1)), np.ones((w.size, 1, 1)))  # the simplex check
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
