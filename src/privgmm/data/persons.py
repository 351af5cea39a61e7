"""Whose row is it: ids as texts, how many rows each person has, and so how much each row counts.

Two passes. The first makes a ``Register`` of all persons, by keyed digests of their ids (never the ids) and
of the size of their number; the second finds each row's person in it. Which rows of a person count follows
from that person's own rows alone, in any order, chunking or engine: docs/proofs/persons.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.data.digests import Words, digests
from privgmm.data.source import CHUNKS_OF_KINDS, Kinds, Shares, weighted
from privgmm.data.validate import finite_rows
from privgmm.errors import InputError
from privgmm.model.labels import label_text
from privgmm.rowwise import WORD_STEP, mixed, row_words
from privgmm.types import Codes, Floats, Integers, Kernel, PersonUnit

# Which rows of a person are kept is a public function of their features, with this salt.
_SALT = 0x5B1F
_KNOWN_BYTES = 1 << 28
# No person has as many rows as this many bits can count.
_ROW_BITS = 40
# Entries that wait to be merged into a sheet, at least: sorting a few at a time would sort all of them often.
_WAITING = 1 << 21


def row_order(persons: PersonUnit, X: Floats) -> Words:
    """(n,) words: a person's rows are kept from the smallest up. All are alike where every row counts."""
    if persons.max_rows is None:
        return np.zeros(X.shape[0], dtype=np.uint64)
    # A spreadsheet knows no -0.0: adding zero makes it 0.0. Mixed once more, because a row's word ends in the
    # bits of its last column, which must not decide.
    return mixed(row_words(np.ascontiguousarray(X.T) + 0.0, _SALT) + np.uint64(WORD_STEP))


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows counted by person and row word; ``merged``: distinct (digest, word) in ascending order."""

    keys: Words  # (3, m): both words of the digest, and the row word
    counts: Integers

    @staticmethod
    def of(digest: Words, words: Words) -> Sheet:
        """The sheet of rows with these digests and row words, row after row."""
        return Sheet(np.vstack([digest, words]), np.ones(words.size, dtype=np.int64))

    def merged(self, most_rows: int | None) -> Sheet:
        """Equal keys as one; of each person no more than ``most_rows`` rows call for."""
        order = _ascending(self.keys)
        keys, counts = self.keys[:, order], self.counts[order]
        first = _changes(keys)
        sheet = Sheet(keys[:, first], np.add.reduceat(counts, first) if first.size else counts)
        if most_rows is None:
            return sheet
        kept = sheet.before < most_rows
        return Sheet(sheet.keys[:, kept], sheet.counts[kept])

    @cached_property
    def starts(self) -> Integers:
        """Where each person begins."""
        return _changes(self.keys[:2])

    @cached_property
    def before(self) -> Integers:
        """(m,) rows of the same person with smaller row words."""
        before = np.cumsum(self.counts) - self.counts
        sizes = np.diff(np.append(self.starts, before.size))
        return np.asarray(before - np.repeat(before[self.starts], sizes))


def together(sheets: Iterable[Sheet], most_rows: int | None) -> Sheet:
    """The sheet of all parts; memory stays proportional to the persons (and rows kept) there are."""
    done = Sheet(np.empty((3, 0), np.uint64), np.empty(0, np.int64))
    waiting: list[Sheet] = []
    held = 0
    for sheet in sheets:
        waiting.append(sheet)
        held += sheet.counts.size
        if held > max(_WAITING, done.counts.size):
            done, waiting, held = _joined([done, *waiting], most_rows), [], 0
    return _joined([done, *waiting], most_rows)


def _joined(sheets: list[Sheet], most_rows: int | None) -> Sheet:
    keys = np.concatenate([sheet.keys for sheet in sheets], axis=1)
    return Sheet(keys, np.concatenate([sheet.counts for sheet in sheets])).merged(most_rows)


@dataclass(frozen=True, eq=False)
class Register:
    """All persons by digest; a row before a person's ``last`` word counts in full, one at it for its part.

    In full is 1/M of a unit where at most M rows of a person count. Where each person counts once all rows
    have the same word, and each counts for 1/m. Shares are kept as kinds, of which there are few.
    """

    digest: Words  # (2, P), ascending
    last: Words
    kinds: Kinds  # of the share of a row at ``last``
    parts: Integers  # of every kind; then of rows before ``last``, of those behind, and of nobody's
    wholes: Integers

    @staticmethod
    def of(sheet: Sheet, persons: PersonUnit) -> Register:
        """Who is there, and how much of each person's last rows counts."""
        ends = np.append(sheet.starts, sheet.counts.size)[1:] - 1
        tied, most = sheet.counts[ends], persons.max_rows or 1
        # Places left for the rows at ``last``; where each person counts once, one place for all.
        left = np.minimum(most - sheet.before[ends], tied)
        both, kinds = np.unique(left << _ROW_BITS | tied, return_inverse=True)
        parts, wholes = both >> _ROW_BITS, (both & ((1 << _ROW_BITS) - 1)) * most
        return Register(
            sheet.keys[:2, ends],
            sheet.keys[2, ends],
            kinds.astype(np.uint32),
            np.append(parts, [1, 0, 0]),
            np.append(wholes, [most, 1, 1]),
        )

    @property
    def n_persons(self) -> int:
        """The number of persons."""
        return int(self.last.size)

    @cached_property
    def _buckets(self) -> tuple[np.uint64, Integers]:
        """Digests are spread evenly: their first bits nearly tell the place."""
        bits = max(self.n_persons.bit_length(), 1)
        shift = np.uint64(64 - bits)
        edges = np.arange((1 << bits) + 1)
        return shift, np.searchsorted((self.digest[0] >> shift).astype(np.int64), edges)

    def find(self, digest: Words) -> Integers:
        """(n,) the position of each digest's person."""
        shift, starts = self._buckets
        bucket = (digest[0] >> shift).astype(np.int64)
        at, end = starts[bucket], starts[bucket + 1]
        left = np.flatnonzero(at < end)
        while left.size:
            here = at[left]
            other = (self.digest[0, here] != digest[0, left]) | (
                self.digest[1, here] != digest[1, left]
            )
            left = left[other]
            at[left] += 1
            left = left[at[left] < end[left]]
        if at.size and (at >= end).any():
            raise InputError("The table changed while it was read; leave it alone and retry.")
        return np.asarray(at)

    def shares(self, digest: Words, words: Words) -> Shares:
        """How much each row counts; ``words`` are its ``row_order``."""
        at = self.find(digest)
        last, kinds = self.last[at], self.kinds[at]
        kinds[words < last] = self.parts.size - 3
        kinds[words > last] = self.parts.size - 2
        return Shares(kinds, self.parts, self.wholes, self.n_persons)


