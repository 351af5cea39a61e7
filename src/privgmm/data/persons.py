"""How much each row counts: whose it is, and how many rows that person has.

One pass makes a ``Register`` of all persons and remembers which share each row has, as far as there is room; rows beyond
find their person in the register again. Which rows of a person count follows from that person's own rows alone, in any order, chunking or engine:
docs/proofs/persons.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privgmm.data.ids import Words, digests, id_texts, missing_ids, new_key, told_apart
from privgmm.data.register import Block, Register, Rows
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

# Which rows of a person are kept is a public function of their features, with this salt.
_SALT = 0x5B1F
# Shares that are remembered of rows of a table larger than memory.
_KNOWN_BYTES = 1 << 28


def row_keys(
    persons: PersonUnit,
    X: Floats,
    ids: Any,
    key: bytes,
    tell: Callable[[Any, bytes], Words] = digests,
) -> Words:
    """(2, n) words of the persons of rows, none of them missing; where only some rows of a person count, (3, n):
    row words last. A person's rows are kept from the smallest word up."""
    who = tell(ids, key)
    return who if persons.max_rows is None else np.vstack([who, row_order(X)])


def row_order(X: Floats) -> Words:
    """(n,) words of rows."""
    # A spreadsheet knows no -0.0: adding zero makes it 0.0. Mixed once more, because a row's word ends in the
    # bits of its last column, which must not decide.
    return mixed(row_words(np.ascontiguousarray(X.T) + 0.0, _SALT) + np.uint64(WORD_STEP))


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
        weights = register.shares(kinds).weights(self.shift)
        return weighted(self.kernel, X, codes, kinds, weights)


def fuller(batches: Iterable[Any], dim: int) -> Iterator[Any]:
    """The same rows in batches of several: every batch calls the kernel once for each share that occurs."""
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
    """Whose the rows of a table in memory are, told chunk by chunk: nothing of an id is kept beyond that."""

    persons: PersonUnit
    key: bytes = field(default_factory=new_key)
    chunks: list[Rows] = field(default_factory=list)
    # Of how many rows nobody knows.
    missing: list[int] = field(default_factory=list)

    @staticmethod
    def of(texts: Any, X: Floats, persons: PersonUnit) -> Whose:
        """Of rows in memory with these ids."""
        whose = Whose(persons)
        starts = range(0, X.shape[0], CHUNK_ROWS)
        whose.add([(X[a : a + CHUNK_ROWS], texts[a : a + CHUNK_ROWS]) for a in starts])
        return whose

    def add(self, parts: Iterable[tuple[Floats, Any]]) -> None:
        """The next rows and their ids (of any plain type), chunk by chunk; some are told at a time."""
        for rows, missing in side_by_side(self._told, parts):
            self.chunks.append(rows)
            self.missing.append(missing)

    def _told(self, part: tuple[Floats, Any]) -> tuple[Rows, int]:
        """Rows with finite features, of somebody; and how many are nobody's."""
        X, ids = part[0], id_texts(part[1])
        kept = finite_rows(X) & ~missing_ids(ids)
        if kept.all():
            return Rows.of(0, row_keys(self.persons, X, ids, self.key, told_apart)), 0
        keys = row_keys(self.persons, X[kept], ids.filter(kept), self.key, told_apart)
        return Rows.of(0, keys, kept), ids.null_count

    @property
    def kept(self) -> Flags:
        """(n,) those among all rows."""
        flags = [np.ones(c.n_rows, bool) if c.usable is None else c.usable for c in self.chunks]
        return np.concatenate([np.empty(0, bool), *flags])

    def shares(self) -> Shares:
        """How much each of them counts."""
        if not self.chunks:
            width = 2 if self.persons.max_rows is None else 3
            self.chunks.append(Rows.of(0, np.empty((width, 0), np.uint64)))
        block = Block.of(self.chunks, self.persons.max_rows)
        register = Register.of(block.sheet, self.persons)
        kinds = np.concatenate([kinds for _, kinds in block.kinds(register)])
        return register.shares(kinds[kinds != register.nobody])
