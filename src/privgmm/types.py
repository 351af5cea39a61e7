"""The types that all rooms share: arrays by what they hold, names of units and neighbours, kernels, and a mechanism that was run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

# Real numbers of any shape.
Floats = NDArray[np.float64]
# Exact totals: sums of integer contributions of rows.
Integers = NDArray[np.int64]
# One class per row, as its position in the class list.
Codes = NDArray[np.intp]
# Yes or no per entry.
Flags = NDArray[np.bool_]
# One class per row, as the table wrote it: text, integers, floats or booleans.
Labels = NDArray[Any]
# How a class may be called.
ClassName = str | int | float | bool

# The protected unit, whose change must stay hidden: one row's label, or one whole row.
Unit = Literal["label", "record"]
# "label": one label flips, features fixed (Definition 1).  "replace": one record is exchanged for
# any other.  "add-remove": one record more or less.
Adjacency = Literal["label", "replace", "add-remove"]
# Whether a proof stands behind the guarantee, or only the paper's argument.
Status = Literal["proven", "as-published"]


@dataclass(frozen=True)
class PersonUnit:
    """Whose rows are protected together: all of one value of ``column``.

    Each person counts once, however many rows there are; or, with ``max_rows``, each row counts, and at
    most so many of a person (docs/proofs/persons.md).
    """

    column: str
    max_rows: int | None = None


class Kernel(Protocol):
    """Integer totals of one chunk of rows.

    A kernel is a frozen, picklable dataclass. Each row's contribution must be a pure function of
    that row (never of its chunk), so that totals are the same bits for any order and chunking.
    """

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """The totals of rows X (n, d) with class codes (n,)."""
        ...


@dataclass(frozen=True)
class Mechanism:
    """One Gaussian mechanism that was run on the private data: mu = sensitivity / sigma.

    query : what was asked, in words
    coordinates : how many numbers were answered
    sensitivity : largest L2 distance of the answers of neighbouring tables, in units of ``steps``
    sigma : standard deviation of the noise, in the same units
    mu : what the answer cost, in Gaussian differential privacy
    """

    query: str
    coordinates: int
    sensitivity: float
    sigma: float
    mu: float


# A callback that is told what is being done and which part of the budget is spent by then.
Stage = Callable[[str, float], None]
