"""How much each row counts: whose it is, and how many rows that person has.

One pass makes a ``Register`` of all persons and remembers which share each row has, as far as there is room; rows beyond
find their person in the register again. Which rows of a person count follows from that person's own rows alone, in any order, chunking or engine:
docs/proofs/persons.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privgmm.data.ids import Words, digests, missing_ids, new_key
from privgmm.data.register import Block, Register, Rows
from privgmm.data.source import Kinds, Shares, rows_at_once, side_by_side, weighted
from privgmm.data.validate import finite_rows
from privgmm.errors import InputError
from privgmm.rowwise import WORD_STEP, mixed, row_words
from privgmm.types import Codes, Floats, Integers, Kernel, PersonUnit

# Which rows of a person are kept is a public function of their features, with this salt.
_SALT = 0x5B1F
# Shares that are remembered of rows of a table larger than memory.
_KNOWN_BYTES = 1 << 28


def row_keys(persons: PersonUnit, X: Floats, ids: Any, key: bytes) -> Words:
    """(2, n) digests of the persons of rows, none of them missing; where only some rows of a person count, (3, n):
    row words last. A person's rows are kept from the smallest word up."""
    digest = digests(ids, key)
    if persons.max_rows is None:
        return digest
    return np.vstack([digest, row_order(X)])


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


def array_shares(texts: Any, X: Floats, persons: PersonUnit) -> Shares:
    """The shares of rows in memory, none of which lacks an id; ids only tell who is the same."""
    import pyarrow as pa

    key, column = (
        new_key(),
        texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts]),
    )
    starts = np.cumsum([0, *map(len, column.chunks)])

    def keys(chunk: int) -> Rows:
        rows = X[starts[chunk] : starts[chunk + 1]]
        return Rows(chunk, row_keys(persons, rows, column.chunk(chunk), key))

    parts = [*side_by_side(keys, range(column.num_chunks))]
    if not parts:
        parts = [Rows(0, row_keys(persons, X, pa.array([], pa.large_string()), key))]
    block = Block.of(parts, persons.max_rows)
    register = Register.of(block.sheet, persons)
    return register.shares(np.concatenate([kinds for _, kinds in block.kinds(register)]))
