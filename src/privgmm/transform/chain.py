"""Steps in a row: rows forward, samples back, stated bounds carried along, origins checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.transform.steps import Log, Pca, Standardise, Step, rows_of, vector
from privgmm.types import Floats

_ORIGINS = {
    "public": "its parameters were public",
    "features": "its parameters were read from the features, which are public at label level",
    "private-budget": "its parameters are differentially private answers, paid from the budget",
}


def apply_all(steps: Sequence[Step], X: ArrayLike) -> Floats:
    """Rows as the mixture sees them."""
    out = rows_of(X, None)
    for step in steps:
        out = step.apply(out)
    return out


def invert_all(steps: Sequence[Step], Z: ArrayLike) -> Floats:
    """Sampled rows in the user's columns."""
    out = rows_of(Z, None)
    for step in reversed(steps):
        out = step.invert(out)
    return out


def names_after(steps: Sequence[Step], names: Sequence[str]) -> tuple[str, ...]:
    """Column names as the mixture sees them."""
    out = tuple(names)
    for step in steps:
        if step.dim is not None and step.dim != len(out):
            raise InputError(
                f"The {step.kind} step takes {step.dim} columns but gets {len(out)}; "
                "give parameters for the columns in use."
            )
        out = step.names(out)
    return out


def check_origins(steps: Sequence[Step], unit: str) -> None:
    """At record level features are private, so nothing may have been read from them."""
    if unit == "record" and any(step.origin == "features" for step in steps):
        raise InputError(
            "Preprocessing fitted to the features is private at record level; state its parameters "
            "or pay for them from the budget (docs/preprocessing.md)."
        )


def describe(step: Step) -> str:
    """One line for the statement."""
    return f"{step.kind}: {_ORIGINS[step.origin]}"


def carry_bounds(
    steps: Sequence[Step],
    dim: int,
    bounds: Any = None,
    radius: float | None = None,
    center: ArrayLike | None = None,
) -> dict[str, Any]:
    """The region stated for the user's columns, in the columns after the steps.

    Returns the keywords ``bounds`` or ``radius`` and ``center`` for ``privgmm.release``. The result
    holds the image of the stated region; the privacy layer clips every row into it whatever
    happens here, so an error in this function could cost accuracy but never privacy.
    """
    if (bounds is None) == (radius is None):
        raise InputError("State where rows may lie: either bounds=(lo, hi) or a radius.")
    region: _Box | _Ball
    if bounds is not None:
        region = _box(dim, bounds)
    else:
        middle = _spread(0.0 if center is None else center, dim, "The center")
        region = (middle, _positive(radius))
    for step in steps:
        region = _carried(step, region)
    if isinstance(region[1], float):
        return {"radius": region[1], "center": region[0]}
    return {"bounds": region}


_Box = tuple[Floats, Floats]
_Ball = tuple[Floats, float]


def _carried(step: Step, region: _Box | _Ball) -> _Box | _Ball:
    first, second = region
    if isinstance(step, Log):
        if isinstance(second, float):
            first, second = first - second, first + second
        return step.bounds(first, second)
    if isinstance(step, Standardise):
        return step.ball(first, second) if isinstance(second, float) else step.bounds(first, second)
    if isinstance(step, Pca):
        if isinstance(second, float):
            return step.ball(first, second)
        return step.ball_of_box(first, second)
    raise InputError(f"Bounds cannot be carried through a step of kind {step.kind!r}.")


def _box(dim: int, bounds: Any) -> _Box:
    try:
        lo, hi = bounds
    except (TypeError, ValueError):
        raise InputError(f"Bounds must be a pair (lo, hi) of numbers, or of {dim} each.") from None
    low, high = _spread(lo, dim, "The lower bounds"), _spread(hi, dim, "The upper bounds")
    if not (low < high).all():
        raise InputError("Bounds must be finite with lo < hi in every column.")
    return low, high


def _positive(radius: float | None) -> float:
    if radius is None or not (np.isfinite(radius) and radius > 0):
        raise InputError(f"The radius must be a positive number, got {radius}.")
    return float(radius)


def _spread(values: ArrayLike, dim: int, what: str) -> Floats:
    """One number or ``dim`` numbers as a vector of ``dim``."""
    flat = vector(np.atleast_1d(np.asarray(values)), what)
    if flat.size not in (1, dim):
        raise InputError(f"{what} must be one number or {dim} numbers, got {flat.size}.")
    return np.broadcast_to(flat, (dim,)).copy()
