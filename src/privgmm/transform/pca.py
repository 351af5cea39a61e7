"""Principal components: an orthogonal projection to fewer columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.mixture import Floats
from privgmm.rowwise import project
from privgmm.transform.step import Origin, check_origin, finite_result, matrix, rows_of, vector

_ORTHONORMAL_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Pca:
    """z = C (x - mean) with C of shape (m, d), orthonormal rows; back: x = C^T z + mean.

    Rows are mapped each on its own, to the bit (``rowwise.project``): the sensitivities of what
    follows rest on it. Going back fills in the mean along the d - m directions that were dropped.
    """

    mean: Floats
    components: Floats
    origin: Origin = "public"
    kind: ClassVar[str] = "pca"

    def __post_init__(self) -> None:
        check_origin(self.origin)
        object.__setattr__(self, "mean", vector(self.mean, "The mean of a PCA"))
        object.__setattr__(self, "components", matrix(self.components, "The components of a PCA"))
        m, d = self.components.shape
        if d != self.mean.size or m > d:
            raise InputError(
                f"The components of a PCA of {self.mean.size} columns must be at most as many rows "
                f"of {self.mean.size} numbers, got shape {self.components.shape}."
            )
        gram = self.components @ self.components.T
        if np.abs(gram - np.eye(m)).max() > _ORTHONORMAL_TOLERANCE:
            raise InputError("The components of a PCA must be orthonormal rows.")

    @property
    def dim(self) -> int | None:
        """The number of columns it takes."""
        return self.mean.size

    def apply(self, X: ArrayLike) -> Floats:
        """Coordinates of rows in the components."""
        x = rows_of(X, self.mean.size)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_result(project(x, self.mean, self.components), "project")

    def invert(self, Z: ArrayLike) -> Floats:
        """Rows of the plane that the components span."""
        return np.asarray(rows_of(Z, len(self.components)) @ self.components + self.mean)

    def ball(self, center: Floats, radius: float) -> tuple[Floats, float]:
        """The image of a ball is a ball of the same radius: orthonormal rows only shorten."""
        return (center - self.mean) @ self.components.T, radius

    def ball_of_box(self, lo: Floats, hi: Floats) -> tuple[Floats, float]:
        """A ball that holds the image of the box [lo, hi] with half-widths h.

        ||C v|| <= ||v|| <= ||h||, and |C v| <= |C| h column by column: the smaller of the two.
        """
        half, middle = hi / 2 - lo / 2, lo / 2 + hi / 2
        radius = min(np.linalg.norm(half), np.linalg.norm(np.abs(self.components) @ half))
        return (middle - self.mean) @ self.components.T, float(radius)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Column names afterwards."""
        return tuple(f"pc{j + 1}" for j in range(len(self.components)))
