"""The questions that may be asked of private rows: one file per question, with its kernel and its proven sensitivity."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from privgmm.types import Adjacency, Floats, Kernel


class Query(Protocol):
    """A vector of integer totals T(D) and the geometry of its change between neighbours."""

    @property
    def name(self) -> str:
        """What was asked, in words, for the list of mechanisms in a release, e.g. ``class counts and means``."""
        ...

    @property
    def kernel(self) -> Kernel:
        """Integer contributions of the rows, (m,) per chunk after ravel."""
        ...

    @property
    def steps(self) -> Floats:
        """(m,) relative noise scale of each coordinate, in grid units of T."""
        ...

    def sensitivity(self, adjacency: Adjacency) -> float:
        """sup over neighbours of || (T(D) - T(D')) / steps ||_2, with its proof cited."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A query whose answer also tells, noisily, how many rows there are."""

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer of this query."""
        ...
