"""A release: a mixture, its guarantee and what is needed to use both elsewhere."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.checks import utf8
from privgmm.errors import InputError
from privgmm.model.mixture import Floats, Mixture
from privgmm.releases.guarantee import Guarantee
from privgmm.transform import Step, apply_all, invert_all, names_after

_SOFTWARE = ("privgmm", "numpy", "scipy", "scikit-learn", "opendp", "dp-accounting")


def software_versions() -> dict[str, str]:
    return {name: version(name) for name in _SOFTWARE}


@dataclass(frozen=True, eq=False)
class Release:
    """What is published. Everything done with it is post-processing and costs no budget.

    ``feature_names`` are the user's columns. ``mixture`` lives in the columns after
    ``preprocessing``; sampling and prediction go through it, so users never see the difference.
    """

    mixture: Mixture
    guarantee: Guarantee
    feature_names: tuple[str, ...] = ()
    label_name: str = "label"
    preprocessing: tuple[Step, ...] = ()
    software: dict[str, str] = field(default_factory=software_versions)

    def __post_init__(self) -> None:
        first = self.preprocessing[0].dim if self.preprocessing else self.mixture.dim
        names = self.feature_names or tuple(f"x{j}" for j in range(first or self.mixture.dim))
        if len(names_after(self.preprocessing, names)) != self.mixture.dim:
            raise InputError(
                f"{self.mixture.dim} features need {self.mixture.dim} names, got {len(names)}."
            )
        if not all(isinstance(name, str) and utf8(name) for name in (*names, self.label_name)):
            raise InputError("Column names must be valid UTF-8 text; rename the columns.")
        if len({*names, self.label_name}) != len(names) + 1:
            raise InputError(
                f"Column names must be distinct and differ from the label's, {self.label_name!r}; "
                "rename the columns that share a name."
            )
        object.__setattr__(self, "feature_names", tuple(names))

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of the mixture's own columns, after preprocessing."""
        return names_after(self.preprocessing, self.feature_names)

    def sample(
        self, n: int, seed: int | None = None, per_class: bool = False
    ) -> tuple[Floats, NDArray[np.generic]]:
        """n synthetic rows (n per class if ``per_class``) in the user's columns: (X, y)."""
        Z, y = self.mixture.sample(n, seed=seed, per_class=per_class)
        return invert_all(self.preprocessing, Z), y

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """The most probable class of each row, given in the user's columns."""
        return self.mixture.predict(apply_all(self.preprocessing, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as a JSON document; the file appears whole or not at all."""
        from privgmm.files import whole_file
        from privgmm.releases.document import dump

        text = dump(self)
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release document; a damaged or newer one is refused with a sentence."""
        from privgmm.files import read_limited
        from privgmm.releases.document import LARGEST_FILE, parse

        return parse(read_limited(path, LARGEST_FILE), str(path))

    def to_sklearn(self) -> Any:
        """The mixture as a plain fitted ``sklearn.mixture.GaussianMixture``."""
        from privgmm.releases.export import gaussian_mixture

        return gaussian_mixture(self.mixture)
