"""Sources larger than memory: every total is a pass that reads the rows piece by piece, here or on workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privgmm.data.ids import new_key
from privgmm.data.passes import (
    Nothing,
    Piece,
    Progress,
    Tally,
    add_tallies,
    features_of,
    no_progress,
    of_persons,
    public_rows,
    rows_of,
    tally,
)
from privgmm.data.persons import ByPerson, People, Whose
from privgmm.data.register import Register, RowKeys, registered
from privgmm.data.source import ArraySource, Kinds, SourceAround, joined, scaled, side_by_side
from privgmm.data.table import Layout
from privgmm.errors import InputError
from privgmm.types import Floats, Integers, Kernel, PersonUnit


@dataclass(frozen=True, eq=False)
class Counted:
    """The result of the pass that counts persons: the register of all of them, the kinds of the rows of some parts
    (``People.known``), the unusable cells it found, and the number of rows of each part."""

    register: Register
    known: dict[int, Kinds]
    found: Tally
    lengths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StreamedSource(ABC):
    """Rows in parts, read anew for every total.

    ``check`` refuses missing and infinite cells and labels outside the class list, with counts over
    the whole table. These counts are for the holder, before anything is spent; a later pass that finds such
    cells says only that the table changed. ``where`` names the table in such sentences; ``lengths``
    are the numbers of rows of the parts. Where the layout drops bad rows nothing is refused.
    """

    layout: Layout
    lengths: tuple[int, ...]
    n_classes: int
    where: str

    @property
    def n_rows(self) -> int:
        """The number of rows; where the layout drops bad rows, of those with usable features."""
        return sum(self.lengths)

    @property
    def n_units(self) -> int:
        """The number of rows: here every row is its own unit. ``PersonSource`` counts persons."""
        return self.n_rows

    @property
    def dim(self) -> int:
        """The number of features."""
        return len(self.layout.features)

    @abstractmethod
    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        """One pass over all rows, which only surveys them if the kernel is None; also the number of rows of each part."""

    @abstractmethod
    def count(self, persons: PersonUnit, key: bytes) -> Counted:
        """One pass that counts the rows of every person, and looks for unusable ones."""

    @abstractmethod
    def fetch(self, wanted: dict[int, Integers], people: People | None = None) -> list[Floats]:
        """Features of some rows, by ascending numbers within each part; with ``people`` the last column is the share of each row."""

    @abstractmethod
    def feature_batches(self, people: People | None = None) -> Iterator[Floats]:
        """The features of all rows in order, in batches of any size; with ``people`` the last column is the share of each row."""

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, in one pass."""
        return self._unchanged(*self.run(self.layout, kernel))

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """The total with every row times 2^shift, because every row is a unit of its own."""
        return scaled(self.total(kernel), shift)

    def _unchanged(self, found: Tally, lengths: tuple[int, ...]) -> Integers:
        if found.totals is None or lengths != self.lengths:
            raise InputError(f"{self.where} changed while it was read; leave it alone and retry.")
        return found.totals

    def check(self) -> None:
        """A pass that only looks for unusable rows, e.g. before a ledger is charged."""
        self.refuse(*self.run(self.layout, Nothing()))

    def refuse(self, found: Tally, lengths: tuple[int, ...]) -> None:
        """Refuse the unusable rows that such a pass found."""
        found.bad.refuse(self.layout.features, self.layout.label, self.where, self.layout.person)
        self._unchanged(found, lengths)

    def features_at(self, rows: Integers, people: People | None = None) -> Floats:
        """(len(rows), d) features of the rows with these ascending numbers; with ``people`` one more column, the shares."""
        found = self.fetch(dict(self._split(rows)), people)
        X = np.concatenate([np.empty((0, self.dim + (people is not None))), *found])
        if not np.isfinite(X).all():
            self.check()  # refuses with counts over the whole table
        return X

    def _split(self, rows: Integers) -> Iterator[tuple[int, Integers]]:
        start = 0
        for part, length in enumerate(self.lengths):
            first, last = np.searchsorted(rows, (start, start + length))
            if last > first:
                yield part, rows[first:last] - start
            start += length


