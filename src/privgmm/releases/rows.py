"""Synthetic rows to a file, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.releases.release import Release

BATCH_ROWS = 1 << 18


def write_rows(
    release: Release, n: int, path: Path, kind: str, per_class: bool, seed: int | None
) -> None:
    """Write n rows (n per class if ``per_class``) as ``.csv`` or ``.parquet``."""
    import pyarrow.csv
    import pyarrow.parquet

    batches = _batches(release, n, per_class, np.random.default_rng(seed))
    first = next(batches)
    make = pyarrow.csv.CSVWriter if kind == ".csv" else pyarrow.parquet.ParquetWriter
    with make(str(path), first.schema) as writer:
        writer.write(first)
        for batch in batches:
            writer.write(batch)


def _batches(release: Release, n: int, per_class: bool, rng: np.random.Generator) -> Iterator[Any]:
    """Arrow batches of at most BATCH_ROWS rows each, feature columns first, the label last."""
    import pyarrow

    # With per_class each batch holds every class, so a batch asks for fewer rows of each.
    share = max(1, BATCH_ROWS // release.mixture.n_classes) if per_class else BATCH_ROWS
    names = [*release.feature_names, release.label_name]
    for start in range(0, n, share):
        X, y = release.mixture.sample(min(share, n - start), seed=rng, per_class=per_class)
        labels = y.tolist() if y.dtype != object else [str(name) for name in y]
        columns = [pyarrow.array(column) for column in X.T.copy()]
        yield pyarrow.record_batch([*columns, pyarrow.array(labels)], names=names)
