"""The steps of preprocessing: logarithm, standardisation, PCA.

Each is a fixed map of every row by itself, with an inverse for sampled rows, and says where its parameters came from.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import ColumnsError, InputError
from privgmm.rowwise import log, project
from privgmm.types import Floats

# "public": stated by the user or without parameters.  "features": read from the features, which is free
# only where features are public (label level).  "private-budget": a differentially private answer.
Origin = Literal["public", "features", "private-budget"]
_LARGEST = float(np.log(np.finfo(np.float64).max))
_LN2 = 0.6931471805599453
_ORTHONORMAL_TOLERANCE = 1e-8


class Step(Protocol):
    """One step of preprocessing; frozen, so that every row is mapped alike."""

    @property
    def kind(self) -> str:
        """The name of the step in files."""

    @property
    def origin(self) -> Origin:
        """Where its parameters came from."""

    @property
    def dim(self) -> int | None:
        """The number of columns it takes; None for any."""
        ...

    def apply(self, X: ArrayLike) -> Floats:
        """(n, d) rows to (n, d') rows."""
        ...

    def invert(self, Z: ArrayLike) -> Floats:
        """(n, d') rows back to (n, d) rows."""
        ...

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the columns after the step."""
        ...


def check_origin(origin: object) -> None:
    """Refuse an origin that is not known."""
    if not isinstance(origin, str) or origin not in get_args(Origin):
        raise InputError(f"The origin of a step must be one of {', '.join(get_args(Origin))}.")


def vector(values: ArrayLike, what: str) -> Floats:
    """A finite, read-only vector."""
    return _finite(values, what, 1)


def matrix(values: ArrayLike, what: str) -> Floats:
    """A finite, read-only matrix."""
    return _finite(values, what, 2)


def _finite(values: ArrayLike, what: str, ndim: int) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be finite numbers.") from None
    if array.ndim != ndim or array.size == 0 or not np.isfinite(array).all():
        shape = "a list of" if ndim == 1 else "rows of"
        raise InputError(f"{what} must be {shape} finite numbers.")
    array.setflags(write=False)
    return array


def rows_of(X: ArrayLike, dim: int | None) -> Floats:
    """X as float64 rows of ``dim`` columns."""
    try:
        x = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Preprocessing needs rows of numbers.") from None
    if x.ndim != 2 or (dim is not None and x.shape[1] != dim):
        expected = "rows of numbers" if dim is None else f"rows of {dim} columns"
        raise InputError(f"Preprocessing needs {expected}, got an array of shape {x.shape}.")
    return x


def finite_result(Z: Floats, verb: str) -> Floats:
    """The result of a step, refused where it is infinite or no number."""
    bad = np.flatnonzero(~np.isfinite(Z).all(axis=0))
    if bad.size:
        raise InputError(
            f"Columns {[int(j) for j in bad[:10]]} hold values too large to {verb}; rescale them."
        )
    return Z


@dataclass(frozen=True)
class Log:
    """z = ln(x + offset). It has no fitted parameter, so it costs no privacy; the offset is stated.

    The logarithm is ``rowwise.log``, whose bits are the same on every machine of a cluster.
    """

    offset: float = 0.0
    origin: Origin = "public"
    kind: ClassVar[str] = "log"
    dim: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        check_origin(self.origin)
        number = isinstance(self.offset, (int, float)) and not isinstance(self.offset, bool)
        if not (number and abs(self.offset) <= sys.float_info.max):
            raise InputError("The offset of a logarithm must be a finite number.")

    def apply(self, X: ArrayLike) -> Floats:
        """ln(x + offset), each cell by itself."""
        x = rows_of(X, None)
        with np.errstate(over="ignore"):
            shifted = x + self.offset
        bad = (shifted <= 0).any(axis=0)
        if bad.any():
            raise ColumnsError(
                "A logarithm needs positive values, which column {columns} does not have in every row; "
                "state an offset (log:1) or a positive lower bound.",
                np.flatnonzero(bad).tolist(),
            )
        # Where the sum overflows, half of it does not: ln(a) = ln(a / 2) + ln 2.
        halves = log(np.maximum(x / 2 + self.offset / 2, 1.0)) + _LN2
        return np.where(np.isinf(shifted), halves, log(np.minimum(shifted, sys.float_info.max)))

    def invert(self, Z: ArrayLike) -> Floats:
        """exp(z) - offset."""
        z = rows_of(Z, None)
        return np.asarray(np.exp(np.minimum(z, _LARGEST)) - self.offset)

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The image of the box [lo, hi]: a box, because the logarithm is monotone."""
        if not (lo + self.offset > 0).all():
            raise InputError(
                "Before a logarithm every lower bound plus the offset must be positive; "
                "state positive bounds."
            )
        return log(lo + self.offset), log(hi + self.offset)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Column names afterwards."""
        return names


class _Centred:
    """A step that first subtracts a mean (d,)."""

    mean: Floats

    @property
    def dim(self) -> int | None:
        """The number of columns it takes."""
        return self.mean.size


@dataclass(frozen=True, eq=False)
class Standardise(_Centred):
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


@dataclass(frozen=True, eq=False)
class Pca(_Centred):
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

    def apply(self, X: ArrayLike) -> Floats:
        """Coordinates of rows in the components."""
        x = rows_of(X, self.mean.size)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_result(project(x, self.mean, self.components), "project")

    def invert(self, Z: ArrayLike) -> Floats:
        """Rows C^T z + mean, in the plane that the components span."""
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
