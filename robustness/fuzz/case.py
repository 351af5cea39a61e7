"""One hostile input: a command line in a folder of its own, or a call of the Python interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# Planted in private cells: whatever says one of them has shown a record's value.
SECRET_NUMBER = "8675309.4242"
SECRET_TEXT = "zqCANARYqz"
SECRETS = ("8675309", "8.675309", SECRET_TEXT)


@dataclass(frozen=True)
class Command:
    """``privgmm *arguments`` where ``files`` lie.

    outputs : what may appear on success, and then must be whole
    changes : what may change in any outcome (a ledger)
    prepare : makes what bytes cannot: links, folders, pipes
    encoding : of the terminal
    alone : in a process of its own
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    prepare: Callable[[Path], None] | None = None
    encoding: str = "utf-8"
    alone: bool = False


@dataclass(frozen=True)
class Call:
    """``function()``, where ``files`` lie; ``also`` are refusals besides InputError."""

    function: Callable[[], object]
    says: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    also: tuple[type[Exception], ...] = ()


Case = Command | Call


@dataclass(frozen=True)
class Family:
    """Inputs of one kind; ``share`` is its part of a run, beside those of the others."""

    name: str
    make: Callable[[np.random.Generator], Case]
    share: int
    seconds: float = 30.0


@dataclass(frozen=True)
class Verdict:
    """What became of a case; ``faults`` say what must never happen."""

    accepted: bool
    faults: tuple[str, ...] = ()
    said: str = ""


def pick(rng: np.random.Generator, values: Any) -> Any:
    """One of the values as it is (NumPy's choice would turn it into an array element)."""
    return values[int(rng.integers(len(values)))]


def chance(rng: np.random.Generator, p: float) -> bool:
    return bool(rng.random() < p)