@dataclass(frozen=True, eq=False)
class FileSource(StreamedSource):
    """Rows of Parquet or CSV files; open it with ``open_rows``.

    Threads read and add up pieces side by side. Totals are exact integers, so neither the number
    of threads nor the order of pieces changes a bit. ``progress`` is told, from any thread, how
    many rows were just passed.
    """

    pieces: tuple[Piece, ...]
    progress: Progress = no_progress
    threads: int | None = None

    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        """One pass over all rows, which only surveys them if the kernel is None; also the number of rows of each piece."""

        def one(number: int) -> Tally:
            piece = self.pieces[number]
            if isinstance(kernel, ByPerson):
                return of_persons(number, piece, layout, kernel, self.progress)
            return tally(piece.batches(layout), layout, kernel, self.progress)

        parts = list(side_by_side(one, range(len(self.pieces)), self.threads))
        return add_tallies(parts, layout, kernel), tuple(part.n_rows for part in parts)

    def count(self, persons: PersonUnit, key: bytes) -> Counted:
        """One pass that counts the rows of every person, and looks for unusable ones."""
        tallies: list[Tally] = []

        def one(number: int) -> tuple[Tally, RowKeys]:
            piece = self.pieces[number]
            return rows_of(number, piece, self.layout, persons, key, self.progress)

        def parts() -> Iterator[RowKeys]:
            for found, rows in side_by_side(one, range(len(self.pieces)), self.threads):
                tallies.append(found)
                yield rows

        register, known = registered(parts(), persons)
        lengths = tuple(found.n_rows for found in tallies)
        return Counted(register, known, add_tallies(tallies, self.layout, Nothing()), lengths)

    def fetch(self, wanted: dict[int, Integers], people: People | None = None) -> list[Floats]:
        """Features of some pieces' rows, by ascending row numbers within each piece."""
        return [features_of(self.pieces[i], self.layout, r, people, i) for i, r in wanted.items()]

    def feature_batches(self, people: People | None = None) -> Iterator[Floats]:
        """The features of all rows, in their order, in batches of any size."""
        for number, piece in enumerate(self.pieces):
            yield from public_rows(piece, self.layout, people, number)

    def loaded(self, what: str, persons: PersonUnit | None = None) -> ArraySource:
        """The same rows as arrays, because ``what`` cannot be done in passes; they are checked first."""
        self.check()
        batches = [batch for piece in self.pieces for batch in piece.batches(self.layout)]
        X = np.concatenate([np.empty((0, self.dim)), *map(self.layout.matrix, batches)])
        codes = np.concatenate([np.empty(0, np.intp), *map(self.layout.codes, batches)])
        kept = np.concatenate([np.empty(0, bool), *map(self.layout.kept, batches)])
        source = ArraySource(X[kept], codes[kept], self.n_classes)
        if persons is None:
            return source
        whose = Whose(persons)
        whose.add((self.layout.matrix(b), self.layout.id_column(b)) for b in batches)
        return replace(source, shares=whose.shares())


@dataclass(frozen=True, eq=False)
class PersonSource(SourceAround):
    """The rows of a ``source`` whose layout names a column of persons; each row counts by its share. Every total is a pass."""

    source: StreamedSource
    people: People
    found: Tally
    lengths: tuple[int, ...]

    @staticmethod
    def of(source: StreamedSource, persons: PersonUnit) -> PersonSource:
        """The source with its persons: one pass counts the rows of every person and finds what ``check`` will refuse."""
        key = new_key()
        counted = source.count(persons, key)
        people = People(persons, counted.register, key, counted.known)
        return PersonSource(source, people, counted.found, counted.lengths)

    @property
    def n_units(self) -> int:
        """The number of persons."""
        return self.people.register.n_persons

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, each counting in full."""
        return self.source.total(kernel)

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """Sum of the kernel over all rows, each times its weight, in one pass."""
        return joined(self.source.total(ByPerson(kernel, self.people, shift)))

    def check(self) -> None:
        """Refuse unusable rows, also those without an id."""
        self.source.refuse(self.found, self.lengths)

    def loaded(self, what: str) -> ArraySource:
        """The same rows as arrays, because ``what`` cannot be done in passes."""
        if not isinstance(self.source, FileSource):
            raise InputError(
                f"{what} needs the table in memory; read it first and give its arrays."
            )
        return self.source.loaded(what, self.people.unit)

    def features_at(self, rows: Integers) -> Floats:
        """(len(rows), d + 1) features and shares of the rows with these ascending numbers."""
        return self.source.features_at(rows, self.people)

    def feature_batches(self) -> Iterator[Floats]:
        """Features and shares of all rows, in their order, in batches of any size."""
        return self.source.feature_batches(self.people)
