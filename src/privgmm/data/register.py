"""All persons of a table, by keyed digests of their ids (never the ids), and how many rows each has.

Rows are sorted by key, some millions at a time, and remember their entry in the sheet of counts that this gives, so
that their shares are found later without another look at an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privgmm.data.ids import Words
from privgmm.data.source import Kinds, Shares, side_by_side
from privgmm.errors import InputError
from privgmm.types import Flags, Integers, PersonUnit

# Memory for the entries of counted rows, which are kept until all persons are known.
_BLOCK_BYTES = 1 << 29
# Bits that hold the number of rows of any person.
_ROW_BITS = 40
_BYTES = 256
# At least this many entries wait before they are merged into a sheet: merging a few at a time would sort all of them too often.
_WAITING = 1 << 21
# Rows that are sorted at a time: enough for most tables as a whole, and no more than some hundred megabytes.
_BLOCK_ROWS = 1 << 24


@dataclass(frozen=True, eq=False)
class Sheet:
    """How many rows each distinct key has, keys in ascending order; only as many rows of a person as may count."""

    keys: Words  # (2 or 3, m), see ``row_keys``
    counts: Integers

    @cached_property
    def starts(self) -> Integers:
        """The position of each person's first key."""
        change = np.ones(self.counts.size, dtype=bool)
        low, high = self.keys[0], self.keys[1]
        change[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        return np.flatnonzero(change)

    @cached_property
    def before(self) -> Integers:
        """(m,) how many rows of the same person have smaller row words."""
        before = np.cumsum(self.counts) - self.counts
        sizes = np.diff(np.append(self.starts, before.size))
        return np.asarray(before - np.repeat(before[self.starts], sizes))

    def kept(self, most_rows: int | None) -> Flags:
        """(m,) whether a key belongs to the first ``most_rows`` rows of its person."""
        if most_rows is None:
            return np.ones(self.counts.size, dtype=bool)
        return np.asarray(self.before < most_rows)


def together(sheets: Iterable[Sheet], most_rows: int | None) -> Sheet:
    """The sheet of all parts; the memory it takes is proportional to the number of persons (and of rows kept)."""
    done = Sheet(np.empty((2 if most_rows is None else 3, 0), np.uint64), np.empty(0, np.int64))
    waiting: list[Sheet] = []
    held = 0
    for sheet in sheets:
        waiting.append(sheet)
        held += sheet.counts.size
        if held > max(_WAITING, done.counts.size):
            done, waiting, held = _joined([done, *waiting], most_rows), [], 0
    return _joined([done, *waiting], most_rows)


def _joined(sheets: list[Sheet], most_rows: int | None) -> Sheet:
    filled = [sheet for sheet in sheets if sheet.counts.size]
    if len(filled) <= 1:
        return (filled or sheets)[0]
    keys = [np.concatenate(words) for words in zip(*(s.keys for s in filled), strict=True)]
    order, at, distinct = _sorted(keys)
    counts = np.concatenate([sheet.counts for sheet in filled])[order]
    sheet = Sheet(distinct, np.add.reduceat(counts, at))
    kept = sheet.kept(most_rows)
    return sheet if kept.all() else Sheet(sheet.keys[:, kept], sheet.counts[kept])


def _sorted(keys: list[Words]) -> tuple[Integers, Integers, Words]:
    """The order of keys, where in that order each distinct one begins, and the distinct ones."""
    order = np.argsort(keys[0])
    words = [word[order] for word in keys]
    change = _different(words[0])
    if any((_different(word) & ~change).any() for word in words[1:]):
        # Nearly always the first words alone tell persons apart; here all words are needed.
        order = np.lexsort(keys[::-1])
        words = [word[order] for word in keys]
        change = np.any([_different(word) for word in words], axis=0)
    at = np.flatnonzero(change)
    return order, at, np.stack([word[at] for word in words])


def _different(words: Words) -> Flags:
    """(n,) whether a word differs from the one before; True for the first."""
    change = np.ones(words.size, dtype=bool)
    np.not_equal(words[1:], words[:-1], out=change[1:])
    return change


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Keys of the usable rows of a part, grouped by their first byte, so that each group stays in cache when it is sorted.

    order : (n,) the rows in that order; ends : (256,) where the group of each byte ends
    usable : whether a row of the part has a key; None where all have one
    """

    part: int
    keys: Words
    order: NDArray[np.int32]
    ends: Integers
    usable: Flags | None

    @staticmethod
    def of(part: int, keys: Words, usable: Flags | None = None) -> RowKeys:
        """The rows of a part with these keys (``persons.row_keys``), one by one."""
        first = (keys[0] >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(first, kind="stable").astype(np.int32)
        ends = np.cumsum(np.bincount(first, minlength=_BYTES))
        return RowKeys(part, np.take(keys, order, axis=1), order, ends, usable)

    @property
    def n_rows(self) -> int:
        """The number of rows with keys."""
        return int(self.order.size)

    def places(self, byte: int) -> slice:
        """Where the keys with this first byte stand."""
        return slice(int(self.ends[byte - 1]) if byte else 0, int(self.ends[byte]))


@dataclass(frozen=True, eq=False)
class Block:
    """The counted rows of some parts. Each has an entry in the ``sheet``, or -1 if it surely comes after the rows that count.

    parts : for each part its number, its usable rows (``RowKeys.usable``) and their entries
    """

    sheet: Sheet
    parts: tuple[tuple[int, Flags | None, NDArray[np.int32]], ...]

    @staticmethod
    def of(rows: list[RowKeys], most_rows: int | None) -> Block:
        """Count the rows of these parts; threads sort the groups of first bytes side by side."""

        def one(byte: int) -> tuple[Sheet, NDArray[np.int32]]:
            mine = [part.keys[:, part.places(byte)] for part in rows]
            order, at, distinct = _sorted(
                [np.concatenate(word) for word in zip(*mine, strict=True)]
            )
            counts = np.diff(np.append(at, order.size))
            sheet = Sheet(distinct, counts)
            kept = sheet.kept(most_rows)
            place = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
            entry = np.empty(order.size, np.int32)
            entry[order] = np.repeat(place, counts)
            return Sheet(distinct[:, kept], counts[kept]), entry

        found = [*side_by_side(one, range(_BYTES))]
        sheets, entry = [sheet for sheet, _ in found], [entry for _, entry in found]
        before = np.cumsum([0, *(sheet.counts.size for sheet in sheets)])
        for byte, some in enumerate(entry):
            some[some >= 0] += before[byte]
        sheet = Sheet(
            np.concatenate([sheet.keys for sheet in sheets], axis=1),
            np.concatenate([sheet.counts for sheet in sheets]),
        )
        entries = zip(rows, _by_part(rows, entry), strict=True)
        return Block(sheet, tuple((part.part, part.usable, mine) for part, mine in entries))

    @property
    def nbytes(self) -> int:
        """Memory that the block takes once it is counted."""
        rows = sum(entry.nbytes for _, _, entry in self.parts)
        return int(rows + self.sheet.keys.nbytes + self.sheet.counts.nbytes)

    def kinds(self, register: Register) -> Iterator[tuple[int, Kinds]]:
        """The number of each part, and the kinds of all of its rows."""
        small = np.min_scalar_type(register.nobody)
        found = np.append(register.kinds_of(self.sheet.keys), register.behind).astype(small)
        for part, usable, entry in self.parts:
            kinds = found[entry]
            if usable is not None:
                everything = np.full(usable.size, register.nobody, small)
                everything[usable] = kinds
                kinds = everything
            yield part, kinds


def _by_part(rows: list[RowKeys], entries: list[NDArray[np.int32]]) -> Iterator[NDArray[np.int32]]:
    """Turn entries that are grouped by first byte over all parts into the entries of each part's rows, in their order."""
    used = [0] * _BYTES
    for part in rows:
        sorted_ = np.empty(part.n_rows, np.int32)
        for byte in range(_BYTES):
            place = part.places(byte)
            size = place.stop - place.start
            sorted_[place] = entries[byte][used[byte] : used[byte] + size]
            used[byte] += size
        entry = np.empty(part.n_rows, np.int32)
        entry[part.order] = sorted_
        yield entry


def registered(parts: Iterable[RowKeys], persons: PersonUnit) -> tuple[Register, dict[int, Kinds]]:
    """All persons of the rows of a table, and the kinds of the rows of as many parts as there is room for."""
    blocks: list[Block] = []

    def sheets() -> Iterator[Sheet]:
        room = _BLOCK_BYTES
        for rows in _gathered(parts):
            block = Block.of(rows, persons.max_rows)
            rows.clear()  # their keys are not needed any more, and are large
            room -= block.nbytes
            if room >= 0:
                blocks.append(block)
            yield block.sheet

    register = Register.of(together(sheets(), persons.max_rows), persons)
    known: dict[int, Kinds] = {}
    for block in blocks:
        known.update(block.kinds(register))
    return register, known


def _gathered(parts: Iterable[RowKeys]) -> Iterator[list[RowKeys]]:
    """The parts in lists that are sorted together, each of at most _BLOCK_ROWS rows unless a single part has more."""
    waiting: list[RowKeys] = []
    held = 0
    for rows in parts:
        if waiting and held + rows.n_rows > _BLOCK_ROWS:
            yield waiting
            waiting, held = [], 0
        waiting.append(rows)
        held += rows.n_rows
    if waiting:
        yield waiting


@dataclass(frozen=True, eq=False)
class Register:
    """All persons by digest. A row whose word is below its person's ``last`` word counts in full, rows at that word for a part.

    In full means 1/M of a unit where at most M rows of a person count. Where each person counts once there are no row
    words, and each of m rows counts 1/m. There are few different shares; a row has the number of its share, its kind.
    """

    digest: Words  # (2, P), ascending
    last: Words | None
    kinds: Kinds  # of the share of a row at ``last``
    parts: Integers  # numerators of all kinds; the last three are rows before ``last``, rows after it, and rows of nobody
    wholes: Integers

    @staticmethod
    def of(sheet: Sheet, persons: PersonUnit) -> Register:
        """The register of all persons of a sheet, with the share of each person's last rows."""
        ends = np.append(sheet.starts, sheet.counts.size)[1:] - 1
        tied, most = sheet.counts[ends], persons.max_rows or 1
        # How many of the rows at ``last`` still count; where each person counts once, all rows share one place.
        left = np.minimum(most - sheet.before[ends], tied)
        both, kinds = np.unique(left << _ROW_BITS | tied, return_inverse=True)
        parts, wholes = both >> _ROW_BITS, (both & ((1 << _ROW_BITS) - 1)) * most
        return Register(
            sheet.keys[:2, ends],
            None if persons.max_rows is None else sheet.keys[2, ends],
            kinds.astype(np.uint32),
            np.append(parts, [1, 0, 0]),
            np.append(wholes, [most, 1, 1]),
        )

    @property
    def n_persons(self) -> int:
        """The number of persons."""
        return int(self.kinds.size)

    @property
    def nobody(self) -> int:
        """The kind of a row that cannot be used or belongs to nobody; its share is zero."""
        return self.parts.size - 1

    @property
    def behind(self) -> int:
        """The kind of a row that comes after the rows of its person that count."""
        return self.parts.size - 2

    @cached_property
    def _buckets(self) -> tuple[np.uint64, Integers]:
        """Where to begin looking for a digest: digests are spread evenly, so their first bits nearly tell the position."""
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

    def kinds_of(self, keys: Words) -> Kinds:
        """The kinds of rows with these keys (``row_keys``)."""
        at = self.find(keys[:2])
        kinds = self.kinds[at]
        if self.last is not None:
            last = self.last[at]
            kinds[keys[2] < last] = self.parts.size - 3
            kinds[keys[2] > last] = self.behind
        return kinds

    def shares(self, kinds: Kinds) -> Shares:
        """How much rows of these kinds count."""
        return Shares(kinds, self.parts, self.wholes, self.n_persons)
