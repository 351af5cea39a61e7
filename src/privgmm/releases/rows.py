"""Synthetic rows to a file in constant memory: batches are drawn side by side and written in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.checks import checked_seed
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import balanced_codes, draw_codes, draw_rows
from privgmm.releases.release import Release
from privgmm.transform import invert_all

# One batch is one row group; its size in bytes bounds the memory whatever the number of columns.
_BATCH_ROWS = 1 << 18
_BATCH_BYTES = 1 << 25


def write_rows(
    release: Release,
    n: int,
    path: Path,
    kind: str,
    per_class: bool,
    seed: int | None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write n rows (n per class if ``per_class``) as ``.csv`` or ``.parquet``.

    ``progress`` is told how many rows each batch added. A seed gives the same rows on any machine
    of the same NumPy: every batch has its own stream, whichever thread draws it.
    """
    import pyarrow as pa

    names = [*release.feature_names, release.label_name]
    classes = pa.array(_plain(release.mixture))
    types = [pa.float64()] * len(release.feature_names) + [classes.type]
    with _writer(path, kind, pa.schema(zip(names, types, strict=True))) as writer:
        for drawn, codes in _batches(release.mixture, n, per_class, seed):
            columns = (
                invert_all(release.preprocessing, drawn.T).T if release.preprocessing else drawn
            )
            arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
            writer.write(pa.record_batch([*arrays, classes.take(pa.array(codes))], names=names))
            if progress is not None:
                progress(codes.size)


def _plain(mixture: Mixture) -> list[Any]:
    """Class names of one type; a column cannot hold both text and numbers, so those become text."""
    one_type = mixture.class_array.dtype != object
    return list(mixture.classes) if one_type else [str(name) for name in mixture.classes]


def _writer(path: Path, kind: str, schema: Any) -> Any:
    from pyarrow import csv, parquet

    if kind == ".csv":
        return csv.CSVWriter(str(path), schema)
    # Random digits neither compress nor repeat: trying costs time and saves nothing.
    label = schema.names[-1]
    packing = {name: "snappy" if name == label else "none" for name in schema.names}
    return parquet.ParquetWriter(str(path), schema, compression=packing, use_dictionary=[label])


def _batches(
    mixture: Mixture, n: int, per_class: bool, seed: int | None
) -> Iterator[tuple[Any, Any]]:
    """((d, rows) columns, (rows,) codes) of each batch, in order; a few are drawn ahead."""
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES // (8 * mixture.dim)))
    # With per_class each batch holds every class, so a batch asks for fewer rows of each.
    share = max(1, rows // mixture.n_classes) if per_class else rows
    root = np.random.SeedSequence(checked_seed(seed))
    sizes = (min(share, n - start) for start in range(0, n, share))
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    ahead: deque[Future[tuple[Any, Any]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for size in sizes:
            ahead.append(pool.submit(_draw, mixture, size, per_class, root.spawn(1)[0]))
            if len(ahead) > workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _draw(
    mixture: Mixture, size: int, per_class: bool, stream: np.random.SeedSequence
) -> tuple[Any, Any]:
    rng = np.random.default_rng(stream)
    if per_class:
        codes = balanced_codes(mixture.n_classes, size, rng)
    else:
        codes = draw_codes(mixture.weights, size, rng)
    X = draw_rows(mixture.means, mixture.cholesky, codes, rng)
    return np.ascontiguousarray(X.T), codes
