"""Synthetic rows: against the normal generator and one matrix product, and to a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from bench.measure import Row, peak_mebibytes, row, seconds, together
from privgmm import Mixture

_TO_FILE = """
import sys, time, numpy as np
from pathlib import Path
from bench.sampling import mixture
from privgmm.releases import Guarantee, Release
from privgmm.releases.rows import write_rows
release = Release(mixture(10, 10), Guarantee(
    status="proven", unit="label", adjacency="label", epsilon=1.0, delta=1e-5, mu=0.2,
    publishable=False))
write_rows(release, int(sys.argv[1]), Path(sys.argv[2]), ".parquet", False, 0)
"""


def rows(full: bool = False) -> list[Row]:
    n = 10**6
    out = [_in_memory(n, 10, 10), _in_memory(n, 3, 5), _in_memory(n // 4, 50, 20)]
    out.append(_to_file(10**8 if full else 10**7))
    return out


def mixture(n_classes: int, dim: int) -> Mixture:
    rng = np.random.default_rng(0)
    shapes = rng.standard_normal((n_classes, dim, dim)) / np.sqrt(dim)
    covariances = np.eye(dim) + shapes @ shapes.transpose(0, 2, 1)
    weights = rng.dirichlet(np.full(n_classes, 5.0))
    return Mixture(weights, rng.standard_normal((n_classes, dim)), covariances)


def _in_memory(n: int, d: int, k: int) -> Row:
    model, factor, rng = mixture(k, d), np.eye(d) + 0.1, np.random.default_rng(0)
    ours, peer = together(
        lambda: model.sample(n, rng), lambda: rng.standard_normal((n, d)) @ factor, times=5
    )
    return row(f"sample N={n} d={d} K={k}", ours, "standard_normal + product", peer, goal=0.5)


def _to_file(n: int) -> Row:
    """Time and peak memory of a fresh process; the peer draws the same numbers and drops them."""
    rng, part = np.random.default_rng(0), 10**6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        memory: list[float] = []
        ours = seconds(lambda: memory.append(peak_mebibytes(_TO_FILE, str(n), str(path))))
        size = path.stat().st_size / 2**30
    peer = seconds(lambda: rng.standard_normal((part, 10)) @ np.eye(10)) * n / part
    note = f"{size:.2f} GiB written, peak memory {memory[0]:.0f} MiB"
    return row(f"sample to Parquet N={n} d=10", ours, "standard_normal + product", peer, note=note)
