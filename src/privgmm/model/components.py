"""Every class a mixture of Gaussians: p(y=k) = pi_k, p(x | y=k) = sum_c pi_kc N(mu_kc, Sigma_kc) / pi_k.

This is the whole model of a release; a class with one component is the Gaussian of (eq01).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from privgmm.checks import checked_count
from privgmm.errors import InputError
from privgmm.model.mixture import JointDensity, Mixture, class_names
from privgmm.model.sampling import balanced_codes, draw_codes, draw_rows, generator
from privgmm.types import ClassName, Codes, Floats

# Known values of some columns, by the column's name or position.
Given = Mapping[str | int, float]


@dataclass(frozen=True, eq=False)
class ComponentMixture(JointDensity):
    """M Gaussians, each of them a part of one of K classes.

    Parameters
    ----------
    parts : a ``Mixture`` of M components, whose weights are those of the whole model
    owners : (M,) the class of each component, as its position in ``classes``; every class owns one or more
    classes : K names
    """

    parts: Mixture
    owners: Codes
    classes: tuple[ClassName, ...]

    def __init__(
        self, parts: Mixture, owners: ArrayLike, classes: Sequence[ClassName] | NDArray[np.generic]
    ) -> None:
        names, codes = class_names(classes), np.asarray(owners)
        if codes.shape != (parts.n_classes,) or codes.dtype.kind not in "iu":
            raise InputError(f"{parts.n_classes} components need as many owners, whole numbers.")
        if set(codes.tolist()) != set(range(len(names))):
            raise InputError("Every class needs a component, and every component a class.")
        codes = codes.astype(np.intp)
        codes.setflags(write=False)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "owners", codes)
        object.__setattr__(self, "classes", names)

    @staticmethod
    def of(mixture: Mixture) -> ComponentMixture:
        """The same model, every class with its one component."""
        return ComponentMixture(mixture, np.arange(mixture.n_classes), mixture.classes)

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return len(self.classes)

    @property
    def dim(self) -> int:
        """d, the number of features."""
        return self.parts.dim

    @property
    def weights(self) -> Floats:
        """(K,) weights of the classes."""
        return np.asarray(np.bincount(self.owners, self.parts.weights), dtype=np.float64)

    @property
    def components_per_class(self) -> NDArray[np.intp]:
        """(K,) how many components each class has."""
        return np.bincount(self.owners, minlength=self.n_classes)

    def moments(self) -> Mixture:
        """One Gaussian per class with the class's own weight, mean and covariance."""
        weights = self.weights
        # A class of weight zero keeps the plain average of its components.
        inside = np.where(weights[self.owners] > 0, self.parts.weights, 1.0)
        inside = inside / np.bincount(self.owners, inside)[self.owners]
        member = np.eye(self.n_classes)[self.owners].T * inside
        means = member @ self.parts.means
        off = self.parts.means - means[self.owners]
        wide = self.parts.covariances + off[:, :, None] * off[:, None, :]
        covariances = np.tensordot(member, wide, axes=1)
        return Mixture(weights, means, covariances, self.classes, self.parts.feature_names)

    def named(self, feature_names: Sequence[str]) -> ComponentMixture:
        """The same model, of columns with these names."""
        return ComponentMixture(self.parts.named(feature_names), self.owners, self.classes)

    def log_joint(self, X: ArrayLike) -> Floats:
        """(n, K) array of ln p(x_i, y=k)."""
        each = self.parts.log_joint(X)
        return np.stack(
            [logsumexp(each[:, self.owners == k], axis=1) for k in range(self.n_classes)], axis=1
        )

    def draw(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """(n, d) rows of these components (n,)."""
        return draw_rows(self.parts.means, self.parts.cholesky, codes, rng)

    def draw_components(self, n: int, per_class: bool, rng: np.random.Generator) -> Codes:
        """Components of n rows, or of n rows of every class, in random order."""
        if not per_class:
            return draw_codes(self.parts.weights, n, rng)
        classes = balanced_codes(self.n_classes, n, rng)
        if self.parts.n_classes == self.n_classes:
            # Every class owns exactly one component, so its class tells the component.
            return np.asarray(np.argsort(self.owners)[classes])
        codes = np.empty(classes.size, dtype=np.intp)
        for k in range(self.n_classes):
            own = np.flatnonzero(self.owners == k)
            weights = self.parts.weights[own]
            weights = weights if weights.any() else np.ones(own.size)
            codes[classes == k] = own[draw_codes(weights, n, rng)]
        return codes

    def sample(
        self,
        n: int,
        seed: int | np.random.Generator | None = None,
        per_class: bool = False,
        given: Given | None = None,
    ) -> tuple[Floats, NDArray[np.generic]]:
        """Draw n rows (n per class if ``per_class``) in random order; returns (X, y).

        ``given`` fixes columns: rows are drawn from the model conditioned on these values.
        """
        n, rng = checked_count(n), generator(seed)
        if given:
            known, values = self._known(given)
            rest = self.given(given)
            X = np.empty((n * (self.n_classes if per_class else 1), self.dim))
            X[:, known] = values
            free = np.setdiff1d(np.arange(self.dim), known)
            X[:, free], y = rest.sample(n, rng, per_class)
            return X, y
        codes = self.draw_components(n, per_class, rng)
        return self.draw(codes, rng), np.take(self.class_array, self.owners[codes])

    def given(self, values: Given) -> ComponentMixture:
        """The model of the other columns, in their order, once these columns have these values.

        p(x_b | x_a) is again such a mixture: weights pi_c N(x_a; mu_a, S_aa), means mu_b + S_ba S_aa^-1 (x_a - mu_a),
        covariances S_bb - S_ba S_aa^-1 S_ab.
        """
        a, x = self._known(values)
        b = np.setdiff1d(np.arange(self.dim), a)
        if b.size == 0:
            raise InputError("All columns are given; leave at least one to be drawn.")
        S, mu = self.parts.covariances, self.parts.means
        S_aa = S[:, a[:, None], a]
        gain = np.linalg.solve(S_aa, S[:, a[:, None], b]).transpose(0, 2, 1)
        seen = Mixture(self.parts.weights, mu[:, a], S_aa)
        score = seen.log_joint(x[None])[0]
        names = self.parts.feature_names
        parts = Mixture(
            np.exp(score - logsumexp(score)),
            mu[:, b] + np.einsum("mij,mj->mi", gain, x - mu[:, a]),
            S[:, b[:, None], b] - gain @ S[:, a[:, None], b],
            feature_names=[names[j] for j in b] if names else (),
        )
        return ComponentMixture(parts, self.owners, self.classes)

    def _known(self, values: Given) -> tuple[NDArray[np.intp], Floats]:
        """Positions of the given columns, ascending, and their values."""
        names = list(self.parts.feature_names)
        found: dict[int, float] = {}
        for column, value in values.items():
            j = names.index(column) if column in names else column
            if not isinstance(j, (int, np.integer)) or not 0 <= j < self.dim:
                raise InputError(f"The model has no column {column!r}; choose one of its columns.")
            if not np.isfinite(float(value)):
                raise InputError(f"The value of column {column!r} must be a finite number.")
            found[int(j)] = float(value)
        order = sorted(found)
        return np.array(order, dtype=np.intp), np.array([found[j] for j in order])
