"""Standardisation: subtract a mean and divide by a scale, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.mixture import Floats
from privgmm.transform.step import Origin, check_origin, finite_result, rows_of, vector


@dataclass(frozen=True, eq=False)
class Standardise:
    """z = (x - mean) / scale with mean and scale of shape (d,), scale positive."""

    mean: Floats
    scale: Floats
    origin: Origin = "public"
    kind: ClassVar[str] = "standardise"

    def __post_init__(self) -> None:
        check_origin(self.origin)
        object.__setattr__(self, "mean", vector(self.mean, "The means of a standardisation"))
        object.__setattr__(self, "scale", vector(self.scale, "The scales of a standardisation"))
        if self.mean.shape != self.scale.shape:
            raise InputError(
                f"A standardisation needs as many scales as means, got {self.scale.size} "
                f"and {self.mean.size}."
            )
        if not (self.scale > 0).all():
            raise InputError("The scales of a standardisation must be positive.")

    @property
    def dim(self) -> int | None:
        """The number of columns it takes."""
        return self.mean.size

    def apply(self, X: ArrayLike) -> Floats:
        """(x - mean) / scale."""
        x = rows_of(X, self.mean.size)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_result((x - self.mean) / self.scale, "standardise")

    def invert(self, Z: ArrayLike) -> Floats:
        """z scale + mean."""
        return rows_of(Z, self.mean.size) * self.scale + self.mean

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The image of the box [lo, hi], a box."""
        return (lo - self.mean) / self.scale, (hi - self.mean) / self.scale

    def ball(self, center: Floats, radius: float) -> tuple[Floats, float]:
        """The smallest ball around the image of ``center`` that holds the image of the ball.

        The image is an ellipsoid with semi-axes radius / scale_j; the longest one is the radius.
        """
        return (center - self.mean) / self.scale, radius / float(self.scale.min())

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Column names afterwards."""
        return names
