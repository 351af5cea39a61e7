"""One pass over a part of the rows, here or on a worker: batches are read, checked, and added up by a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from privgmm.data.ids import Words, missing_ids
from privgmm.data.labels import bounded, missing_labels
from privgmm.data.persons import ByPerson, People, fuller, row_keys
from privgmm.data.register import RowKeys
from privgmm.data.source import Kinds, add_exactly
from privgmm.data.table import Layout
from privgmm.data.validate import Unusable, finite_rows, unusable
from privgmm.errors import InputError
from privgmm.types import ClassName, Codes, Flags, Floats, Integers, Kernel, PersonUnit

# A callback that is told how many rows were just passed over.
Progress = Callable[[int], None]


def no_progress(rows: int) -> None:
    """The callback of passes that nobody watches; does nothing."""


class Piece(Protocol):
    """Some rows of a table; a piece can be pickled, so that a worker can read its rows."""

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Arrow batches of the layout's columns, in the order of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class Tally:
    """The result of one pass over a part of the rows; tallies of disjoint parts add up, in any order.

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


def tally(
    batches: Iterable[Any], layout: Layout, kernel: Kernel | None, progress: Progress = no_progress
) -> Tally:
    """One pass over Arrow batches: add up the kernel or, if it is None, only count rows, unusable cells and labels."""
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


def of_persons(
    number: int, piece: Piece, layout: Layout, kernel: ByPerson, progress: Progress
) -> Tally:
    """A pass over a piece that also remembers the shares of its rows, so that later passes need no ids."""
    people, new = kernel.people, list[Kinds]()
    known = people.known.get(number)
    asked = layout if known is None else replace(layout, person=None)

    def parts() -> Iterator[Tally]:
        start = 0
        for batch in fuller(piece.batches(asked), len(layout.features)):
            if known is None:
                new.append(people.kinds(layout.matrix(batch), layout.ids(batch)))
                kinds = new[-1]
            else:
                kinds = _slice(known, start, batch.num_rows)
            start += batch.num_rows
            yield _one(batch, asked, kernel, progress, kinds)

    total = add_tallies(parts(), layout, kernel)
    if known is None:
        people.remember(number, new)
    return total


def _slice(known: Kinds, start: int, n_rows: int) -> Kinds:
    """The kinds of ``n_rows`` rows of a part, from row ``start`` on."""
    kinds = known[start : start + n_rows]
    if kinds.size != n_rows:
        raise InputError("The table changed while it was read; leave it alone and retry.")
    return kinds


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
    # Where bad rows are dropped nothing is refused, so nothing is counted as unusable.
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


def rows_of(
    number: int,
    piece: Piece,
    layout: Layout,
    persons: PersonUnit,
    key: bytes,
    progress: Progress = no_progress,
) -> tuple[Tally, RowKeys]:
    """A part's unusable cells, and the persons of its usable rows: those with usable features, whatever their labels."""
    keys, usable = [_no_keys(persons)], [np.empty(0, bool)]

    def parts() -> Iterator[Tally]:
        for batch in piece.batches(layout):
            X, ids = layout.matrix(batch), layout.ids(batch)
            kept = finite_rows(X) & ~missing_ids(ids)
            if not kept.all():
                X, ids = X[kept], ids.filter(kept)
            keys.append(row_keys(persons, X, ids, key))
            usable.append(kept)
            yield _one(batch, layout, Nothing(), progress)

    found = add_tallies(parts(), layout, Nothing())
    flags = np.concatenate(usable)
    return found, RowKeys.of(number, np.concatenate(keys, axis=1), None if flags.all() else flags)


def _no_keys(persons: PersonUnit) -> Words:
    return np.empty((2 if persons.max_rows is None else 3, 0), np.uint64)


def public_rows(
    piece: Piece, layout: Layout, people: People | None, number: int | None = None
) -> Iterator[Floats]:
    """The features of a part's usable rows, batch by batch; with ``people`` the last column is the share of each row."""
    features = layout.without_label
    known = None if people is None or number is None else people.known.get(number)
    asked = features if known is None else replace(features, person=None)
    start = 0
    for batch in piece.batches(asked):
        if people is None:
            yield features.usable(batch)
            continue
        X = features.matrix(batch)
        if known is None:
            kinds = people.kinds(X, features.ids(batch))
        else:
            kinds = _slice(known, start, batch.num_rows)
        start += batch.num_rows
        kept = kinds != people.nobody
        yield np.column_stack([X[kept], people.register.shares(kinds[kept]).fractions])


def features_of(
    piece: Piece,
    layout: Layout,
    rows: Integers,
    people: People | None = None,
    number: int | None = None,
) -> Floats:
    """The features of some rows of a piece, by ascending numbers within it; with ``people`` the last column is the share of each row."""
    found, start = [np.empty((0, len(layout.features) + (people is not None)))], 0
    if layout.drop_bad or people is not None:
        for X in public_rows(piece, layout, people, number):
            first, last = np.searchsorted(rows, (start, start + X.shape[0]))
            found.append(X[rows[first:last] - start])
            start += X.shape[0]
        return np.concatenate(found)
    features = layout.without_label
    for batch in piece.batches(features):
        first, last = np.searchsorted(rows, (start, start + batch.num_rows))
        if last > first:
            found.append(features.matrix(batch.take(rows[first:last] - start)))
        start += batch.num_rows
    return np.concatenate(found)
