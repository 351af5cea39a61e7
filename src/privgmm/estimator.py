"""The release as a scikit-learn estimator: ``fit`` spends the budget, everything else is free."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from privgmm import curate
from privgmm.curate.request import ReleaseRequest
from privgmm.errors import InputError, RefitWarning
from privgmm.proven.mixtures import Wanted
from privgmm.proven.objective import Objective
from privgmm.releases import Guarantee, Release
from privgmm.types import ClassName, Floats, Unit

_REFIT = (
    "Private rows are fitted again in this process and every fit costs privacy: give ledger=... to have it "
    "added up, and note that cross-validation and grid search refit on overlapping rows and choose by "
    "exact private scores."
)
# Words in scikit-learn's messages that quote cells or whole rows.
_QUOTING = ("could not convert", "array=", "Complex data not supported")


# scikit-learn has no type information, so its classes are Any to mypy.
class PrivateGaussianMixture(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A Gaussian mixture with one component per class (or several), released under differential privacy.

    **Every call of fit is a release of its own.** ``cross_val_score``, ``GridSearchCV`` and their kin
    refit on overlapping private rows, so that each row pays for nearly every fold and every
    candidate, and they report or choose by scores computed exactly from private rows, which no
    guarantee here covers. Choose ``epsilon`` with ``privgmm plan`` and settings on public or
    synthetic rows, and fit the private ones once. A ``ledger`` adds up all fits and refuses what
    exceeds its budget; without one, a second fit in the same process raises a ``RefitWarning``.

    Parameters
    ----------
    epsilon, delta : the budget that one call of ``fit`` spends.
    unit : "label" protects each row's label (features are public); "record" protects whole rows.
    bounds, radius, center : where rows may lie (record level), stated and never read from the data.
    classes : the public class list. When None it is read from the labels, which raises a
        ``PrivacyLeakWarning`` and is named in the statement.
    n_components : number of components for rows without labels (record level, ``fit(X)``); with
        labels there is one component per class and it is not used.
    mechanism : "proven", or "published" for the paper's method, whose guarantee is not proven.
    adjacency : record level: "replace" one row by another, or "add-remove" one row.
    ledger : a ledger file (``privgmm ledger budget``) that every ``fit`` is charged to before noise is
        drawn.
    objective : "balanced" is close in both directions of KL, "paper" in KL(released || fitted) alone.
    count, max_rows : with ``fit(X, y, person=ids)``: "persons" counts each person once; "rows" counts each row,
        at most ``max_rows`` of a person.
    components_per_class : how many Gaussians each class has, or "auto"; predictions, densities and samples are of
        the whole model, ``means_`` and ``covariances_`` of whole classes.
    options : further options of ``privgmm.release`` by name, such as ``{"preprocessing": ["log"]}``.
    random_state : None draws publishable noise; a seed makes the release repeatable and **not**
        publishable.

    Attributes
    ----------
    release_ : the ``privgmm.Release``; save it with ``release_.save(path)``.
    guarantee_ : its differential-privacy statement.
    classes_ : (K,) class names, sorted as scikit-learn expects.
    weights_, means_, covariances_ : (K,), (K, d) and (K, d, d) released parameters.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    """

    # How many fits this process has finished, of any rows; the rows themselves are not remembered.
    _fits: ClassVar[int] = 0

    release_: Release
    guarantee_: Guarantee
    classes_: NDArray[Any]
    weights_: Floats
    means_: Floats
    covariances_: Floats
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        unit: Unit = "label",
        bounds: Any = None,
        radius: float | None = None,
        center: ArrayLike | None = None,
        classes: Sequence[ClassName] | None = None,
        n_components: int | None = None,
        mechanism: Literal["proven", "published"] = "proven",
        adjacency: Literal["replace", "add-remove"] = "replace",
        objective: Objective = "balanced",
        random_state: int | np.random.RandomState | None = None,
        ledger: str | os.PathLike[str] | None = None,
        count: Literal["persons", "rows"] = "persons",
        max_rows: int | None = None,
        components_per_class: Wanted = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.unit = unit
        self.bounds = bounds
        self.radius = radius
        self.center = center
        self.classes = classes
        self.n_components = n_components
        self.mechanism = mechanism
        self.adjacency = adjacency
        self.objective = objective
        self.random_state = random_state
        self.ledger = ledger
        self.count = count
        self.max_rows = max_rows
        self.components_per_class = components_per_class
        self.options = options

    def fit(self, X: Any, y: Any = None, person: Any = None) -> Self:
        """Release the mixture of the rows; spends the budget once per call.

        ``person`` (n,) says whose each row is: all rows of a person are then protected together.
        """
        label_name = getattr(y, "name", None)
        x, labels = self._training_rows(X, y)
        names = tuple(getattr(self, "feature_names_in_", ()))
        if self.ledger is None and PrivateGaussianMixture._fits > 0:
            # Warned before anything is drawn, so that a user who turns warnings into errors has spent nothing.
            warnings.warn(_REFIT, RefitWarning, stacklevel=2)
        taken = {option.name for option in fields(ReleaseRequest)}
        handed_on = {name: value for name, value in self.get_params().items() if name in taken}
        self.release_ = curate.release(
            x,
            labels,
            **{**handed_on, "classes": _in_order(self.classes), **(self.options or {})},
            seed=_seed(self.random_state),
            feature_names=names,
            label_name=_free_name(label_name, names),
            person=person,
        )
        PrivateGaussianMixture._fits += 1
        mixture = self.release_.mixture
        self.guarantee_ = self.release_.guarantee
        self.classes_ = mixture.class_array
        self.weights_ = mixture.weights
        self.means_ = mixture.means
        self.covariances_ = mixture.covariances
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """(n,) most probable class of each row."""
        rows = self._rows(X)
        return self.release_.model.predict(rows)

    def predict_proba(self, X: Any) -> Floats:
        """(n, K) class probabilities, columns in the order of ``classes_``."""
        rows = self._rows(X)
        return self.release_.model.predict_proba(rows)

    def score_samples(self, X: Any) -> Floats:
        """(n,) log density of each row under the released model."""
        rows = self._rows(X)
        return self.release_.model.log_density(rows)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy, or without ``y`` the mean log density; of private rows, itself private."""
        if y is None:
            return float(np.average(self.score_samples(X), weights=sample_weight))
        return float(super().score(X, y, sample_weight))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of the released model on these rows (lower is better)."""
        log_density = self.score_samples(X)
        k, d = self.release_.model.parts.means.shape
        parameters = k - 1 + k * d + k * d * (d + 1) // 2
        return float(parameters * np.log(log_density.size) - 2 * log_density.sum())

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> tuple[Floats, NDArray[Any]]:
        """Synthetic rows and their classes, (X, y); ``random_state`` is the estimator's by default."""
        check_is_fitted(self)
        seed = _seed(self.random_state if random_state is None else random_state)
        # Not the stream that made the release's noise, because samples must not depend on the noise.
        stream = None if seed is None else np.random.default_rng([seed, 1])
        return self.release_.model.sample(n_samples, seed=stream)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def _training_rows(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any] | None]:
        if y is None and self.n_components is not None:
            return _numbers_only(lambda: validate_data(self, X, dtype=np.float64)), None
        x, labels = _numbers_only(lambda: validate_data(self, X, y, dtype=np.float64))
        check_classification_targets(labels)
        return x, labels

    def _rows(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows: Floats = _numbers_only(lambda: validate_data(self, X, dtype=np.float64, reset=False))
        return rows


def _numbers_only(read: Any) -> Any:
    """Run a check of scikit-learn, and refuse in our own words where it would quote a cell that is no number."""
    try:
        return read()
    except OverflowError:  # a Python integer beyond the floats
        said = "could not convert"
    except ValueError as problem:
        said = str(problem)
        if not any(quote in said for quote in _QUOTING):
            raise
    if "could not convert" in said:
        said = "Features must be numbers; choose numeric columns or encode the others first."
    elif "array=" in said:
        said = said.split(":")[0] + ". Reshape your data into rows and columns."
    else:
        said = said.split("\n")[0] + "; give real numbers."
    raise InputError(said)


def _in_order(classes: Sequence[ClassName] | None) -> Sequence[ClassName] | None:
    """The class list in sorted order, which scikit-learn's metrics expect of ``classes_``; mixed types keep their order."""
    if classes is None:
        return None
    listed = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    try:
        return sorted(listed)
    except TypeError:
        return listed


def _free_name(name: Any, taken: tuple[str, ...]) -> str:
    """The name of the label column if it has one; never one of the features'."""
    given = [name] if isinstance(name, str) and name else []
    return next(c for c in [*given, "label", "class", "y", "+".join(taken)] if c not in taken)


def _seed(random_state: Any) -> int | None:
    if random_state is None or (isinstance(random_state, (int, np.integer)) and random_state >= 0):
        return None if random_state is None else int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError:
        raise InputError(
            "random_state must be None, a non-negative number or a numpy RandomState."
        ) from None
