"""How much each row counts: a public fraction per row, in fixed point, so that a person with many rows counts once.

Proof: docs/proofs/persons.md. A row's weight is floor(2^shift share): an integer, from public numbers and the
rows of its own person alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.types import Codes, Floats, Integers, Kernel

# Which of few different shares each row has.
Kinds = NDArray[np.unsignedinteger[Any]]
# Totals of weighted rows are kept as high * 2^30 + low: weights of 20 bits times totals of 51 leave 64.
_LIMB = 30
_LOW = (1 << _LIMB) - 1


@dataclass(frozen=True, eq=False)
class Shares:
    """Row n counts for parts[k] / wholes[k] of a unit, k = kinds[n]; ``n_units`` units are in the table.

    The shares of one unit's rows add up to one at most: 1/m each for a person of m rows. Rows of share
    zero count for nothing. There are few different shares, and millions of rows.
    """

    kinds: Kinds
    parts: Integers
    wholes: Integers
    n_units: int

    @staticmethod
    def each(parts: Integers, wholes: Integers, n_units: int) -> Shares:
        """Of rows whose shares are given one by one."""
        table, kinds = np.unique(np.stack([parts, wholes]), axis=1, return_inverse=True)
        return Shares(kinds.ravel().astype(np.uint32), table[0], table[1], n_units)

    def weights(self, shift: int) -> Integers:
        """(kinds,) floor(2^shift parts / wholes): persons.md (1)."""
        return (self.parts << shift) // self.wholes

    @cached_property
    def order(self) -> Integers:
        """(n,) row numbers, those of one share together and in their order."""
        return np.argsort(self.kinds, kind="stable")

    @property
    def fractions(self) -> Floats:
        """(n,) shares as floats, for computations on public features; exactly 1.0 where a row is a whole unit."""
        return np.asarray((self.parts / self.wholes)[self.kinds])


def weighted(kernel: Kernel, X: Floats, codes: Codes, weights: Integers) -> Integers:
    """(2 m,) high and low halves of sum_n weights_n kernel(x_n): rows of one weight are added up together.

    Halves of several chunks may be added as they are.
    """
    empty = kernel(X[:0], codes[:0]).ravel()
    high, low = np.zeros_like(empty), np.zeros_like(empty)
    for weight, rows in _alike(weights):
        if rows.size == weights.size:
            part = kernel(X, codes).ravel()
        else:
            part = kernel(np.take(X, rows, axis=0), codes[rows]).ravel()
        high += weight * (part >> _LIMB)
        low += weight * (part & _LOW)
        high += low >> _LIMB
        low &= _LOW
    return np.concatenate([high, low])


def joined(halves: Integers) -> list[int]:
    """The exact totals that two halves stand for, as Python integers of any size."""
    high, low = np.split(halves, 2)
    return [(h << _LIMB) + rest for h, rest in zip(high.tolist(), low.tolist(), strict=True)]


def _alike(weights: Integers) -> Iterator[tuple[int, Integers]]:
    """Positive weights that occur, and the rows of each in their order."""
    if weights.size == 0:
        return
    order = np.argsort(weights, kind="stable")
    values, starts = np.unique(weights[order], return_index=True)
    for value, rows in zip(values.tolist(), np.split(order, starts[1:]), strict=True):
        if value > 0:
            yield value, rows
