"""A chain of steps: map rows forward and samples back, carry stated bounds along, check origins; and steps as plain dictionaries.

The dictionaries are written to the release document, and read from files of parameters that the user states.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.files import read_limited
from privgmm.transform.steps import Log, Pca, Standardise, Step, rows_of, vector
from privgmm.types import Floats

_ORIGINS = {
    "public": "its parameters were public",
    "features": "its parameters were read from the features, which are public at label level",
    "private-budget": "its parameters are differentially private answers, paid from the budget",
}
_Box = tuple[Floats, Floats]
_Ball = tuple[Floats, float]
_FIELDS: dict[str, tuple[type[Log | Standardise | Pca], tuple[str, ...]]] = {
    "log": (Log, ("offset",)),
    "standardise": (Standardise, ("mean", "scale")),
    "pca": (Pca, ("mean", "components")),
}
_LARGEST_FILE = 1 << 26


def apply_all(steps: Sequence[Step], X: ArrayLike) -> Floats:
    """Rows in the columns of the mixture, after all steps."""
    out = rows_of(X, None)
    for step in steps:
        out = step.apply(out)
    return out


def invert_all(steps: Sequence[Step], Z: ArrayLike) -> Floats:
    """Sampled rows in the user's columns, before all steps."""
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
    """Refuse steps whose parameters were read from the features at record level, where features are private."""
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


def to_dict(step: Step) -> dict[str, Any]:
    """Numbers, lists and texts only; JSON keeps every bit of the floats."""
    if step.kind not in _FIELDS:
        raise InputError(f"A step of kind {step.kind!r} cannot be written to a document.")
    values = {name: getattr(step, name) for name in _FIELDS[step.kind][1]}
    plain = {name: v if isinstance(v, (int, float)) else v.tolist() for name, v in values.items()}
    return {"kind": step.kind, "origin": step.origin, **plain}


def from_dict(content: Mapping[str, Any]) -> Step:
    """The step that ``to_dict`` described, or one sentence on what is wrong."""
    named = content.get("kind") if isinstance(content, Mapping) else None
    if not isinstance(named, str) or named not in _FIELDS:
        raise InputError(f"A preprocessing step needs a kind, one of {', '.join(_FIELDS)}.")
    kind, fields = _FIELDS[named]
    given = {name: value for name, value in content.items() if name != "kind"}
    unknown = sorted(str(name) for name in given.keys() - {"origin", *fields})
    missing = sorted(set(fields) - given.keys()) if kind is not Log else []
    if unknown or missing:
        raise InputError(f"A step of kind {named!r} has the fields {', '.join(fields)} and origin.")
    if not all(_numbers_only(given[name]) for name in fields if name in given):
        raise InputError(f"The fields of a step of kind {named!r} must be numbers.")
    return kind(**given)


def _numbers_only(value: Any) -> bool:
    """Numbers in lists: no texts that look like numbers, no booleans."""
    if isinstance(value, (list, tuple)):
        return all(_numbers_only(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def public_steps(
    source: str | os.PathLike[str] | Mapping[str, Any] | list[Any],
) -> tuple[Step, ...]:
    """Steps whose parameters the user states to be public.

    Each is written as ``{"kind": "standardise", "mean": [...], "scale": [...]}``. Parameters that
    an earlier release paid for are public now; parameters marked as read from features are refused.
    """
    if isinstance(source, (str, os.PathLike)):
        content: Any = _json(source)
    else:
        content = source
    listed = content if isinstance(content, (list, tuple)) else [content]
    return tuple(_public(item) for item in listed)


def _public(content: Any) -> Step:
    step = from_dict(content)
    if step.origin == "features":
        raise InputError(
            "These preprocessing parameters are marked as read from features, so they are not "
            "public; state parameters that come from elsewhere."
        )
    return from_dict({**content, "origin": "public"})


def _json(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(read_limited(path, _LARGEST_FILE))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path} is not readable JSON; write the preprocessing as a list of steps."
        ) from None
