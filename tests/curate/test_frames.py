"""Frames enter with their names, and every frame of the same table gives the same release."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privgmm
from privgmm.data.opening import open_rows
from privgmm.errors import InputError

RNG = np.random.default_rng(7)
X = np.round(RNG.normal(size=(90, 2)), 3) + np.repeat([[0.0, 5.0], [4.0, 0.0]], 45, axis=0)
Y = np.repeat(["u", "v"], 45)
COLUMNS = {"a": X[:, 0], "b": X[:, 1], "species": Y}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
RECORD = {"unit": "record", "bounds": {"b": (-4, 9), "a": (-5.0, 8)}}
STATED = {"classes": ["u", "v"], "epsilon": 4.0, "seed": 1}


def same(one, other):
    return all(
        np.array_equal(getattr(one.mixture, name), getattr(other.mixture, name))
        for name in ("weights", "means", "covariances")
    )


@pytest.fixture(scope="module")
def of_arrays():
    return {
        "label": privgmm.release(X, Y, **STATED),
        "record": privgmm.release(X, Y, unit="record", bounds=([-5, -4], [8, 9]), **STATED),
    }


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("unit", ["label", "record"])
def test_every_frame_gives_the_release_of_its_arrays_with_its_names(of_arrays, make, unit):
    asked = STATED | (RECORD if unit == "record" else {})
    frame = make({"id": np.arange(90), **COLUMNS})
    found = privgmm.release(frame, label="species", columns=["a", "b"], **asked)
    assert same(found, of_arrays[unit])
    assert (found.feature_names, found.label_name) == (("a", "b"), "species")


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_labels_beside_a_frame_leave_its_names(of_arrays, make):
    frame = make({"a": X[:, 0], "b": X[:, 1]})
    labels = {pd.DataFrame: pd.Series, pl.DataFrame: pl.Series, pa.table: pa.chunked_array}[make]
    for y in (Y, Y.tolist(), labels([Y]) if make is pa.table else labels(Y)):
        found = privgmm.release(frame, y, **STATED, **RECORD)
        assert same(found, of_arrays["record"])
        assert found.feature_names == ("a", "b")


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_in_another_order_are_found_by_name(make):
    r = privgmm.release(make(COLUMNS), label="species", **STATED)
    expected = r.predict(X).tolist()
    swapped = make({"b": X[:, 1], "species": Y, "a": X[:, 0]})
    assert r.predict(swapped).tolist() == expected
    assert r.mixture.predict(swapped).tolist() == expected
    np.testing.assert_array_equal(r.mixture.log_density(swapped), r.mixture.log_density(X))
    with pytest.raises(InputError, match="lack columns of the model: 'b'"):
        r.predict(make({"a": X[:, 0], "c": X[:, 1]}))
    with pytest.raises(InputError, match="lack columns"):
        r.mixture.predict(make({"a": X[:, 0], "c": X[:, 1]}))


def test_a_model_of_arrays_takes_frames_by_position(of_arrays):
    r = of_arrays["label"]
    for frame in (pd.DataFrame(X), pd.DataFrame(X, columns=["p", "q"])):
        assert r.predict(frame).tolist() == r.predict(X).tolist()


def test_a_loaded_release_finds_columns_by_name_too(tmp_path):
    r = privgmm.release(
        pd.DataFrame(COLUMNS), label="species", preprocessing=["standardise"], **STATED
    )
    r.save(tmp_path / "r.json")
    again = privgmm.Release.load(tmp_path / "r.json")
    swapped = pd.DataFrame(COLUMNS)[["b", "a"]]
    assert again.predict(swapped).tolist() == r.predict(X).tolist()


@pytest.mark.parametrize(
    "bounds",
    [
        {"a": (-5, 8), "b": (-4, 9), "not of this table": (0, 1)},
        [(-5, 8), (-4, 9)],
        [[-5, 8], (-4, 9)],
        ((-5, -4), (8, 9)),
        np.array([[-5, -4], [8, 9]]),
    ],
)
def test_bounds_by_column_are_the_same_bounds(of_arrays, bounds):
    found = privgmm.release(
        pd.DataFrame(COLUMNS), label="species", unit="record", bounds=bounds, **STATED
    )
    assert same(found, of_arrays["record"])


def test_the_estimator_takes_bounds_by_column(of_arrays):
    est = privgmm.PrivateGaussianMixture(
        unit="record",
        bounds={"b": (-4, 9), "a": (-5, 8)},
        classes=["u", "v"],
        epsilon=4.0,
        random_state=1,
    ).fit(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}), Y)
    assert same(est.release_, of_arrays["record"])
    named_by_position = {"x0": (-5, 8), "x1": (-4, 9)}
    found = privgmm.release(X, Y, unit="record", bounds=named_by_position, **STATED)
    assert same(found, of_arrays["record"])


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"a": (0, 1)}, "no range for 'b'"),
        ({"a": (0, 1), "b": 3}, "pairs"),
        ({"a": (0, 1), "b": (3, 4, 5)}, "pairs"),
        ({"a": (0, 1), "b": (1, 0)}, "lo < hi"),
        ({"a": (0, 1), "b": ("x", "y")}, "numbers"),
        ([(0, 1)], "pair"),
    ],
)
def test_bounds_that_fit_no_column_are_one_sentence(bounds, words):
    with pytest.raises(InputError, match=words):
        privgmm.release(
            pd.DataFrame(COLUMNS), label="species", unit="record", bounds=bounds, **STATED
        )


def test_a_text_column_and_a_missing_cell_are_refused_by_name():
    frame = pd.DataFrame(COLUMNS | {"word": "secret"})
    with pytest.raises(InputError, match="Column 'word' of the table is not numeric") as refusal:
        privgmm.release(frame, label="species", **STATED)
    assert "secret" not in str(refusal.value)
    frame = pd.DataFrame(COLUMNS)
    frame.loc[3, "b"] = np.nan
    with pytest.raises(InputError, match=r"'b' \(1 missing\)"):
        privgmm.release(frame, label="species", **STATED)


@pytest.mark.parametrize("extra", ["no number", None, 10**400, True, decimal.Decimal("0.1"), 1.5])
@pytest.mark.parametrize("drop_bad", [True, False])
def test_no_cell_of_an_object_column_changes_the_bits_of_another(extra, drop_bad):
    """Arrow would give all decimals of a column one scale, and mixed objects no type at all."""
    cells = [decimal.Decimal("0.1"), decimal.Decimal("12345678901234567890.12345"), 2.5, 3]
    read = []
    for more in ([], [extra]):
        column = np.empty(len(cells) + len(more), dtype=object)
        column[:] = cells + more
        frame = pd.DataFrame({"a": pd.Series(column, dtype=object), "k": "u"})
        try:
            opened = open_rows(frame, label="k", classes=["u"], drop_bad=drop_bad)
        except InputError:
            assert not drop_bad
            return
        read.append(opened.source.X.ravel().tolist())
    assert read[1][: len(cells)] == read[0] == [float(cell) for cell in cells]


@pytest.mark.parametrize("other", [None, "x", 1.5, True, b"9007199254740993", 9007199254740992])
def test_no_label_of_a_frame_changes_the_class_of_another(other):
    ids = [9007199254740993, 9007199254740992]
    frames = [pd.DataFrame({"a": range(3), "k": pd.Series([*ids, other], dtype=object)})]
    if other is None:
        frames += [
            pl.DataFrame({"a": range(3), "k": [*ids, None]}),
            pa.table({"a": range(3), "k": [*ids, None]}),
        ]
    for frame in frames:
        found = open_rows(frame, label="k", columns=["a"], classes=ids, drop_bad=True)
        assert found.source.codes.tolist()[:2] == [0, 1]
