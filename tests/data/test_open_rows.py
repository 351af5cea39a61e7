"""Rows find their source: arrays, paths and clients; what fits none of them is one sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privgmm.data import ArraySource
from privgmm.data.features import ArrayFeatures, StreamedFeatures, as_features
from privgmm.data.opening import open_rows
from privgmm.data.reading import describe
from privgmm.data.streamed import FileSource as ParquetSource
from privgmm.errors import InputError

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
Y = np.array(["a", "b", "a"])


@pytest.fixture
def path(tmp_path):
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "kind": Y})
    pq.write_table(table, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_arrays_stay_in_memory():
    found = open_rows(X, Y, classes=("b", "a"))
    assert isinstance(found.source, ArraySource)
    assert found.source.codes.tolist() == [1, 0, 1]
    assert isinstance(found.features, ArrayFeatures)
    assert not found.classes_from_data
    assert open_rows(X, Y).classes_from_data
    found.check()


def test_paths_are_streamed(path):
    for given in (path, str(path)):
        found = open_rows(given, label="kind", classes=("b", "a"))
        assert isinstance(found.source, ParquetSource)
        assert isinstance(found.features, StreamedFeatures)
        assert (found.feature_names, found.label_name) == (("u", "v"), "kind")
        found.check()
    assert describe(path, None, "kind").layout.features == ("u", "v")
    assert describe(path, ["v"], "kind").layout.features == ("v",)


def test_unlabelled_arrays_name_components():
    found = open_rows(X, n_components=2, classes=("one", "two"))
    assert found.classes == ("one", "two")
    assert found.source.codes.tolist() == [0, 0, 0]
    assert not found.classes_from_data


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": X, "y": Y[:2]}, "one per row"),
        ({"X": X}, "n_components"),
        ({"X": X, "n_components": 2, "classes": ("a",)}, "as many names"),
        ({"X": X, "y": Y, "label": "kind"}, "no named columns"),
        ({"X": "somewhere.parquet", "y": Y}, "name it as label"),
        ({"X": "somewhere.parquet", "label": "kind"}, "Cannot read"),
    ],
)
def test_refusals(given, words):
    with pytest.raises(InputError, match=words):
        open_rows(**given)


def test_check_finds_what_a_stated_class_list_let_through(tmp_path, path):
    table = pa.table({"u": [1.0, None, 3.0], "kind": Y})
    pq.write_table(table, path)
    found = open_rows(path, label="kind", classes=("a", "b"))
    with pytest.raises(InputError, match=r"'u' \(1 missing\)"):
        found.check()


def test_arrays_become_features_and_features_stay():
    features = as_features(X)
    assert isinstance(features, ArrayFeatures)
    assert as_features(features) is features
