"""One pass of exact statistics over Parquet, against pyarrow and NumPy doing per-class X.T @ X."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from bench.measure import Row, peak_mebibytes, row, seconds, together
from privgmm.data.opening import open_rows
from privgmm.data.region import Region
from privgmm.data.source import MappedSource
from privgmm.queries.class_moments import ClassMoments

_DIM, _CLASSES = 10, 10
_FEATURES = [f"x{j}" for j in range(_DIM)]
_PASS = "import sys\nfrom bench.streaming import our_pass\nour_pass(sys.argv[1])"


def rows(full: bool = False) -> list[Row]:
    n = 10**7 if full else 10**6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_table(path, n)
        out = [_parquet(path, n)]
        if full:
            out.append(_dask(path, n))
        return out


def write_table(path: Path, n: int) -> None:
    """float32 features and integer labels, written in parts so that memory stays small."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, part, writer = np.random.default_rng(0), 1 << 19, None
    for start in range(0, n, part):
        size = min(part, n - start)
        X = rng.standard_normal((_DIM, size), dtype=np.float32)
        columns = dict(zip(_FEATURES, X, strict=True))
        table = pa.table({**columns, "label": rng.integers(0, _CLASSES, size)})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def kernel() -> ClassMoments:
    return ClassMoments(np.zeros((_CLASSES, _DIM)), np.tile(np.eye(_DIM), (_CLASSES, 1, 1)))


def our_pass(path: str | Path, client: object = None) -> object:
    """Clip into a ball, quantise, and add up counts, sums and second moments of every class."""
    opened = open_rows(
        path, columns=_FEATURES, label="label", classes=range(_CLASSES), client=client
    )
    ball = Region(np.zeros(_DIM), np.full(_DIM, 6.0))
    return MappedSource(opened.source, ball.to_unit).total(kernel())


def peer_pass(path: Path) -> object:
    """What one writes by hand: read the columns whole, then X_k.T @ X_k for every class."""
    from pyarrow import parquet

    table = parquet.read_table(path, columns=[*_FEATURES, "label"])
    X = np.stack([table[name].to_numpy() for name in _FEATURES], axis=1)
    labels = table["label"].to_numpy()
    return [(mine := X[labels == k]).T @ mine for k in range(_CLASSES)]


def _parquet(path: Path, n: int) -> Row:
    ours, peer = together(lambda: our_pass(path), lambda: peer_pass(path), times=3)
    memory = peak_mebibytes(_PASS, str(path))
    note = f"peak memory {memory:.0f} MiB for a file of {path.stat().st_size / 2**20:.0f} MiB"
    name = f"statistics pass, Parquet float32 N={n} d={_DIM} K={_CLASSES}"
    return row(name, ours, "pyarrow + X_k.T @ X_k", peer, goal=0.5, note=note)


def _dask(path: Path, n: int) -> Row:
    from privgmm.data.dask_opening import connected

    local = our_pass(path)
    with connected() as client:
        same = np.array_equal(our_pass(path, client), local)  # also warms the workers up
        ours = seconds(lambda: our_pass(path, client))
    note = "same bits as one process" if same else "DIFFERENT BITS"
    peer = seconds(lambda: our_pass(path))
    return row(f"statistics pass on Dask workers N={n}", ours, "one process", peer, note=note)
