"""Sources larger than memory: a pass reads the rows piece by piece, here or on workers, and is checked here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from privgmm.data.digests import digests
from privgmm.data.labels import bounded, missing_labels
from privgmm.data.persons import (
    ByPerson,
    People,
    Sheet,
    array_shares,
    fuller,
    joined_ids,
    row_order,
    together,
)
from privgmm.data.source import ArraySource, Kinds, add_exactly, scaled, side_by_side
from privgmm.data.table import Layout
from privgmm.data.validate import Unusable, unusable
from privgmm.errors import InputError
from privgmm.types import ClassName, Codes, Flags, Floats, Integers, Kernel, PersonUnit

# Told how many rows were just passed over.
Progress = Callable[[int], None]


def no_progress(rows: int) -> None:
    """For passes that nobody watches."""


class Piece(Protocol):
    """Some rows of a table; it pickles, so that a worker can read the rows where it is."""

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Arrow batches of the layout's columns, in the order of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class Tally:
    """What one pass over a part of the rows brings back; tallies of disjoint parts add up, in any order.

    totals : the kernel's totals; None for a survey, or when the part holds an unusable row
    bad : counts of what cannot be used
    labels : the distinct labels that a survey found
    """

    n_rows: int
    totals: Integers | None
    bad: Unusable
    labels: frozenset[ClassName] = frozenset()

    def __add__(self, other: Tally) -> Tally:
        totals = None
        if self.totals is not None and other.totals is not None:
            totals = add_exactly(iter((self.totals, other.totals)))
        labels = bounded(self.labels | other.labels)
        return Tally(self.n_rows + other.n_rows, totals, self.bad + other.bad, labels)


@dataclass(frozen=True)
class Nothing:
    """The kernel of a pass that only looks for unusable rows."""

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Integers that these rows add to the total."""
        return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class StreamedSource(ABC):
    """Rows in parts, read anew for every total.

    ``check`` refuses missing and infinite cells and labels outside the class list, with counts over
    the whole table, for the holder's eyes and before anything is spent; a pass that finds some
    later says only that the table changed. ``where`` names the table in such sentences; ``lengths``
    are the rows of each part. Where the layout drops bad rows nothing is refused.
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
        """Every row is its own; ``PersonSource`` knows persons."""
        return self.n_rows

    @property
    def dim(self) -> int:
        """The number of features."""
        return len(self.layout.features)

    @abstractmethod
    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        """One pass over all rows (a kernel of None surveys them), and the rows of each part."""

    @abstractmethod
    def sheets(self, persons: PersonUnit, key: bytes) -> Iterator[Sheet]:
        """One pass that counts rows by person: a sheet for each part."""

    @abstractmethod
    def fetch(self, wanted: dict[int, Integers], people: People | None = None) -> list[Floats]:
        """Features of some parts' rows, by ascending row numbers within each part; shares last, of ``people``."""

    @abstractmethod
    def feature_batches(self, people: People | None = None) -> Iterator[Floats]:
        """The features of all rows, in their order, in batches of any size; shares last, of ``people``."""

    def total(self, kernel: Kernel) -> Integers:
        """Sum of the kernel over all rows, in one pass."""
        return self._unchanged(*self.run(self.layout, kernel))

    def fixed_point(self, kernel: Kernel, shift: int) -> list[int]:
        """The same with every row times 2^shift: a unit of its own."""
        return scaled(self.total(kernel), shift)

    def _unchanged(self, found: Tally, lengths: tuple[int, ...]) -> Integers:
        if found.totals is None or lengths != self.lengths:
            raise InputError(f"{self.where} changed while it was read; leave it alone and retry.")
        return found.totals

    def check(self) -> None:
        """A pass that only looks for unusable rows, e.g. before a ledger is charged."""
        found, lengths = self.run(self.layout, Nothing())
        found.bad.refuse(self.layout.features, self.layout.label, self.where, self.layout.person)
        self._unchanged(found, lengths)

    def features_at(self, rows: Integers, people: People | None = None) -> Floats:
        """(len(rows), d) features of the rows with these ascending numbers; shares last, of ``people``."""
        found = self.fetch(dict(self._split(rows)), people)
        X = np.concatenate([np.empty((0, self.dim + (people is not None))), *found])
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
        """One pass over all rows (a kernel of None surveys them), and the rows of each piece."""

        def one(number: int) -> Tally:
            piece = self.pieces[number]
            if isinstance(kernel, ByPerson):
                return _of_persons(number, piece, layout, kernel, self.progress)
            return tally(piece.batches(layout), layout, kernel, self.progress)

        parts = list(side_by_side(one, range(len(self.pieces)), self.threads))
        return add_tallies(parts, layout, kernel), tuple(part.n_rows for part in parts)

    def sheets(self, persons: PersonUnit, key: bytes) -> Iterator[Sheet]:
        """Rows counted by person, piece by piece."""

        def one(piece: Piece) -> Sheet:
            return sheet_of(piece, self.layout, persons, key, self.progress)

        return side_by_side(one, self.pieces, self.threads)

    def fetch(self, wanted: dict[int, Integers], people: People | None = None) -> list[Floats]:
        """Features of some pieces' rows, by ascending row numbers within each piece."""
        return [features_of(self.pieces[i], self.layout, r, people) for i, r in wanted.items()]

    def feature_batches(self, people: People | None = None) -> Iterator[Floats]:
        """The features of all rows, in their order, in batches of any size."""
        features = self.layout.without_label
        for piece in self.pieces:
            for batch in piece.batches(features):
                yield public_rows(batch, features, people)

    def loaded(self, what: str, persons: PersonUnit | None = None) -> ArraySource:
        """The same rows as arrays, for ``what`` cannot be done in passes; checked beforehand."""
        self.check()
        batches = [batch for piece in self.pieces for batch in piece.batches(self.layout)]
        X = np.concatenate([np.empty((0, self.dim)), *map(self.layout.matrix, batches)])
        codes = np.concatenate([np.empty(0, np.intp), *map(self.layout.codes, batches)])
        kept = np.concatenate([np.empty(0, bool), *map(self.layout.kept, batches)])
        source = ArraySource(X[kept], codes[kept], self.n_classes)
        if persons is None:
            return source
        ids = joined_ids([*map(self.layout.ids, batches)]).filter(kept)
        return replace(source, shares=array_shares(ids, X[kept], persons))


