"""Everything that a query is made of, as comparable text: kinds, numbers to the bit, arrays by digest."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

Facts = dict[str, str]


def described(thing: Any) -> Facts:
    """Path -> fact, e.g. ``.kernel.centres`` -> ``float64 (2, 3) 9f...``; two equal things, equal facts."""
    return dict(_facts(thing, ""))


def _facts(thing: Any, path: str) -> Iterator[tuple[str, str]]:
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes, np.generic)):
        yield path, repr(thing)
    elif isinstance(thing, np.ndarray):
        yield path, f"{thing.dtype} {thing.shape} {_digest(thing)}"
    elif isinstance(thing, (list, tuple)):
        yield path, f"{_kind(thing)} of {len(thing)}"
        for index, part in enumerate(thing):
            yield from _facts(part, f"{path}[{index}]")
    elif isinstance(thing, dict):
        yield path, f"{_kind(thing)} of {list(thing)!r}"
        for key, part in thing.items():
            yield from _facts(part, f"{path}[{key!r}]")
    elif isinstance(thing, np.random.Generator):
        yield from _facts(thing.bit_generator.state, f"{path}.state")
    elif isinstance(thing, functools.partial):
        yield path, "partial"
        yield from _facts([thing.func, thing.args, thing.keywords], path)
    elif isinstance(thing, types.MethodType):
        yield path, thing.__func__.__qualname__
        yield from _facts(thing.__self__, f"{path}.self")
    elif isinstance(thing, types.FunctionType):
        yield path, f"{thing.__module__}.{thing.__qualname__}"
        yield from _facts([cell.cell_contents for cell in thing.__closure__ or ()], f"{path}()")
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        yield path, _kind(thing)
        for part in dataclasses.fields(thing):
            yield from _facts(getattr(thing, part.name), f"{path}.{part.name}")
    else:
        # Better no answer than a wrong one: an object's own repr may hide what differs.
        raise TypeError(f"The tape cannot describe {path or 'this'}, of type {_kind(thing)}.")


def _digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _kind(thing: Any) -> str:
    return type(thing).__qualname__
