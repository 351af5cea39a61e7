"""Costly pure functions of the mechanism, remembered by the bits of their arguments.

A replay that hands such a function the very same bytes gets the result of the first run; other bytes are computed. Whether the
functions are pure is checked by the controls, which run without this.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import privgmm.proven

from .describe import described

# What takes most of a small release. One that is renamed only costs time.
COSTLY = (
    ("privgmm.proven.record.draws", "posterior_draws"),
    ("privgmm.proven.record.lookalike", "start_mixture"),
    ("privgmm.proven.label.clusterings", "public_view"),
    ("privgmm.proven.label.assignments", "pure_posteriors"),
)

# Kept from case to case: the same table through another door asks the same.
_KNOWN: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[Any, list[Any]]] = {}


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Within the block the costly functions look at each input once."""
    # All at once: a module first imported in the block would keep what is only lent.
    for found in pkgutil.walk_packages(privgmm.proven.__path__, "privgmm.proven."):
        importlib.import_module(found.name)
    with contextlib.ExitStack() as stack:
        for module, name in COSTLY:
            function = getattr(sys.modules.get(module), name, None)
            if function is not None:
                _everywhere(stack, name, function, _remembering(function))
        yield


def _everywhere(stack: contextlib.ExitStack, name: str, old: Any, new: Any) -> None:
    """Modules that imported the function by name hold it themselves."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("privgmm") and vars(module).get(name) is old:
            stack.enter_context(mock.patch.object(module, name, new))


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(*args: Any, **more: Any) -> Any:
        try:
            key = function.__qualname__, tuple(described([args, more]).items())
        except TypeError:  # a connection to workers, say
            return function(*args, **more)
        generators = [a for a in (*args, *more.values()) if isinstance(a, np.random.Generator)]
        if key not in _KNOWN:
            found = function(*args, **more)
            _KNOWN[key] = copy.deepcopy(found), [g.bit_generator.state for g in generators]
            return found
        found, states = _KNOWN[key]
        for generator, state in zip(generators, states, strict=True):
            generator.bit_generator.state = state
        return copy.deepcopy(found)

    return look_up
