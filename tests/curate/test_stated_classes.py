"""A stated class list is published as stated, whatever labels the private rows carry."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privgmm
from privgmm.cli import run
from privgmm.data.dask_source import ArrayPiece, FramePiece
from privgmm.data.opening import open_rows
from privgmm.data.table import Layout

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 2)) + 5
PLAIN = ["10", "11"] * 30
# One flipped label each: a code like 01, a class of which no other row speaks.
NEIGHBOURS = {"01": ["01", *PLAIN[1:]], "other": ["other", *PLAIN[1:]], "none": PLAIN}
UNITS = {"label": [], "record": ["--bounds", "1,10"]}


def csv(path, labels):
    lines = [f"{a},{b},{k}" for (a, b), k in zip(X, labels, strict=True)]
    path.write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    return path


def parquet(path, labels):
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "kind": labels}), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("steps", [[], ["--preprocess", "log"]], ids=["plain", "log"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("write", [csv, parquet])
def test_no_label_changes_the_names_that_the_command_publishes(tmp_path, write, unit, steps):
    found = set()
    for name, labels in NEIGHBOURS.items():
        data = write(tmp_path / name, labels)
        options = ["--label", "kind", "--classes", "01,10,11,other", "--unit", unit, *UNITS[unit]]
        options += ["--epsilon", "4", "--delta", "1e-5", "--seed", "1", *steps]
        assert run(["release", str(data), *options, "-o", str(tmp_path / f"{name}.json")]) == 0
        found.add(
            json.dumps(json.loads((tmp_path / f"{name}.json").read_text())["mixture"]["classes"])
        )
    assert found == {'["01", "10", "11", "other"]'}


@pytest.mark.parametrize(
    "given",
    [list, np.array, lambda y: np.array(y, dtype=object), pd.Series, pl.Series, pd.Categorical],
    ids=["list", "array", "objects", "pandas", "polars", "categories"],
)
@pytest.mark.parametrize("classes", [["01", "10", "11", "other"], [1, 10, 11, "other"]])
def test_arrays_and_frames_are_looked_up_row_by_row(given, classes):
    for labels in NEIGHBOURS.values():
        if classes[0] == 1 and "01" in labels:
            continue  # as a text it is another class than 1
        opened = open_rows(X, given(labels), classes=classes)
        assert opened.classes == tuple(classes)
        assert opened.source.codes.tolist() == [
            ["01", "10", "11", "other"].index(label) for label in labels
        ]


def test_python_names_keep_their_types_in_files_too(tmp_path):
    for write in (csv, parquet):
        opened = open_rows(write(tmp_path / "t", PLAIN), label="kind", classes=[1, 10, 11])
        assert opened.classes == (1, 10, 11)
        opened.check()


@pytest.mark.parametrize("labels", [["1", 1, 1.0, None], ["a", "b", True, "a"], [1, 2, 3, 4]])
def test_objects_of_several_types_are_texts_one_by_one(labels):
    layout = Layout(("x0",), "label", ("1", "a", "true"))
    y = np.array(labels, dtype=object)
    expected = [layout.classes.index(t) if t in layout.classes else -2
                for t in (str(int(v)) if isinstance(v, float) else str(v).lower() for v in labels)]  # fmt: skip
    expected = [-1 if v is None else k for v, k in zip(labels, expected, strict=True)]
    frame = pd.DataFrame({"x0": np.zeros(4), "label": pd.Series(y, dtype=object)})
    for piece in (ArrayPiece(np.zeros((4, 1)), y), FramePiece(frame)):
        codes = [c for batch in piece.batches(layout) for c in layout.codes(batch).tolist()]
        assert codes == expected


def test_more_labels_than_a_class_list_may_have_do_not_matter_to_a_stated_one(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("privgmm.data.labels.MOST_CLASSES", 1)
    opened = open_rows(csv(tmp_path / "t.csv", PLAIN), label="kind", classes=["10", "11"])
    assert opened.classes == ("10", "11")


def test_a_report_finds_the_classes_of_a_typed_column(tmp_path):
    y = np.array([0, 1] * 30)
    r = privgmm.release(X, y, classes=["0", "1"], seed=0)
    assert r.mixture.classes == ("0", "1")
    assert set(r.predict(X)) <= {"0", "1"}
