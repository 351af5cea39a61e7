"""A release: a mixture, its guarantee, and everything needed to use them elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from privgmm import __version__
from privgmm.checks import by_name, checked_count, feature_array, utf8
from privgmm.errors import InputError
from privgmm.model.columns import Column, Encoding, cells_of
from privgmm.model.components import ComponentMixture
from privgmm.model.margins import Margins
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import class_codes, generator
from privgmm.model.uncertainty import Errors
from privgmm.releases.guarantee import Guarantee
from privgmm.transform import Step, apply_all, invert_all, names_after
from privgmm.types import Codes, Floats

if TYPE_CHECKING:
    from privgmm.model.picture import Picture

# Components have the released moments up to rounding, which is larger for columns far from zero.
_SAME_MOMENTS = 1e-6
# The name of the label column for rows without labels.
UNLABELLED = "component"
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "opendp")


def software_versions() -> dict[str, str]:
    """The versions of privgmm and of the libraries that the numbers of a release depend on."""
    return {"privgmm": __version__, **{name: version(name) for name in _LIBRARIES}}


@dataclass(frozen=True, eq=False)
class Release:
    """What is published. Everything done with it is post-processing and costs no budget.

    ``feature_names`` are the user's columns. ``mixture`` is a model of the columns after
    ``preprocessing``; sampling and prediction apply the steps, so users work in their own columns.
    ``errors`` say how far its numbers may be from those of (eq2); they are None for the published method, unlabelled
    rows and documents of version 1. ``components`` are the Gaussians inside the classes, where several were
    asked for; ``model`` is the whole model in either case. ``columns`` are the features as stated, and samples obey them;
    ``margins`` are their shapes within each class, None where nothing is known but the model.
    ``order`` has features and label in the order of the input; if empty the label comes last. Where columns hold
    categories or missing cells the mixture is a model of encoded columns, and ``encoding`` is the map to them.
    """

    mixture: Mixture
    guarantee: Guarantee
    feature_names: tuple[str, ...] = ()
    label_name: str = "label"
    preprocessing: tuple[Step, ...] = ()
    software: dict[str, str] = field(default_factory=software_versions)
    errors: Errors | None = None
    components: ComponentMixture | None = None
    columns: tuple[Column, ...] = ()
    margins: Margins | None = None
    order: tuple[str, ...] = ()
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        n_classes, dim = self.mixture.means.shape
        first = self.preprocessing[0].dim if self.preprocessing else dim
        names = tuple(self.feature_names or (f"x{j}" for j in range(first or dim)))
        if self.encoding is not None and len(self.encoding.columns) != len(names):
            raise InputError("An encoding is one of the stated columns.")
        own = self._own_names(names)
        if len(own) != dim:
            raise InputError(f"{dim} features need {dim} names, got {len(names)}.")
        if not all(isinstance(name, str) and utf8(name) for name in (*names, self.label_name)):
            raise InputError("Column names must be valid UTF-8 text; rename the columns.")
        if len({*names, self.label_name}) != len(names) + 1:
            raise InputError(
                f"Column names must be distinct and differ from the label's, {self.label_name!r}; "
                "rename the columns that share a name."
            )
        columns = self.columns or tuple(Column(name) for name in names)
        if len(columns) != len(names):
            raise InputError("The stated columns must be the features, in their order.")
        # A release whose features are renamed keeps what was stated of them.
        columns = tuple(
            c if c.name == name else replace(c, name=name)
            for c, name in zip(columns, names, strict=True)
        )
        # A sampled row has the model's numbers and one number for each choice among rare levels.
        drawn = dim + (0 if self.encoding is None else len(self.encoding.choices))
        if self.margins is not None and self.margins.quantiles.shape[:2] != (n_classes, drawn):
            raise InputError("The margins must be of the mixture's classes and columns.")
        order = self.order
        if sorted(order) != sorted((*names, self.label_name)):
            order = (*names, self.label_name)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "feature_names", names)
        object.__setattr__(self, "mixture", self.mixture.named(own))
        if self.components is not None:
            _check_moments(self.components, self.mixture)
            object.__setattr__(self, "components", self.components.named(own))

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of the mixture's own columns, after encoding and preprocessing."""
        return self._own_names(self.feature_names)

    def _own_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        if self.encoding is not None:
            return self.encoding.names
        return names_after(self.preprocessing, names) if self.preprocessing else names

    @cached_property
    def model(self) -> ComponentMixture:
        """The whole model: every class a mixture of one or more Gaussians, with the moments of ``mixture``."""
        return self.components or ComponentMixture.of(self.mixture)

    def sample(
        self, n: int, seed: int | None = None, per_class: bool = False
    ) -> tuple[Floats, NDArray[np.generic]]:
        """n synthetic rows (n per class if ``per_class``) in the user's columns: (X, y).

        They obey what was stated of the columns, and have the shapes of the margins where there are any.
        """
        X, codes = self.draw(checked_count(n), per_class, generator(seed))
        return X, np.take(self.mixture.class_array, codes)

    def draw(self, n: int, per_class: bool, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """n synthetic rows (n per class) in the user's columns, and the positions of their classes."""
        if self.margins is None:
            parts = self.model.draw_components(n, per_class, rng)
            return self.in_columns(self.model.draw(parts, rng)), self.model.owners[parts]
        codes = class_codes(self.mixture, n, per_class, rng)
        return self.in_columns(self.margins.draw(codes, rng)), codes

    def model_column(self, j: int) -> int:
        """The position in the model of the user's column j."""
        return j if self.encoding is None else self.encoding.places[j].start

    def in_columns(self, Z: Floats) -> Floats:
        """Rows of the model as rows of the user's columns, which obey what was stated of them."""
        if self.encoding is not None:
            return self.encoding.cells(Z)
        X = invert_all(self.preprocessing, Z)
        for j, column in enumerate(self.columns):
            X[:, j] = column.obeyed(X[:, j])
        return X

    def sample_table(
        self, n: int, seed: int | None = None, given: Mapping[str, Any] | None = None
    ) -> Any:
        """n synthetic rows as a ``pyarrow.Table`` with the input's column names, order and types.

        ``given`` states values of columns, e.g. ``{"species": "Adelie", "mass": 4000}``: rows are then drawn under
        that condition. A value of an integer column or of one with decimals stands for all that round to it.
        """
        from privgmm.releases.rows import table

        return table(self, n, seed, given)

    def transform(self, X: ArrayLike) -> Floats:
        """Rows given in the user's columns, in the columns of ``mixture`` (``model_names``)."""
        if self.encoding is not None:
            return self.encoding(self.cells(X))
        return apply_all(self.preprocessing, by_name(X, self.feature_names))

    def cells(self, X: ArrayLike) -> Floats:
        """(n, c) numbers of rows in the user's columns: levels by position, ``ABSENT`` where missing."""
        if self.encoding is not None:
            return cells_of(self.columns, X)
        return feature_array(by_name(X, self.feature_names))

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The most probable class of each row, given in the user's columns; a frame's are found by name."""
        return self.model.predict(self.transform(X))

    def save(self, path: str | os.PathLike[str], replace: bool = False) -> None:
        """Write the release as a JSON document; the file appears whole or not at all.

        Replacing a file that exists raises a CautionWarning, unless ``replace`` says it is meant.
        """
        from privgmm.files import warn_of_replacing, whole_file
        from privgmm.releases.document import dump

        if not replace:
            warn_of_replacing(path)
        text = dump(self)
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release document; a damaged or newer one is refused with a sentence."""
        from privgmm.files import read_limited
        from privgmm.releases.document import LARGEST_FILE, parse

        return parse(read_limited(path, LARGEST_FILE), str(path))

    def plot(self) -> Picture:
        """Densities and ellipses of the heaviest classes, in columns of numbers, as a matplotlib figure.

        After preprocessing these are the columns of the mixture, ``model_names``.
        """
        from privgmm.model.picture import Shapes, plot
        from privgmm.releases.column_lines import numbers

        shown = numbers(self)
        if shown is None:
            raise InputError("Every column is a category; the report shows their shares.")
        shapes = None
        if self.margins is not None:
            steps = tuple(column.step for column in shown.stated)
            shapes = Shapes(self.margins.quantiles[:, shown.places], steps)
        return plot(shown.mixture, shown.names, self.label_name, shapes)

    def _repr_html_(self) -> str:
        """Badges, promise, shares and picture, for notebooks."""
        from privgmm.model.picture import mixture_html, safe
        from privgmm.releases.wording import badges, share_with_error

        told = "".join(f"<p><b>{safe(badge.title)}</b></p>" for badge in badges(self.guarantee))
        head = f"{told}<p>{safe(self.guarantee.promise, 1000)}</p>"
        shares = [] if self.errors is None else self.errors.weights.tolist()
        texts = [share_with_error(w, e) for w, e in zip(self.mixture.weights, shares, strict=False)]
        drawn = any(column.type != "category" for column in self.columns)
        picture = self.plot() if drawn else None
        return mixture_html(self.mixture, picture, self.label_name, head, texts)

    def to_sklearn(self) -> Any:
        """The model as a plain fitted ``sklearn.mixture.GaussianMixture``.

        Its components are those of ``model.parts``, in that order; ``model.owners`` says which class each belongs to.
        """
        return gaussian_mixture(self.model.parts)


def _check_moments(components: ComponentMixture, mixture: Mixture) -> None:
    """Refuse components whose classes do not have the weights, means and covariances of the mixture, up to rounding."""
    if components.classes != mixture.classes or components.dim != mixture.dim:
        raise InputError("Components must be of the classes and columns of the mixture.")
    own = components.moments()
    wide = np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))
    far = [
        np.abs(own.weights - mixture.weights),
        np.abs(own.means - mixture.means) / (wide + np.abs(mixture.means)),
        np.abs(own.covariances - mixture.covariances) / (wide[:, :, None] * wide[:, None, :]),
    ]
    if max(float(part.max()) for part in far) > _SAME_MOMENTS:
        raise InputError("The components of a class must add up to its mean and covariance.")


def gaussian_mixture(mixture: Mixture) -> Any:
    """A fitted full-covariance ``GaussianMixture`` with one component per class."""
    from sklearn.mixture import GaussianMixture

    identity = np.eye(mixture.dim)
    model = GaussianMixture(n_components=mixture.n_classes, covariance_type="full")
    model.weights_ = mixture.weights.copy()
    model.means_ = mixture.means.copy()
    model.covariances_ = mixture.covariances.copy()
    # scikit-learn keeps the upper factors P_k = L_k^-T, so that precision = P P^T.
    model.precisions_cholesky_ = np.stack(
        [solve_triangular(factor, identity, lower=True).T for factor in mixture.cholesky]
    )
    model.precisions_ = np.stack([p @ p.T for p in model.precisions_cholesky_])
    model.converged_ = True
    model.n_iter_ = 0
    model.lower_bound_ = float("nan")
    model.n_features_in_ = mixture.dim
    return model