@dataclass(frozen=True, eq=False)
class People:
    """All persons of a table, and how to find a row's: by the digest of its id under ``key``."""

    unit: PersonUnit
    register: Register
    key: bytes
    # Kinds of the rows of some parts of a table, once found: some bytes a row, up to _KNOWN_BYTES in all.
    known: dict[int, Kinds] = field(default_factory=dict)

    @property
    def nobody(self) -> int:
        """The kind of a row that cannot be used or belongs to nobody; its share is zero."""
        return self.register.parts.size - 1

    def kinds(self, X: Floats, ids: Any) -> Kinds:
        """(n,) the kind of each row's share (``Register.parts``)."""
        kept = finite_rows(X) & ~missing_ids(ids)
        kinds = np.full(kept.size, self.nobody, np.min_scalar_type(self.nobody))
        kinds[kept] = self.shares(X[kept], ids.filter(kept)).kinds
        return kinds

    def remember(self, part: int, kinds: list[Kinds]) -> None:
        """Keep the kinds of a part's rows, if there is room."""
        found = np.concatenate([np.empty(0, np.uint8), *kinds])
        if found.nbytes + sum(array.nbytes for array in self.known.values()) <= _KNOWN_BYTES:
            self.known[part] = found

    def shares(self, X: Floats, ids: Any) -> Shares:
        """How much rows count whose persons have these ids, none of them missing."""
        return self.register.shares(digests(ids, self.key), row_order(self.unit, X))

    def beside(self, X: Floats, ids: Any) -> Floats:
        """(n, d + 1) rows with their shares in a last column."""
        return np.column_stack([X, self.shares(X, ids).fractions])


