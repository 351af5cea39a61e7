"""Public features, in memory or larger than it: some rows by number, or all rows chunk by chunk.

For units that treat features as public (Definition 1); labels are never part of it. Chunks have the same
bounds for every source, so sums over them are the same bits whatever the files or partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privgmm.statistics.source import CHUNK_ROWS, Floats, Integers
from privgmm.statistics.streamed import StreamedSource


class Features(Protocol):
    """(n_rows, dim) public numbers that can be passed over more than once."""

    @property
    def n_rows(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def at(self, rows: Integers) -> Floats:
        """(len(rows), dim) rows with these ascending numbers."""
        ...

    def chunks(self, size: int | None = None) -> Iterator[Floats]:
        """All rows in order, ``size`` (else CHUNK_ROWS) at a time."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayFeatures:
    """Features in memory."""

    X: Floats

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])

    def at(self, rows: Integers) -> Floats:
        return self.X[rows]

    def chunks(self, size: int | None = None) -> Iterator[Floats]:
        step = size or CHUNK_ROWS
        for start in range(0, self.n_rows, step):
            yield self.X[start : start + step]


@dataclass(frozen=True, eq=False)
class StreamedFeatures:
    """Features of a source larger than memory, read anew on every pass."""

    source: StreamedSource

    @property
    def n_rows(self) -> int:
        return self.source.n_rows

    @property
    def dim(self) -> int:
        return self.source.dim

    def at(self, rows: Integers) -> Floats:
        return self.source.features_at(rows)

    def chunks(self, size: int | None = None) -> Iterator[Floats]:
        return rechunked(self.source.feature_batches(), size or CHUNK_ROWS)


def as_features(X: Floats | Features) -> Features:
    """Arrays are features in memory; anything else is features already."""
    return ArrayFeatures(X) if isinstance(X, np.ndarray) else X


def subsample(features: Features, n: int, rng: np.random.Generator) -> Floats:
    """n rows without replacement (all, if there are no more), in their order."""
    if n >= features.n_rows:
        return features.at(np.arange(features.n_rows))
    return features.at(np.sort(rng.choice(features.n_rows, n, replace=False)))


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
