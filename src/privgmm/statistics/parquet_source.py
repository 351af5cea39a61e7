"""Tables on disk as a source: one column-pruned streaming pass per total, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from privgmm.statistics.layout import Layout
from privgmm.statistics.pieces import Piece, features_of
from privgmm.statistics.source import Floats, Integers, Kernel
from privgmm.statistics.streamed import StreamedSource
from privgmm.statistics.tally import Progress, Tally, add_tallies, no_progress, tally


@dataclass(frozen=True, eq=False)
class ParquetSource(StreamedSource):
    """Rows of Parquet or CSV files; open it with ``open_source``.

    Threads read and add up pieces side by side. Totals are exact integers, so neither the number
    of threads nor the order of pieces changes a bit. ``progress`` is told, from any thread, how
    many rows were just passed.
    """

    pieces: tuple[Piece, ...]
    progress: Progress = no_progress
    threads: int | None = None

    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        lengths: list[int] = []

        def noted(parts: Iterable[Tally]) -> Iterator[Tally]:
            for part in parts:
                lengths.append(part.n_rows)
                yield part

        cores = _cores() if self.threads is None else self.threads
        pool = ThreadPoolExecutor(max(1, min(cores, len(self.pieces))))
        try:
            jobs = [pool.submit(self._tally, piece, layout, kernel) for piece in self.pieces]
            total = add_tallies(noted(job.result() for job in jobs), layout, kernel)
        finally:
            # After a failure in one piece the others are of no use.
            pool.shutdown(wait=True, cancel_futures=True)
        return total, tuple(lengths)

    def fetch(self, wanted: dict[int, Integers]) -> list[Floats]:
        return [features_of(self.pieces[i], self.layout, rows) for i, rows in wanted.items()]

    def feature_batches(self) -> Iterator[Floats]:
        features = Layout(self.layout.features, None)
        for piece in self.pieces:
            yield from map(features.matrix, piece.batches(features))

    def _tally(self, piece: Piece, layout: Layout, kernel: Kernel | None) -> Tally:
        return tally(piece.batches(layout), layout, kernel, self.progress)


def _cores() -> int:
    # A container may own fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
