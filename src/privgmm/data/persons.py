"""How much each row counts: which person it belongs to, and how many rows that person has.

One pass makes a ``Register`` of all persons and remembers the share of each row as long as there is room; later rows are
looked up in the register again. Which rows of a person count depends on that person's rows alone, not on their order, on
chunks or on the engine (docs/proofs/persons.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privgmm.data.ids import Words, digests, id_texts, missing_ids, new_key, told_apart
from privgmm.data.register import Block, Register, RowKeys
from privgmm.data.source import (
    CHUNK_ROWS,
    Kinds,
    Shares,
    rows_at_once,
    side_by_side,
    weighted,
)
from privgmm.data.validate import finite_rows
from privgmm.errors import InputError
from privgmm.rowwise import WORD_STEP, mixed, row_words
from privgmm.types import Codes, Flags, Floats, Integers, Kernel, PersonUnit

# The salt of the public hash of a row's features that decides which rows of a person are kept.
_SALT = 0x5B1F
# Memory for the remembered shares of rows, where a table is larger than memory.
_KNOWN_BYTES = 1 << 28


def row_keys(
    persons: PersonUnit,
    X: Floats,
    ids: Any,
    key: bytes,
    tell: Callable[[Any, bytes], Words] = digests,
) -> Words:
    """(2, n) words that stand for the person of each row; no id is missing. Where only some rows of a person count, (3, n):
    the third is the row's own word, and a person's rows are kept from the smallest word up."""
    who = tell(ids, key)
    return who if persons.max_rows is None else np.vstack([who, row_order(X)])


def row_order(X: Floats) -> Words:
    """(n,) words that put rows into a fixed public order: a hash of their features."""
    # Adding zero turns -0.0, which a spreadsheet does not have, into 0.0. The words are mixed once more, because
    # they end in the bits of the last column, which must not decide the order.
    return mixed(row_words(np.ascontiguousarray(X.T) + 0.0, _SALT) + np.uint64(WORD_STEP))


@dataclass(frozen=True, eq=False)
class People:
    """All persons of a table; the person of a row is found by the digest of its id under ``key``."""

    unit: PersonUnit
    register: Register
    key: bytes
    # The kinds of the rows of some parts, once they were found: a few bytes per row, at most _KNOWN_BYTES in all.
    known: dict[int, Kinds] = field(default_factory=dict)

    @property
    def nobody(self) -> int:
        """The kind of a row that cannot be used or belongs to nobody; its share is zero."""
        return self.register.nobody

    def kinds(self, X: Floats, ids: Any) -> Kinds:
        """(n,) the kind of each row's share (``Register.parts``)."""
        kept = finite_rows(X) & ~missing_ids(ids)
        kinds = np.full(kept.size, self.nobody, np.min_scalar_type(self.nobody))
        keys = row_keys(self.unit, X[kept], ids.filter(kept), self.key)
        kinds[kept] = self.register.kinds_of(keys)
        return kinds

    def remember(self, part: int, kinds: list[Kinds]) -> None:
        """Keep the kinds of a part's rows, if there is room."""
        found = np.concatenate([np.empty(0, np.uint8), *kinds])
        if found.nbytes + sum(array.nbytes for array in self.known.values()) <= _KNOWN_BYTES:
            self.known[part] = found


@dataclass(frozen=True, eq=False)
class ByPerson:
    """The kernel of rows that count by their persons' shares; its totals are the halves of weighted totals (``data.source``).

    It is a kernel, so that a pass over files or on workers adds up its totals like any other's; but a pass
    calls ``of``, which also needs the kinds of the rows' shares.
    """

    kernel: Kernel
    people: People
    shift: int

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Totals of no rows, all zero; other rows need ``of``."""
        if X.shape[0]:
            raise InputError("Rows that count by person need their persons.")
        return self.of(X, codes, np.empty(0, np.uint8))

    def of(self, X: Floats, codes: Codes, kinds: Kinds) -> Integers:
        """Totals of rows whose shares have these kinds."""
        register = self.people.register
        weights = register.shares(kinds).weights(self.shift)
        return weighted(self.kernel, X, codes, kinds, weights)


def fuller(batches: Iterable[Any], dim: int) -> Iterator[Any]:
    """The same rows in fewer, larger batches, because every batch calls the kernel once for each share that occurs."""
    import pyarrow as pa

    waiting: list[Any] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        if held >= rows_at_once(dim):
            yield pa.concat_batches(waiting)
            waiting, held = [], 0
    if waiting:
        yield pa.concat_batches(waiting)


@dataclass(frozen=True, eq=False)
class Whose:
    """Which person each row of a table in memory belongs to, worked out chunk by chunk; no id is kept afterwards."""

    persons: PersonUnit
    key: bytes = field(default_factory=new_key)
    chunks: list[RowKeys] = field(default_factory=list)
    # How many rows of each chunk have no id.
    missing: list[int] = field(default_factory=list)

    @staticmethod
    def of(texts: Any, X: Floats, persons: PersonUnit) -> Whose:
        """The persons of rows in memory with these ids."""
        whose = Whose(persons)
        starts = range(0, X.shape[0], CHUNK_ROWS)
        whose.add([(X[a : a + CHUNK_ROWS], texts[a : a + CHUNK_ROWS]) for a in starts])
        return whose

    def add(self, parts: Iterable[tuple[Floats, Any]]) -> None:
        """Add the next rows and their ids (of any plain type), chunk by chunk, several chunks at a time."""
        for rows, missing in side_by_side(self._told, parts):
            self.chunks.append(rows)
            self.missing.append(missing)

    def _told(self, part: tuple[Floats, Any]) -> tuple[RowKeys, int]:
        """The rows that have finite features and an id, and how many rows have no id."""
        X, ids = part[0], id_texts(part[1])
        kept = finite_rows(X) & ~missing_ids(ids)
        if kept.all():
            return RowKeys.of(0, row_keys(self.persons, X, ids, self.key, told_apart)), 0
        keys = row_keys(self.persons, X[kept], ids.filter(kept), self.key, told_apart)
        return RowKeys.of(0, keys, kept), ids.null_count

    @property
    def kept(self) -> Flags:
        """(n,) whether a row has finite features and an id."""
        flags = [np.ones(c.n_rows, bool) if c.usable is None else c.usable for c in self.chunks]
        return np.concatenate([np.empty(0, bool), *flags])

    def shares(self) -> Shares:
        """The share of each of these rows."""
        if not self.chunks:
            width = 2 if self.persons.max_rows is None else 3
            self.chunks.append(RowKeys.of(0, np.empty((width, 0), np.uint64)))
        block = Block.of(self.chunks, self.persons.max_rows)
        register = Register.of(block.sheet, self.persons)
        kinds = np.concatenate([kinds for _, kinds in block.kinds(register)])
        return register.shares(kinds[kinds != register.nobody])