def tally(
    batches: Iterable[Any], layout: Layout, kernel: Kernel | None, progress: Progress = no_progress
) -> Tally:
    """One pass over Arrow batches: add up the kernel, or (None) survey rows, cells and labels."""
    return add_tallies((_one(batch, layout, kernel, progress) for batch in batches), layout, kernel)


def add_tallies(parts: Iterable[Tally], layout: Layout, kernel: Kernel | None) -> Tally:
    """The tally of all parts together; without any, zeros of the kernel's shape."""
    total: Tally | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is not None:
        return total
    X, codes = np.empty((0, len(layout.features))), np.empty(0, np.intp)
    return Tally(0, None if kernel is None else kernel(X, codes), unusable(X))


def _of_persons(
    number: int, piece: Piece, layout: Layout, kernel: ByPerson, progress: Progress
) -> Tally:
    """A pass over a piece, after which the shares of its rows are known: later ones need no ids."""
    people, new = kernel.people, list[Kinds]()
    known = people.known.get(number)
    asked = layout if known is None else replace(layout, person=None)

    def parts() -> Iterator[Tally]:
        start = 0
        for batch in fuller(piece.batches(asked)):
            if known is None:
                new.append(people.kinds(layout.matrix(batch), layout.ids(batch)))
            kinds = new[-1] if known is None else known[start : start + batch.num_rows]
            if kinds.size != batch.num_rows:
                raise InputError("The table changed while it was read; leave it alone and retry.")
            start += batch.num_rows
            yield _one(batch, asked, kernel, progress, kinds)

    total = add_tallies(parts(), layout, kernel)
    if known is None:
        people.remember(number, new)
    return total


