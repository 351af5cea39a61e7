"""A labelled Gaussian mixture: densities, predictions, samples, and KL between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from privgmm.checks import by_name, checked_count, numbers, utf8
from privgmm.errors import InputError
from privgmm.model.sampling import class_codes, draw_rows, generator
from privgmm.types import ClassName, Floats

if TYPE_CHECKING:
    from privgmm.model.picture import Picture

# Covariances come from sums of rounded products, so they need not be exactly symmetric.
_SYMMETRY_TOLERANCE = 1e-8
_SIMPLEX_TOLERANCE = 1e-9


class JointDensity:
    """Densities and predictions, all derived from ``log_joint``, ln p(x, y=k) of K classes."""

    classes: tuple[ClassName, ...]

    def log_joint(self, X: ArrayLike) -> Floats:
        """(n, K) array of ln p(x_i, y=k)."""
        raise NotImplementedError

    def log_density(self, X: ArrayLike) -> Floats:
        """(n,) array of ln p(x_i), summed over classes."""
        return np.asarray(logsumexp(self.log_joint(X), axis=1), dtype=np.float64)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """(n, K) posterior class probabilities p(y=k | x_i)."""
        joint = self.log_joint(X)
        posterior: Floats = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return posterior

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """(n,) most probable class names."""
        likeliest: NDArray[np.generic] = self.class_array[np.argmax(self.log_joint(X), axis=1)]
        return likeliest

    @cached_property
    def class_array(self) -> NDArray[np.generic]:
        """The class names as an array, object-typed when they are of mixed types."""
        if len({type(c) for c in self.classes}) == 1:
            return np.array(self.classes)
        mixed = np.empty(len(self.classes), dtype=object)
        mixed[:] = self.classes
        return mixed


@dataclass(frozen=True, eq=False)
class Mixture(JointDensity):
    """K Gaussian components of dimension d, one per class.

    Parameters
    ----------
    weights : (K,) array, on the simplex (a class may have weight zero)
    means : (K, d) array
    covariances : (K, d, d) array, symmetric positive definite
    classes : K distinct names (strings, numbers or booleans); 0..K-1 when omitted
    feature_names : d names of the columns, or none; the columns of a frame are put in this order
    """

    weights: Floats
    means: Floats
    covariances: Floats
    classes: tuple[ClassName, ...] = field(default=())
    feature_names: tuple[str, ...] = field(default=())

    def __init__(
        self,
        weights: ArrayLike,
        means: ArrayLike,
        covariances: ArrayLike,
        classes: Sequence[ClassName] | NDArray[np.generic] | None = None,
        feature_names: Sequence[str] = (),
    ) -> None:
        stated = None if classes is None else class_names(classes)
        w, mu, sigma = (
            numbers(values, "Mixture parameters") for values in (weights, means, covariances)
        )
        names = tuple(range(w.size)) if stated is None else stated
        _check_shapes(w, mu, sigma, names)
        if feature_names and len(feature_names) != mu.shape[1]:
            raise InputError(f"{mu.shape[1]} features need as many names.")
        _check_simplex(w)
        _check_symmetric(sigma)
        sigma = sigma / 2 + sigma.transpose(0, 2, 1) / 2  # a sum might overflow
        for array in (w, mu, sigma):
            array.setflags(write=False)
        object.__setattr__(self, "weights", w)
        object.__setattr__(self, "means", mu)
        object.__setattr__(self, "covariances", sigma)
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "feature_names", tuple(feature_names))
        _ = self.cholesky  # positive definiteness is checked here, once

    def named(self, feature_names: Sequence[str]) -> Mixture:
        """The same mixture, of columns with these names."""
        same = copy(self)
        object.__setattr__(same, "feature_names", tuple(feature_names))
        return same

    @property
    def n_classes(self) -> int:
        """K, the number of classes and of components."""
        return self.weights.size

    @property
    def dim(self) -> int:
        """d, the number of features."""
        return int(self.means.shape[1])

    @cached_property
    def cholesky(self) -> Floats:
        """(K, d, d) lower factors L_k with Sigma_k = L_k L_k^T."""
        factors = np.empty_like(self.covariances)
        for k, sigma in enumerate(self.covariances):
            try:
                factors[k] = np.linalg.cholesky(sigma)
            except np.linalg.LinAlgError:
                raise InputError(
                    f"The covariance of class {self.classes[k]!r} is not positive definite; "
                    "remove constant or linearly dependent columns, or give the class more rows."
                ) from None
        return factors

    def log_joint(self, X: ArrayLike) -> Floats:
        """(n, K) array of ln p(x_i, y=k)."""
        x = self._points(X)
        out = np.empty((x.shape[0], self.n_classes))
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        for k in range(self.n_classes):
            off = (x - self.means[k]).T
            z = solve_triangular(self.cholesky[k], off, lower=True, check_finite=False)
            half_log_det = np.log(np.diagonal(self.cholesky[k])).sum()
            out[:, k] = (
                log_weights[k]
                - half_log_det
                - 0.5 * (self.dim * np.log(2 * np.pi) + np.einsum("ij,ij->j", z, z))
            )
        return out

    def sample(
        self, n: int, seed: int | np.random.Generator | None = None, per_class: bool = False
    ) -> tuple[Floats, NDArray[np.generic]]:
        """Draw n rows (n per class if ``per_class``) in random class order; returns (X, y)."""
        n, rng = checked_count(n), generator(seed)
        codes = class_codes(self, n, per_class, rng)
        X = draw_rows(self.means, self.cholesky, codes, rng)
        return X, np.take(self.class_array, codes)

    def plot(self) -> Picture:
        """Densities and ellipses of the heaviest classes as a matplotlib figure."""
        from privgmm.model.picture import plot

        return plot(self, self.feature_names)

    def _repr_html_(self) -> str:
        """Shares and picture, for notebooks."""
        from privgmm.model.picture import mixture_html

        return mixture_html(self, self.plot())

    def _points(self, X: ArrayLike) -> Floats:
        x = numbers(by_name(X, self.feature_names) if self.feature_names else X, "Rows")
        if x.ndim != 2 or x.shape[1] != self.dim:
            raise InputError(
                f"Expected rows of {self.dim} features, got an array of shape {x.shape}."
            )
        if not np.isfinite(x).all():
            raise InputError(
                "Rows must be finite numbers; remove or impute those with other cells."
            )
        return x


def class_names(names: Sequence[ClassName] | NDArray[np.generic]) -> tuple[ClassName, ...]:
    """Class names as plain Python values, checked to be distinct."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError("The class list must be a list of names.")
    listed = np.atleast_1d(names).tolist() if isinstance(names, np.ndarray) else list(names)
    plain = tuple(c.item() if isinstance(c, np.generic) else c for c in listed)
    if not all(isinstance(c, (str, int, float, bool)) for c in plain):
        raise InputError("Class names must be strings, numbers or booleans.")
    # NumPy's string arrays drop trailing NULs, so "a" and "a" + NUL would become one class.
    if any(isinstance(c, str) and c.endswith("\0") for c in plain):
        raise InputError("Class names must not end in a NUL character; rename the class.")
    if not all(utf8(c) for c in plain if isinstance(c, str)):
        raise InputError("Class names must be valid UTF-8 text; rename the class.")
    # 1, 1.0 and True are one key in Python and one label in NumPy: refuse such pairs too.
    if len(set(plain)) != len(plain):
        raise InputError("Class names must be distinct; the class list names one of them twice.")
    return plain


