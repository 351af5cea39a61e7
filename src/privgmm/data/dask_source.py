"""Rows on a Dask cluster: workers add up their parts, and only integer totals travel to the client."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.data import passes
from privgmm.data.ids import id_array
from privgmm.data.parquetfile import batch_rows
from privgmm.data.passes import Piece, Progress, Tally
from privgmm.data.persons import ByPerson, People
from privgmm.data.register import Block, Register, Sheet, together
from privgmm.data.streamed import Counted, StreamedSource
from privgmm.data.table import Layout
from privgmm.errors import InputError
from privgmm.model.labels import label_text
from privgmm.types import Floats, Integers, Kernel, PersonUnit

# How often a part is tried again, on other workers, after its worker died.
_ATTEMPTS = 5
_PARTS_AT_ONCE = 4
_PAUSE_SECONDS = 0.5
_DIED = f"Dask workers died {_ATTEMPTS} times over the same rows; give them more memory."


@dataclass(frozen=True, eq=False)
class DaskSource(StreamedSource):
    """Parts that the workers of ``client`` read or hold.

    A part is a ``Piece`` (files that the workers see, or rows that the client holds and sends
    once) or a Dask ``Delayed`` of a data frame or of arrays. Each part's tally is counted once, by
    the client, and integers add up exactly: neither the partitioning nor a worker that dies half-way changes a bit.
    """

    client: Any
    parts: tuple[Any, ...]
    progress: Progress = passes.no_progress
    # Copies of rows that were sent to workers, by part. If a worker dies its copy is lost, and the rows here are sent again.
    _sent: dict[int, Any] = field(default_factory=dict)

    def run(self, layout: Layout, kernel: Kernel | None) -> tuple[Tally, tuple[int, ...]]:
        """One pass on the workers: what was counted, and the totals of the kernel."""
        lengths = [0] * len(self.parts)

        def noted() -> Iterator[Tally]:
            asked: tuple[Any, ...] = (layout, kernel)
            if isinstance(kernel, ByPerson):
                asked = (layout, kernel.kernel, kernel.shift, self._on_workers(kernel.people))
            jobs = dict.fromkeys(range(len(self.parts)), asked)
            for index, part in self._results(_tally, jobs):
                lengths[index] = part.n_rows
                self.progress(part.n_rows)
                yield part

        return passes.add_tallies(noted(), layout, kernel), tuple(lengths)

    def count(self, persons: PersonUnit, key: bytes) -> Counted:
        """Rows counted by person on the workers, part by part."""
        jobs = dict.fromkeys(range(len(self.parts)), (self.layout, persons, key))
        tallies: dict[int, Tally] = {}

        def sheets() -> Iterator[Sheet]:
            for index, (found, sheet) in self._results(_sheet, jobs):
                tallies[index] = found
                self.progress(found.n_rows)
                yield sheet

        register = Register.of(together(sheets(), persons.max_rows), persons)
        in_order = [tallies[index] for index in range(len(self.parts))]
        lengths = tuple(found.n_rows for found in in_order)
        return Counted(
            register, {}, passes.add_tallies(in_order, self.layout, passes.Nothing()), lengths
        )

    def _on_workers(self, people: People) -> Any:
        """All persons of the table, sent to the workers once."""
        known = self._sent.get(id(people))
        if known is None or known.status != "finished":
            known = self._sent[id(people)] = self._scattered(people, broadcast=True)
        return known

    def fetch(self, wanted: dict[int, Integers], people: People | None = None) -> list[Floats]:
        """Features of the rows with these numbers, by partition."""
        more = () if people is None else (self._on_workers(people),)
        jobs = {index: (self.layout, rows, *more) for index, rows in wanted.items()}
        found = dict(self._results(_features, jobs))
        return [found[index] for index in wanted]

    def feature_batches(self, people: People | None = None) -> Iterator[Floats]:
        """Features of all rows, a partition at a time."""
        # Public rows come to the client in order, a few parts at a time.
        for start in range(0, len(self.parts), _PARTS_AT_ONCE):
            window = range(start, min(start + _PARTS_AT_ONCE, len(self.parts)))
            yield from self.fetch({i: np.arange(self.lengths[i]) for i in window}, people)

    def _results(
        self, function: Any, jobs: dict[int, tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """The number of each job and function(part, *arguments), in the order in which they complete."""
        from distributed import as_completed

        waiting = dict(jobs)
        reason = _DIED
        for _ in range(_ATTEMPTS):
            futures = dict(zip(self._submit(function, waiting), list(waiting), strict=True))
            for future in as_completed(futures):
                result = _result_of(future)
                future.release()
                if isinstance(result, Failure):
                    if not result.may_pass:
                        raise InputError(result.sentence)
                    reason = result.sentence
                elif result is not None:
                    del waiting[futures[future]]
                    yield futures[future], result
            if not waiting:
                return
        raise InputError(reason)

    def _submit(self, function: Any, jobs: dict[int, tuple[Any, ...]]) -> list[Any]:
        from dask.delayed import Delayed, delayed

        if all(isinstance(self.parts[index], Delayed) for index in jobs):
            task = delayed(function, pure=False, traverse=False)
            # traverse=False, because Dask would take apart the dataclasses of layout and kernel.
            tasks = [
                task(self.parts[i], *(delayed(a, pure=False, traverse=False) for a in arguments))
                for i, arguments in jobs.items()
            ]
            # All tasks are computed in one call, so that what partitions share is computed once.
            return list(self.client.compute(tasks, retries=_ATTEMPTS))
        return [
            self.client.submit(
                function, self._placed(index), *arguments, pure=False, retries=_ATTEMPTS
            )
            for index, arguments in jobs.items()
        ]

    def _placed(self, index: int) -> Any:
        """The part itself or, for rows in the client's memory, their copy on a worker."""
        part = self.parts[index]
        if not isinstance(part, ArrayPiece):
            return part
        if index not in self._sent or self._sent[index].status != "finished":
            self._sent[index] = self._scattered(part)
        return self._sent[index]

    def _scattered(self, part: Any, broadcast: bool = False) -> Any:
        """Send rows to a worker, and again to another one if it dies while it receives them."""
        for _ in range(_ATTEMPTS):
            try:
                return self.client.scatter(part, hash=False, broadcast=broadcast)
            except OSError:
                time.sleep(_PAUSE_SECONDS)
        raise InputError(_DIED)