@dataclass(frozen=True, eq=False)
class ByPerson:
    """The kernel of rows that count by their persons' shares: halves of weighted totals (``data.source``).

    A kernel of its own, so that a pass over files or on workers adds up its totals like any other's; but it
    must also be told whose the rows are.
    """

    kernel: Kernel
    people: People
    shift: int

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Of no rows: zeros."""
        if X.shape[0]:
            raise InputError("Rows that count by person need their persons.")
        return self.of(X, codes, np.empty(0, np.uint8))

    def of(self, X: Floats, codes: Codes, kinds: Kinds) -> Integers:
        """Of rows whose shares are of these kinds."""
        register = self.people.register
        weights = Shares(kinds, register.parts, register.wholes, 0).weights(self.shift)
        return weighted(self.kernel, X, codes, kinds, weights)


def fuller(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in batches of several: every batch calls the kernel once for each share that occurs."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if len(waiting) == CHUNKS_OF_KINDS:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def id_texts(column: Any) -> Any:
    """Ids of any plain type as an Arrow array of texts, each by itself; null where there is none.

    The rule of labels (``model.labels``): an integer is its digits, a text itself, letter for letter.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    t = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if t.is_dictionary(column.type):
        return id_texts(column.dictionary).take(column.indices).cast(pa.large_string())
    if t.is_integer(column.type):
        return column.cast(pa.large_string())
    if t.is_string(column.type) or t.is_large_string(column.type) or t.is_string_view(column.type):
        texts = column.cast(pa.large_string())
        return pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)
    if t.is_floating(column.type) or t.is_boolean(column.type) or t.is_null(column.type):
        return pa.array([label_text(value) for value in column.to_pylist()], pa.large_string())
    raise InputError("The column of persons must hold texts or whole numbers; convert it to text.")


def id_array(ids: Any) -> Any:
    """Ids given beside arrays, as ``id_texts`` has them."""
    import pyarrow as pa

    values = np.asarray(ids) if hasattr(ids, "dtype") else np.asarray(ids, dtype=object)
    if values.ndim != 1:
        raise InputError("Persons must be one per row.")
    if values.dtype.kind in "iu":
        return id_texts(pa.array(values))
    return pa.array([_id(value) for value in values.tolist()], pa.large_string())


def _id(value: Any) -> str | None:
    """The text of an id; None for what is no text, half a character among it."""
    text = label_text(value)
    return None if text is None or any("\ud800" <= c <= "\udfff" for c in text) else text


def joined_ids(parts: list[Any]) -> Any:
    """Ids of several batches as one column; none is copied."""
    import pyarrow as pa

    return pa.chunked_array(parts, pa.large_string())


def missing_ids(texts: Any) -> NDArray[np.bool_]:
    """(n,) which rows belong to nobody."""
    return np.asarray(texts.is_null(), dtype=bool)


def array_shares(texts: Any, X: Floats, persons: PersonUnit) -> Shares:
    """The shares of rows in memory, none of which lacks an id; ids only tell who is the same."""
    import pyarrow as pa

    column = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts])
    coded = column.dictionary_encode()
    who = np.concatenate([np.empty(0, np.int32), *(np.asarray(c.indices) for c in coded.chunks)])
    if persons.max_rows is None:
        sizes, kinds = np.unique(np.bincount(who), return_inverse=True)
        small = kinds.astype(np.min_scalar_type(max(sizes.size, 1)))
        return Shares(small[who], np.ones_like(sizes), sizes, kinds.size)
    # Words that are spread evenly, as those of digests are; different for different persons.
    digest = np.vstack([mixed(who.astype(np.uint64)), np.zeros(who.size, np.uint64)])
    words = row_order(persons, X)
    sheet = Sheet.of(digest, words).merged(persons.max_rows)
    return Register.of(sheet, persons).shares(digest, words)


def _ascending(keys: Words) -> Integers:
    """The order of keys (3, m). First words alone nearly always tell persons apart."""
    order = np.argsort(keys[0])
    first, rest = keys[0, order], keys[1:, order]
    same = first[1:] == first[:-1]
    if (rest[:, 1:] != rest[:, :-1])[:, same].any():
        return np.lexsort(keys[::-1])
    return order


def _changes(keys: Words) -> Integers:
    """Where a key differs from the one before it, the first included."""
    if keys.shape[1] == 0:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)))
