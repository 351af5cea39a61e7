"""A table in parts on a Dask cluster: the workers read the rows, and only exact integer sums leave them.

Four parts of an invented sensor network stand in for a table that no single machine can hold. With the same
seed the cluster and one machine give the same bits (seeds are for such checks: they make a release that
must not be published).
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client

import privgmm

STATES = ("idle", "running", "overload")
RANGES = {"temperature": (-20, 120), "vibration": (0, 12), "power": (0, 50)}


def write_parts(folder: Path, parts: int = 4, rows: int = 20_000) -> None:
    """Invented measurements of machines in three states."""
    rng = np.random.default_rng(0)
    means = np.array([[25.0, 0.6, 2.0], [60.0, 3.0, 20.0], [85.0, 6.5, 34.0]])
    scales = np.array([[4.0, 0.2, 0.8], [8.0, 0.9, 5.0], [7.0, 1.3, 4.0]])
    for part in range(parts):
        state = rng.choice(3, size=rows, p=[0.35, 0.55, 0.10])
        X = means[state] + scales[state] * rng.standard_normal((rows, 3))
        columns = {name: X[:, j] for j, name in enumerate(RANGES)}
        columns["state"] = np.array(STATES)[state]
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet")


schema = privgmm.Schema(
    label="state",
    classes=STATES,
    columns=tuple(privgmm.Column(name, "number", lo, hi) for name, (lo, hi) in RANGES.items()),
)
with tempfile.TemporaryDirectory() as scratch:
    folder = Path(scratch) / "parts"
    folder.mkdir()
    write_parts(folder)
    # A real cluster: Client("tcp://scheduler:8786").
    with Client(n_workers=2, processes=False, dashboard_address=None) as client:
        ask = {"unit": "record", "epsilon": 0.5, "delta": 1e-7, "schema": schema}
        release = privgmm.release(folder, client=client, **ask)
        on_cluster = privgmm.release(folder, client=client, seed=1, **ask)
    on_one_machine = privgmm.release(folder, seed=1, **ask)

print(release.guarantee.promise)
same = np.array_equal(on_cluster.mixture.means, on_one_machine.mixture.means)
print(f"the same bits on the cluster and on one machine: {same}")
release.plot().savefig("cluster.png", dpi=110)