def _check_shapes(w: Floats, mu: Floats, sigma: Floats, names: tuple[ClassName, ...]) -> None:
    k = w.size
    if w.ndim != 1 or k < 1 or mu.ndim != 2 or mu.shape[0] != k or mu.shape[1] < 1:
        raise InputError(
            f"A mixture needs weights (K,) and means (K, d), got {w.shape} and {mu.shape}."
        )
    if sigma.shape != (k, mu.shape[1], mu.shape[1]):
        raise InputError(
            f"Covariances must have shape {(k, mu.shape[1], mu.shape[1])}, got {sigma.shape}."
        )
    if len(names) != k:
        raise InputError(f"{k} components need {k} class names, got {len(names)}.")
    if not (np.isfinite(w).all() and np.isfinite(mu).all() and np.isfinite(sigma).all()):
        raise InputError("Mixture parameters must be finite numbers.")


def _check_simplex(w: Floats) -> None:
    if (w < 0).any() or abs(w.sum() - 1) > _SIMPLEX_TOLERANCE:
        raise InputError(
            f"Mixture weights must be non-negative and sum to one, got a sum of {w.sum():.12g}."
        )


def _check_symmetric(sigma: Floats) -> None:
    asymmetry = np.abs(sigma - sigma.transpose(0, 2, 1)).max(axis=(1, 2))
    if (asymmetry > _SYMMETRY_TOLERANCE * np.abs(sigma).max(axis=(1, 2))).any():
        raise InputError("Covariance matrices must be symmetric.")


def kl_divergence(q: Mixture, p: Mixture) -> float:
    """KL(q || p) = sum_k q_k (ln q_k/p_k + KL(N_k^q || N_k^p)), the joint law of (x, y) (eq_appb01)."""
    p = _aligned(q, p)
    used = q.weights > 0
    if (p.weights[used] == 0).any():
        return float("inf")
    log_ratio = np.log(q.weights[used] / p.weights[used])
    return float(q.weights[used] @ (log_ratio + component_kl(q, p)[used]))


def component_kl(q: Mixture, p: Mixture) -> Floats:
    """(K,) array of KL(N(mu_k^q, Sigma_k^q) || N(mu_k^p, Sigma_k^p)), classes matched by name."""
    p = _aligned(q, p)
    out = np.empty(q.n_classes)
    for k in range(q.n_classes):
        # Overflow is allowed: parameters near 1e308 have an infinite divergence, which is the right answer.
        with np.errstate(over="ignore", invalid="ignore"):
            off = q.means[k] - p.means[k]
            shift = solve_triangular(p.cholesky[k], off, lower=True, check_finite=False)
            spread = solve_triangular(p.cholesky[k], q.cholesky[k], lower=True, check_finite=False)
            size = shift @ shift + (spread * spread).sum()
        # ln det ratio from the triangular factors; -ln|Sq|/|Sp| = 2 (ln diag Lp - ln diag Lq)
        log_det = 2 * np.log(np.diagonal(p.cholesky[k]) / np.diagonal(q.cholesky[k])).sum()
        out[k] = 0.5 * (size - q.dim + log_det) if np.isfinite(size) else np.inf
    return np.maximum(out, 0.0)


def _aligned(q: Mixture, p: Mixture) -> Mixture:
    """p with its classes in q's order."""
    if not (isinstance(q, Mixture) and isinstance(p, Mixture)):
        raise InputError("A divergence is between two mixtures.")
    if q.dim != p.dim or set(q.classes) != set(p.classes) or q.n_classes != p.n_classes:
        raise InputError("Two mixtures can be compared only over the same classes and dimension.")
    if q.classes == p.classes:
        return p
    order = [p.classes.index(name) for name in q.classes]
    return Mixture(p.weights[order], p.means[order], p.covariances[order], q.classes)
