"""What all steps share: a fixed map of each row on its own, and its inverse for sampled rows."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.mixture import Floats

# "public": stated by the user or without parameters.  "features": read from the features, which is free
# only where features are public (label level).  "private-budget": a differentially private answer.
Origin = Literal["public", "features", "private-budget"]


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
