"""Frames and arrays in memory: pandas, polars, pyarrow and NumPy give the same table."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.data.some import of_memory

import privgmm
from privgmm.errors import InputError

DATA: dict[str, list[Any]] = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "y": ["u", "v", "u"]}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as info:
        of_memory(*args, **options)
    return str(info.value)


@pytest.mark.parametrize("make", FRAMES)
def test_frames_agree(make: Callable[[Any], Any]) -> None:
    table = of_memory(make(DATA), label="y")
    assert table.X.tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]
    assert table.X.flags.c_contiguous
    assert table.labels is not None
    assert table.labels.tolist() == ["u", "v", "u"]
    assert (table.feature_names, table.label_name) == (("a", "b"), "y")
    chosen = of_memory(make(DATA), y=[3, 4, 3], columns=["b"])
    assert chosen.X.tolist() == [[0.5], [1.5], [2.5]]
    assert chosen.labels is not None
    assert {type(label) for label in chosen.labels.tolist()} == {int}


@pytest.mark.parametrize("make", FRAMES)
def test_frames_are_refused_alike(make: Callable[[Any], Any]) -> None:
    holes = {"a": [1.0, None, float("inf")], "b": [None, 1.0, None], "y": ["u", None, ""]}
    expected = "'y' (2 missing), 'a' (1 missing, 1 infinite), 'b' (2 missing)"
    assert expected in refusal(make(holes), label="y")
    assert "Column 'y' of the table is not numeric" in refusal(make(DATA))
    assert "no label column 'z'; its columns are 'a', 'b', 'y'" in refusal(make(DATA), label="z")
    assert "not both" in refusal(make(DATA), y=[1, 2, 3], label="y")
    assert "3 rows, 2 labels" in refusal(make(DATA), y=[1, 2], columns=["a"])
    days = {"a": [1.0], "y": [datetime.date(2020, 1, 1)]}
    sentence = refusal(make(days), label="y")
    assert "must hold text, or numbers, or booleans" in sentence or "must be strings" in sentence


def test_numpy() -> None:
    X = np.arange(6.0).reshape(3, 2, order="F")
    table = of_memory(np.asfortranarray(X), y=np.array([True, False, True]))
    assert table.X.flags.c_contiguous
    assert np.array_equal(table.X, X)
    assert table.feature_names == ()
    assert table.labels is not None
    assert table.labels.tolist() == [True, False, True]
    assert of_memory(X, columns=["x1"]).X.tolist() == X[:, 1:].tolist()
    assert of_memory([[1, 2]]).X.tolist() == [[1, 2]]


def test_numpy_masks_are_missing_values() -> None:
    masked = np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, True]])
    assert "'x1' (2 missing)" in refusal(masked)
    labels = np.ma.MaskedArray([1, 2], mask=[False, True])
    assert "labels (1 missing)" in refusal(np.eye(2), y=labels)


@pytest.mark.parametrize(
    "data",
    [
        np.zeros(3),
        np.zeros((2, 2, 2)),
        np.array([["secret"]]),
        np.array([[1, "secret"]], dtype=object),
        np.array([[1j]]),
        np.array([["2020-01-01"]], dtype="M8[D]"),
        [[1, 2], [3]],
        None,
        {"secret": 1},
        pd.Series([1.0]),
        [[2**2000]],
    ],
)
def test_what_is_not_a_table(data: Any) -> None:
    message = refusal(data)
    assert "two-dimensional array of numbers" in message
    assert "secret" not in message


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, "secret"], dtype=object),
        pd.Series([1, "secret"], dtype=object),
        [[1], [2]],
        np.array([b"secret", b"x"]),
        [{"secret": 1}, 2],
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        5,
    ],
)
def test_labels_that_name_no_class(y: Any) -> None:
    message = refusal(np.eye(2), y=y)
    assert "abels" in message or "Class names must be" in message
    assert "secret" not in message


def test_odd_frames() -> None:
    assert "same name" in refusal(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    assert "same name" in refusal(pa.table([[1], [2]], names=["a", "a"]))
    assert "collect it" in refusal(pl.LazyFrame({"a": [1]}))
    assert "no columns" in refusal(pd.DataFrame())
    assert "must be text" in refusal(pd.DataFrame([[1]], columns=[(1, 2)]))
    assert "Column 'a'" in refusal(pd.DataFrame({"a": [1, "secret"]}))
    assert "Column 'a'" in refusal(pd.DataFrame({"a": pd.Categorical([1, 2])}))
    mixed = pd.DataFrame({"a": [1.0, 2.0], "y": pd.Series([1, "secret"], dtype=object)})
    assert "The labels mix types that cannot be compared" in refusal(mixed, label="y")
    assert "An array has no label column" in refusal(np.eye(2), label="y")


def test_integer_names_and_categories_of_pandas() -> None:
    table = of_memory(pd.DataFrame({0: [1.0], 1: [2.0], "y": pd.Categorical(["u"])}), label="y")
    assert table.feature_names == ("0", "1")
    numbered = of_memory(pd.DataFrame({0: [1.0], 1: [7]}), label="1")
    assert numbered.labels is not None
    assert numbered.labels.tolist() == [7]
    assert table.labels is not None
    assert table.labels.tolist() == ["u"]
    series = of_memory(np.eye(2), y=pl.Series(["u", "v"], dtype=pl.Categorical))
    assert series.labels is not None
    assert series.labels.tolist() == ["u", "v"]


def test_wide_integers_stay_distinct() -> None:
    table = of_memory(np.eye(2), y=np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64))
    assert table.labels is not None
    assert table.labels.tolist() == [2**64 - 1, 2**64 - 2]


def test_labels_that_are_not_utf8() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    assert "not UTF-8" in refusal(pa.table({"a": [1.0], "y": broken}), label="y")


@pytest.mark.parametrize("columns", [5, 1.5, "ab"])
def test_columns_that_are_no_list_are_refused_in_a_sentence(columns):
    """A fault that the fuzz found: an unexpected TypeError."""
    X, y = privgmm.datasets.synthetic(20, 2, 2, seed=0)
    with pytest.raises(privgmm.InputError, match="must be a list of names"):
        privgmm.release(X, y, classes=[0, 1], columns=columns)
