"""Public features, in memory or larger than it: some rows by number, or all rows chunk by chunk.

For units that treat features as public (Definition 1); labels are never part of it. Chunks have the same
bounds for every source, so sums over them are the same bits whatever the files or partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from privgmm.data.source import CHUNK_ROWS, Shares
from privgmm.data.streamed import PersonSource, StreamedSource
from privgmm.model.columns import Encoding
from privgmm.types import Floats, Integers

# Rows (n, d) and their shares (n,); the shares of one person's rows add up to one.
Shared = tuple[Floats, Floats]


class Features(Protocol):
    """(n_rows, dim) public numbers that can be passed over more than once."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def dim(self) -> int:
        """The number of features."""
        ...

    @property
    def n_units(self) -> float:
        """How many persons the rows count for; the number of rows where each row is its own person."""
        ...

    def at(self, rows: Integers) -> Floats:
        """(len(rows), dim) rows with these ascending numbers."""
        ...

    def shared_at(self, rows: Integers) -> Shared:
        """The rows with these ascending numbers, and their shares."""
        ...

    def shared_chunks(self, size: int | None = None) -> Iterable[Shared]:
        """All rows in order, and their shares."""
        ...

    def chunks(self, size: int | None = None) -> Iterable[Floats]:
        """All rows in order, ``size`` (else CHUNK_ROWS) at a time."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayFeatures:
    """Features in memory; without ``shares`` every row counts for itself."""

    X: Floats
    shares: Shares | None = None

    @cached_property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def dim(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @cached_property
    def fractions(self) -> Floats:
        """(n,) the share of each row."""
        return np.ones(self.n_rows) if self.shares is None else self.shares.fractions

    @cached_property
    def n_units(self) -> float:
        """How many persons the rows count for."""
        return float(self.n_rows) if self.shares is None else float(self.fractions.sum())

    def at(self, rows: Integers) -> Floats:
        """(len(rows), dim) rows with these ascending numbers."""
        return self.X[rows]

    def shared_at(self, rows: Integers) -> Shared:
        """The rows with these ascending numbers, and their shares."""
        return self.X[rows], self.fractions[rows]

    def shared_chunks(self, size: int | None = None) -> Iterable[Shared]:
        """All rows in order, and their shares; no row is copied."""
        step = size or CHUNK_ROWS
        starts = range(0, self.n_rows, step)
        return [(self.X[a : a + step], self.fractions[a : a + step]) for a in starts]

    def chunks(self, size: int | None = None) -> Iterable[Floats]:
        """All rows in order, ``size`` (else CHUNK_ROWS) at a time; no row is copied."""
        step = size or CHUNK_ROWS
        return [self.X[start : start + step] for start in range(0, self.n_rows, step)]


@dataclass(frozen=True, eq=False)
class StreamedFeatures:
    """Features of a source larger than memory, read anew on every pass."""

    source: StreamedSource | PersonSource

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.source.n_rows

    @property
    def dim(self) -> int:
        """The number of features."""
        return self.source.dim

    @cached_property
    def n_units(self) -> float:
        """How many persons the rows count for; where rows have shares this takes a pass."""
        if isinstance(self.source, StreamedSource):
            return float(self.n_rows)
        return sum(float(shares.sum()) for _, shares in self.shared_chunks())

    def at(self, rows: Integers) -> Floats:
        """(len(rows), dim) rows with these ascending numbers, in one pass."""
        return self.shared_at(rows)[0]

    def shared_at(self, rows: Integers) -> Shared:
        """The rows with these ascending numbers, and their shares."""
        return self._apart(self.source.features_at(rows))

    def chunks(self, size: int | None = None) -> Iterator[Floats]:
        """All rows in order, ``size`` (else CHUNK_ROWS) at a time, in one pass."""
        return (rows for rows, _ in self.shared_chunks(size))

    def shared_chunks(self, size: int | None = None) -> Iterator[Shared]:
        """All rows in order, and their shares, in one pass."""
        return map(self._apart, rechunked(self.source.feature_batches(), size or CHUNK_ROWS))

    def _apart(self, rows: Floats) -> Shared:
        if isinstance(self.source, StreamedSource):
            return rows, np.ones(rows.shape[0])
        return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])


@dataclass(frozen=True, eq=False)
class EncodedFeatures:
    """Features with categories or missing cells, encoded as numbers; the encoding maps each row by itself."""

    cells: Features
    encoding: Encoding

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.cells.n_rows

    @property
    def dim(self) -> int:
        """The number of encoded columns."""
        return self.encoding.dim

    @property
    def n_units(self) -> float:
        """How many persons the rows count for."""
        return self.cells.n_units

    def at(self, rows: Integers) -> Floats:
        """(len(rows), dim) rows with these ascending numbers."""
        return self.encoding(self.cells.at(rows))

    def shared_at(self, rows: Integers) -> Shared:
        """The rows with these ascending numbers, and their shares."""
        cells, shares = self.cells.shared_at(rows)
        return self.encoding(cells), shares

    def shared_chunks(self, size: int | None = None) -> Iterator[Shared]:
        """All rows in order, and their shares."""
        return ((self.encoding(X), shares) for X, shares in self.cells.shared_chunks(size))

    def chunks(self, size: int | None = None) -> Iterator[Floats]:
        """All rows in order, ``size`` (else CHUNK_ROWS) at a time."""
        return (self.encoding(X) for X in self.cells.chunks(size))


def as_features(X: Floats | Features) -> Features:
    """Features of an array; features are returned as they are."""
    return ArrayFeatures(X) if isinstance(X, np.ndarray) else X


def some_rows(n_rows: int, n: int, rng: np.random.Generator) -> Integers:
    """Ascending numbers of n rows drawn without replacement (of all rows, if there are fewer)."""
    return np.arange(n_rows) if n >= n_rows else np.sort(rng.choice(n_rows, n, replace=False))


def rechunked(batches: Iterable[Floats], size: int) -> Iterator[Floats]:
    """The same rows with ``size`` in every chunk but the last."""
    waiting: list[Floats] = []
    held = 0
    for batch in batches:
        start = 0
        while held + batch.shape[0] - start >= size:
            stop = start + size - held
            waiting.append(batch[start:stop])
            yield np.concatenate(waiting)
            waiting, held, start = [], 0, stop
        if start < batch.shape[0]:
            waiting.append(batch[start:])
            held += batch.shape[0] - start
    if waiting:
        yield np.concatenate(waiting)
