"""``python -m bench.persons``: releases that protect persons with several rows, beside group privacy.

Group privacy is the same release of single rows at mu divided by the rows of the largest person. J = KL(released ||
fitted) + KL(fitted || released) against the fit in which each person counts once, median over runs. ``--stream`` measures a
release of 10^7 shuffled rows of 10^6 persons in Parquet instead: time beside the same release without persons, and memory.
Homes come from the folder PRIVGMM_DATA and are left out, with a printed line, where it is not set.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np

from bench.goals import folder
from bench.measure import peak_mebibytes, together
from privgmm import fit, kl_divergence, release
from privgmm.privacy.accounting import epsilon_from_mu, mu_from_epsilon

DELTA = 1e-5
# Features, labels, ids, and the stated bounds.
Table = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[float, float]]
_RELEASE = (
    "import sys\nfrom bench.persons import stream\nstream(sys.argv[1], sys.argv[2] == 'persons')"
)


def homes(run: int, all_days: bool) -> Table:
    """Logarithms of six four-hour sums (kWh + 0.05) of 537 homes over 49 days, or of 1 to 49 of them."""
    found = folder()
    assert found is not None
    stored = np.load(found / "load_profiles.npz")
    kwh = stored["ch_kwh"].astype(float).reshape(537, 49, 6, 4).sum(axis=-1)
    X, ids = np.log(kwh + 0.05).reshape(-1, 6), np.repeat(stored["ch_ids"], 49)
    y = np.tile(np.where(stored["ch_dow"] >= 5, "weekend", "weekday"), 537)
    if not all_days:
        rng = np.random.default_rng(run)
        days = rng.integers(1, 50, 537)
        kept = (rng.random((537, 49)).argsort(axis=1) < days[:, None]).ravel()
        X, y, ids = X[kept], y[kept], ids[kept]
    # Four hours at 0 to 25 kW.
    return X, y, ids, (float(np.log(0.05)), float(np.log(100.05)))


def zipf(run: int) -> Table:
    """10,000 persons with 1 to 1,000 rows (Zipf, exponent 1.5) around places of their own, in three classes."""
    rng, sizes = np.random.default_rng(run), np.arange(1, 1001)
    weights = sizes**-1.5
    rows = rng.choice(sizes, 10_000, p=weights / weights.sum())
    ids = np.repeat(np.arange(10_000), rows)
    y = rng.choice(3, ids.size, p=[0.5, 0.3, 0.2])
    place = rng.normal(size=(10_000, 4))
    means = np.random.default_rng(99).uniform(-4, 4, (3, 4))
    return means[y] + place[ids] + rng.normal(size=(ids.size, 4)), y, ids, (-12.0, 12.0)


def divergences(table: Table, epsilon: float, seed: int) -> tuple[float, float]:
    """J of the release by person, and of group privacy."""
    X, y, ids, bounds = table
    classes = sorted(set(y.tolist()))
    target = fit(X, y, classes, person=ids)
    most = int(np.unique(ids, return_counts=True)[1].max())
    small = epsilon_from_mu(mu_from_epsilon(epsilon, DELTA) / most, DELTA)
    shared = {"unit": "record", "bounds": bounds, "classes": classes, "seed": seed, "delta": DELTA}
    ours = release(X, y, epsilon=epsilon, person=ids, **shared).mixture
    group = release(X, y, epsilon=small, **shared).mixture
    return tuple(kl_divergence(m, target) + kl_divergence(target, m) for m in (ours, group))


def stream(path: str, persons: bool) -> None:
    """One release of the large table."""
    person = {"person": "id"} if persons else {"columns": _columns(path)}
    release(path, label="y", classes=[0, 1, 2], epsilon=1.0, delta=1e-9, unit="record",
            bounds=(-8, 8), **person)  # fmt: skip


def _columns(path: str) -> list[str]:
    from pyarrow import parquet

    return [name for name in parquet.read_schema(path).names if name.startswith("x")]


def write_large(path: Path, rows: int, persons: int, dim: int, numbers: bool = False) -> None:
    """Rows of each person anywhere in the file; parts are written one after another. Ids are texts or ``numbers``."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, part, writer = np.random.default_rng(0), 1 << 19, None
    ids = rng.integers(0, persons, rows)
    for start in range(0, rows, part):
        mine = ids[start : start + part]
        y = rng.integers(0, 3, mine.size)
        X = rng.normal(size=(dim, mine.size)) + y
        names = pa.array(mine if numbers else np.char.add("home-", mine.astype(str)))
        table = pa.table({"id": names, "y": y, **{f"x{j}": X[j] for j in range(dim)}})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _stream(rows: int, persons: int, dim: int, numbers: bool, times: int) -> None:
    with tempfile.TemporaryDirectory() as there:
        path = Path(there) / "rows.parquet"
        write_large(path, rows, persons, dim, numbers)
        # In turns, and once before: whatever is imported or read on first use is no part of either.
        both = [lambda p=p: stream(str(path), p) for p in (True, False)]
        together(*both, 1)
        ours, plain = together(*both, times)
        memory = peak_mebibytes(_RELEASE, str(path), "persons")
    print(f"{rows} rows of {persons} persons, {dim} columns: {ours:.1f} s, without persons {plain:.1f} s, "
          f"ratio {ours / plain:.2f}, peak memory {memory:.0f} MiB")  # fmt: skip


def main() -> None:
    """Print one line per table and epsilon, or of the large table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[2.0, 8.0])
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--rows", type=int, default=10**7)
    # With 3 columns 10^7 rows are kept in memory; with 4 or more they are read in passes.
    parser.add_argument("--dim", type=int, default=3)
    parser.add_argument("--numbers", action="store_true", help="ids are numbers, not texts")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    if given.stream:
        _stream(given.rows, given.rows // 10, given.dim, given.numbers, given.times)
        return
    warnings.simplefilter("ignore")
    tables = {"Zipf": zipf}
    if folder() is None:
        print("PRIVGMM_DATA is not set: no homes.")
    else:
        tables |= {
            "homes, 49 days": lambda run: homes(run, True),
            "homes, 1 to 49 days": lambda run: homes(run, False),
        }
    print(f"{'table':22}{'epsilon':>8}{'J by person':>13}{'J group':>10}{'ratio':>8}")
    for name, table in tables.items():
        for epsilon in given.epsilon:
            found = [divergences(table(run), epsilon, run) for run in range(given.runs)]
            ours, group = np.median(np.array(found), axis=0)
            print(f"{name:22}{epsilon:8g}{ours:13.4g}{group:10.4g}{ours / group:8.2g}", flush=True)


if __name__ == "__main__":
    main()