@dataclass(frozen=True)
class Failure:
    """Why a worker gave no result; ``may_pass`` if another attempt may succeed."""

    sentence: str
    may_pass: bool = False


def _returning_failures(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function for a worker: instead of raising an exception it returns a ``Failure`` with one sentence.

    Dask writes an exception that leaves a task into the worker's log with its text, which may hold
    a record's values.
    """

    @functools.wraps(function)
    def returning(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except InputError as problem:
            return Failure(str(problem))
        except Exception as problem:
            return _named(problem)

    return returning


def _named(problem: BaseException) -> Failure:
    """A failure that names the type of an unforeseen exception, without its text; one of a disk or a network may pass."""
    return Failure(
        f"A Dask worker failed with {type(problem).__name__}; check that it runs this version "
        "of privgmm and can read the data.",
        isinstance(problem, OSError),
    )


def _result_of(future: Any) -> Any:
    """The result; None if its worker died, even after it had finished, so that the job must be tried again."""
    import asyncio
    import concurrent.futures

    from distributed import KilledWorker

    if future.status not in ("finished", "error"):
        return None
    try:
        return future.result()
    except (asyncio.CancelledError, concurrent.futures.CancelledError, KilledWorker):
        return None
    except InputError:
        raise
    except Exception as problem:
        # Not raised by our own function, which returns failures: by the user's graph, or on the way to the worker.
        raise InputError(_named(problem).sentence) from None


@_returning_failures
def _tally(
    part: Any,
    layout: Layout,
    kernel: Kernel | None,
    shift: int = 0,
    people: People | None = None,
) -> Tally:
    if kernel is not None and people is not None:
        kernel = ByPerson(kernel, people, shift)
    return passes.tally(_piece(part).batches(layout), layout, kernel)


@_returning_failures
def _sheet(part: Any, layout: Layout, persons: PersonUnit, key: bytes) -> tuple[Tally, Sheet]:
    found, rows = passes.rows_of(0, _piece(part), layout, persons, key)
    return found, Block.of([rows], persons.max_rows).sheet


@_returning_failures
def _features(part: Any, layout: Layout, rows: Integers, people: People | None = None) -> Floats:
    return passes.features_of(_piece(part), layout, rows, people)


def _piece(part: Any) -> Piece:
    """What a worker holds (a data frame, or arrays [X] or [X, y]) as a piece."""
    if hasattr(part, "batches"):
        piece: Piece = part
        return piece
    if isinstance(part, list):
        return ArrayPiece(part[0], part[1] if len(part) > 1 else None)
    return FramePiece(part)


@dataclass(frozen=True, eq=False)
class FramePiece:
    """A pandas frame in memory (one partition of a Dask frame)."""

    frame: Any

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Record batches of the layout's columns."""
        import pyarrow as pa

        frame = self.frame[layout.columns]
        for name in (*layout.categories, *layout.columns[len(layout.features) :]):
            if frame[name].dtype == object:
                frame = frame.assign(**{name: _as_texts(frame[name])})
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.lib.ArrowException, TypeError, ValueError):
            raise InputError(
                "A column mixes types; make features numbers and labels text or numbers."
            ) from None
        yield from table.to_batches(max_chunksize=batch_rows(layout))


@dataclass(frozen=True, eq=False)
class ArrayPiece:
    """Arrays in memory: X (n, d), y (n,) or None, and ids (n,) or None; features are named in the layout's order."""

    X: NDArray[Any]
    y: NDArray[Any] | None
    ids: Any = None

    def batches(self, layout: Layout) -> Iterator[Any]:
        """Record batches of the layout's columns."""
        import pyarrow as pa

        size = batch_rows(layout)
        for start in range(0, self.X.shape[0], size):
            columns = [pa.array(column[start : start + size]) for column in self.X.T]
            if layout.label is not None and self.y is not None:
                y = self.y[start : start + size]
                if y.dtype == object:
                    columns.append(pa.array(_as_texts(y), pa.string()))
                else:
                    columns.append(pa.array(y, from_pandas=True))
            if layout.person is not None:
                columns.append(id_array(self.ids[start : start + size]))
            yield pa.record_batch(columns, names=layout.columns)


def _as_texts(labels: Any) -> NDArray[Any]:
    """Labels of mixed types as texts, each by itself; Arrow would choose one type for the whole part."""
    texts = np.empty(len(labels), dtype=object)
    texts[:] = [label_text(value) for value in labels]
    return texts
