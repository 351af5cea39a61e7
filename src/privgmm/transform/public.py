"""Parameters that the user states, for record level: from a dictionary, a list of them, or a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from privgmm.errors import InputError
from privgmm.files import read_limited
from privgmm.transform.document import from_dict
from privgmm.transform.step import Step

_LARGEST_FILE = 1 << 26


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
