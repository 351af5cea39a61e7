"""Steps as plain dictionaries: in the release document, and in files of parameters that the user states."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from privgmm.errors import InputError
from privgmm.files import read_limited
from privgmm.transform.steps import Log, Pca, Standardise, Step

_FIELDS: dict[str, tuple[type[Log | Standardise | Pca], tuple[str, ...]]] = {
    "log": (Log, ("offset",)),
    "standardise": (Standardise, ("mean", "scale")),
    "pca": (Pca, ("mean", "components")),
}
_LARGEST_FILE = 1 << 26


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
