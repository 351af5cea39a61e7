"""Sampling to a file: the right rows, repeatable, in batches that do not grow with n."""

import tracemalloc

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from privgmm import Mixture
from privgmm.releases import Guarantee, Release, rows


def release(classes=("a", "b", "c"), dim=2):
    guarantee = Guarantee(
        status="proven", unit="label", adjacency="label", epsilon=1.0, delta=1e-5, mu=0.2,
        publishable=False,
    )  # fmt: skip
    k = len(classes)
    means = np.arange(k)[:, None] * np.full(dim, 10.0)
    covariances = np.stack([np.eye(dim) * (1 + j) + 0.3 for j in range(k)])
    weights = np.arange(1, k + 1) / (k * (k + 1) / 2)
    return Release(Mixture(weights, means, covariances, classes), guarantee, (), "kind")


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(rows, "_BATCH_ROWS", 1000)


def written(path, *args, **kwargs):
    kind = path.suffix
    rows.write_rows(args[0], args[1], path, kind, *args[2:], **kwargs)
    read = pyarrow.csv.read_csv if kind == ".csv" else pyarrow.parquet.read_table
    return read(path)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("n", [1, 999, 1000, 1001, 5432])
def test_every_row_is_written_once(tmp_path, name, n):
    steps = []
    table = written(tmp_path / name, release(), n, False, 0, progress=steps.append)
    assert table.num_rows == n == sum(steps)
    assert max(steps) <= 1000
    assert table.column_names == ["x0", "x1", "kind"]
    assert set(table["kind"].to_pylist()) <= {"a", "b", "c"}


@pytest.mark.usefixtures("small_batches")
def test_rows_have_the_mixture_s_moments_in_every_class(tmp_path):
    truth = release()
    table = written(tmp_path / "out.parquet", truth, 60_000, False, 3)
    X = np.stack([table["x0"], table["x1"]], axis=1)
    y = np.array(table["kind"].to_pylist())
    for k, name in enumerate("abc"):
        mine = X[y == name]
        # Six standard errors: sd <= 2.1 over at least 10 000 rows.
        assert abs(len(mine) / 60_000 - truth.mixture.weights[k]) < 6 * 0.5 / np.sqrt(60_000)
        np.testing.assert_allclose(mine.mean(axis=0), truth.mixture.means[k], atol=0.13)
        np.testing.assert_allclose(np.cov(mine.T), truth.mixture.covariances[k], atol=0.3)


@pytest.mark.usefixtures("small_batches")
def test_a_seed_repeats_the_file_and_batches_differ(tmp_path):
    first, again, other = (
        written(tmp_path / "out.parquet", release(), 3000, False, seed) for seed in (5, 5, 6)
    )
    assert first.equals(again)
    assert not first.equals(other)
    assert np.unique(first["x0"].to_numpy()).size == 3000


@pytest.mark.usefixtures("small_batches")
def test_classes_can_be_balanced_over_batches(tmp_path):
    table = written(tmp_path / "out.parquet", release(), 700, True, 0)
    counts = table["kind"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in counts} == dict.fromkeys("abc", 700)


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        ((3, 5), {3, 5}),
        ((False, True), {False, True}),
        (("a", 1), {"a", "1"}),
        ((0.5, 2.0), {0.5, 2.0}),
    ],
)
def test_class_names_keep_their_type(tmp_path, classes, found):
    table = written(tmp_path / "out.parquet", release(classes), 200, False, 0)
    assert set(table["kind"].to_pylist()) == found


def test_memory_does_not_grow_with_n(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "_BATCH_BYTES", 1 << 16)
    peaks = []
    for n in (20_000, 200_000):
        tracemalloc.start()
        rows.write_rows(release(), n, tmp_path / "out.parquet", ".parquet", False, 0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # NumPy reports its arrays to tracemalloc; 200,000 rows of 2 features would be 3.2 MB.
    assert peaks[1] < max(1.5 * peaks[0], 1.5e6)
