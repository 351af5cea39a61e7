"""The same rows from arrays, CSV, Parquet or a folder of parts give the same release to the last bit."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import privgmm
from privgmm.cli import run
from privgmm.datasets import synthetic

X, Y = synthetic(500, 3, 2, seed=11)
NAMES = np.array(["x", "y", "z"])


@pytest.fixture
def folder(tmp_path):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": NAMES[Y]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=64)
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "parts").mkdir()
    shuffled = table.take(np.random.default_rng(0).permutation(500))
    for i in range(3):
        part = shuffled.slice(i * 170, 170)
        pyarrow.parquet.write_table(part, tmp_path / "parts" / f"p{i}.parquet")
    return tmp_path


# The parts hold the rows in another order. At label level the public clustering may follow the order;
# at record level nothing does.
@pytest.mark.parametrize(
    ("unit", "name"),
    [
        ("label", "t.parquet"),
        ("label", "t.csv"),
        ("record", "t.parquet"),
        ("record", "t.csv"),
        ("record", "parts"),
    ],
)
def test_same_bits_from_any_source(folder, unit, name):
    settings = {"unit": unit, "epsilon": 2.0, "classes": ["x", "y", "z"], "seed": 3}
    if unit == "record":
        settings["radius"] = 25.0
    arrays = privgmm.release(X, NAMES[Y], **settings).mixture
    streamed = privgmm.release(folder / name, label="kind", **settings)
    assert streamed.feature_names == ("a", "b")
    assert streamed.label_name == "kind"
    for part in ("weights", "means", "covariances"):
        np.testing.assert_array_equal(getattr(arrays, part), getattr(streamed.mixture, part))


def test_unusable_rows_are_refused_before_the_ledger_is_charged(folder):
    from privgmm.ledger import Ledger

    table = pa.table({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0], "kind": ["x", "y", "x"]})
    pyarrow.parquet.write_table(table, folder / "bad.parquet")
    Ledger.create(folder / "l.db", 4.0, 1e-5, "record", "replace")
    arguments = ["release", str(folder / "bad.parquet"), "--label", "kind", "--unit", "record"]
    arguments += ["--radius", "9", "--classes", "x,y", "--epsilon", "1", "--delta", "1e-6"]
    assert run([*arguments, "--ledger", str(folder / "l.db"), "-o", str(folder / "r.json")]) == 2
    assert Ledger.open(folder / "l.db").rows() == []
    assert not (folder / "r.json").exists()


@pytest.mark.parametrize(
    "options", [{"mechanism": "published"}, {"preprocessing": ["standardise"]}]
)
def test_what_needs_memory_reads_the_file_whole(folder, options):
    stated = {"classes": ["x", "y", "z"], "seed": 3, **options}
    arrays = privgmm.release(X, NAMES[Y], **stated).mixture
    for name in ("t.csv", "t.parquet"):
        from_file = privgmm.release(folder / name, label="kind", **stated).mixture
        np.testing.assert_array_equal(arrays.means, from_file.means)
