"""What sources larger than memory share: a pass is run somewhere, and checked here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privgmm.errors import InputError
from privgmm.statistics.layout import Layout
from privgmm.statistics.source import Codes, Floats, Integers, Kernel
from privgmm.statistics.tally import Tally, refuse_unusable


@dataclass(frozen=True)
class Nothing:
    """The kernel of a pass that only looks for unusable rows."""

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StreamedSource(ABC):
    """Rows in parts, read anew for every total.

    Every pass refuses missing and infinite cells and labels outside the class list, with counts
    over the whole table. ``where`` names the table in such sentences; ``lengths`` are the rows of
    each part.
    """

    layout: Layout
    lengths: tuple[int, ...]
    n_classes: int
    where: str

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def dim(self) -> int:
        return len(self.layout.features)

    @abstractmethod
    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        """One pass over all rows (a kernel of None surveys them), and the rows of each part."""

    @abstractmethod
    def fetch(self, wanted: dict[int, Integers]) -> list[Floats]:
        """Features of some parts' rows, by ascending row numbers within each part."""

    @abstractmethod
    def feature_batches(self) -> Iterator[Floats]:
        """The features of all rows, in their order, in batches of any size."""

    def total(self, kernel: Kernel) -> Integers:
        found, lengths = self.run(self.layout, kernel)
        refuse_unusable(found, self.layout, self.where)
        if found.totals is None or lengths != self.lengths:
            raise InputError(f"{self.where} changed while it was read; leave it alone and retry.")
        return found.totals

    def check(self) -> None:
        """A pass that only looks for unusable rows, e.g. before a ledger is charged."""
        self.total(Nothing())

    def features_at(self, rows: Integers) -> Floats:
        """(len(rows), d) features of the rows with these ascending numbers."""
        found = self.fetch(dict(self._split(rows)))
        X = np.concatenate([np.empty((0, self.dim)), *found])
        if not np.isfinite(X).all():
            self.check()  # tells what is wrong, with counts over the whole table
        return X

    def _split(self, rows: Integers) -> Iterator[tuple[int, Integers]]:
        start = 0
        for part, length in enumerate(self.lengths):
            first, last = np.searchsorted(rows, (start, start + length))
            if last > first:
                yield part, rows[first:last] - start
            start += length