def _one(
    batch: Any,
    layout: Layout,
    kernel: Kernel | None,
    progress: Progress,
    kinds: Kinds | None = None,
) -> Tally:
    X = layout.matrix(batch)
    if isinstance(kernel, ByPerson) and kinds is None:
        kinds = kernel.people.kinds(X, layout.ids(batch))
    usable = layout.kept(batch, X) if layout.drop_bad else None
    if isinstance(kernel, ByPerson) and usable is not None:
        usable = np.asarray(kinds != kernel.people.nobody)
    # Where bad rows are dropped there is nothing to refuse.
    bad = unusable(X if usable is None else X[:0])
    if usable is None and layout.person is not None:
        bad += bad.of_persons(layout.ids(batch).null_count)
    totals, labels = None, frozenset[ClassName]()
    if kernel is None:
        values, at = layout.labels(batch)
        labels = bounded(frozenset(value for value in values if value is not None))
        if usable is None and layout.label is not None:
            bad += bad.of_labels(missing_labels(values, at))
    else:
        codes = layout.codes(batch)
        if usable is not None:
            totals = _totals(kernel, X, codes, usable & (codes >= 0), kinds)
        else:
            bad += unusable(X[:0], codes)
            everything = np.ones(batch.num_rows, dtype=bool)
            totals = None if bad.any else _totals(kernel, X, codes, everything, kinds)
    progress(batch.num_rows)
    n_rows = batch.num_rows if usable is None else int(usable.sum())
    return Tally(n_rows, totals, bad, labels)


def _totals(
    kernel: Kernel, X: Floats, codes: Codes, counted: Flags, kinds: Kinds | None
) -> Integers:
    """The kernel of the rows that count."""
    if not counted.all():
        X, codes = X[counted], codes[counted]
        kinds = None if kinds is None else kinds[counted]
    if not isinstance(kernel, ByPerson) or kinds is None:
        return kernel(X, codes)
    return kernel.of(X, codes, kinds)


def sheet_of(
    piece: Piece, layout: Layout, persons: PersonUnit, key: bytes, progress: Progress = no_progress
) -> Sheet:
    """The rows of a piece counted by person: those with usable features, whatever their labels."""

    def of_batch(batch: Any) -> Sheet:
        X, ids = layout.matrix(batch), layout.ids(batch)
        kept = layout.kept(batch, X)
        progress(batch.num_rows)
        if not kept.all():
            X, ids = X[kept], ids.filter(kept)
        return Sheet.of(digests(ids, key), row_order(persons, X))

    return together(map(of_batch, piece.batches(layout)), persons.max_rows)


def public_rows(batch: Any, features: Layout, people: People | None) -> Floats:
    """The features of a batch's usable rows; shares last, of ``people``."""
    if people is None:
        return features.usable(batch)
    X = features.matrix(batch)
    kept = features.kept(batch, X)
    return people.beside(X[kept], features.ids(batch).filter(kept))


def features_of(
    piece: Piece, layout: Layout, rows: Integers, people: People | None = None
) -> Floats:
    """The features of some rows of a piece, by ascending numbers within it; shares last, of ``people``."""
    features = layout.without_label
    found, start = [np.empty((0, len(layout.features) + (people is not None)))], 0
    for batch in piece.batches(features):
        if layout.drop_bad or people is not None:
            X = public_rows(batch, features, people)
            first, last = np.searchsorted(rows, (start, start + X.shape[0]))
            found.append(X[rows[first:last] - start])
            start += X.shape[0]
            continue
        first, last = np.searchsorted(rows, (start, start + batch.num_rows))
        if last > first:
            found.append(features.matrix(batch.take(rows[first:last] - start)))
        start += batch.num_rows
    return np.concatenate(found)
