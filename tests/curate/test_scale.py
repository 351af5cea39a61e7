"""A release of a file, of a file on Dask workers and of arrays are the same release, bit for bit."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privgmm import datasets, release
from privgmm.data import parquetfile as pieces_module
from privgmm.data.dask_opening import connected
from privgmm.errors import InputError, PrivacyLeakWarning

UNITS = {"label": {}, "record": {"radius": 20.0}}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 700)
    X, y = datasets.synthetic(n=3000, n_classes=3, dim=2, seed=0)
    columns = {"a": X[:, 0], "b": X[:, 1], "kind": y}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=500)
    return X, y, tmp_path / "t.parquet"


def same(one, other):
    return all(
        np.array_equal(getattr(one.mixture, name), getattr(other.mixture, name))
        for name in ("weights", "means", "covariances")
    )


@pytest.mark.parametrize("unit", UNITS)
def test_a_file_gives_the_release_of_its_rows(table, unit):
    X, y, path = table
    steps = []
    asked = {"unit": unit, "classes": (0, 1, 2), "seed": 1, **UNITS[unit]}
    here = release(X, y, **asked)
    there = release(path, label="kind", progress=steps.append, **asked)
    assert same(here, there)
    assert (there.feature_names, there.label_name) == (("a", "b"), "kind")
    assert sum(steps) % 3000 == 0
    assert steps


@pytest.mark.slow
def test_dask_workers_give_the_same_release(table):
    X, y, path = table
    asked = {"unit": "record", "classes": (0, 1, 2), "seed": 1, "radius": 20.0}
    here = release(X, y, **asked)
    with connected() as client:
        assert same(here, release(path, label="kind", client=client, **asked))
        with pytest.raises(InputError, match="in memory"):
            release(path, label="kind", client=client, preprocessing=["standardise"], **asked)
        assert same(here, release(X, y, client=client, **asked))


def test_classes_read_from_a_file_are_a_reported_leak(table):
    with pytest.warns(PrivacyLeakWarning, match="class list"):
        found = release(table[2], label="kind", unit="record", radius=20.0, seed=1)
    assert any("class list" in leak for leak in found.guarantee.not_protected)


def test_a_ledger_is_not_charged_for_rows_that_cannot_be_used(table, tmp_path):
    X, y, path = table
    X[5, 0] = np.nan
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "kind": y}), path)
    ledger = tmp_path / "ledger.db"
    with pytest.raises(InputError, match=r"'a' \(1 missing\)"):
        release(path, label="kind", unit="record", radius=20.0, classes=(0, 1, 2), ledger=ledger)
    assert not ledger.exists()
