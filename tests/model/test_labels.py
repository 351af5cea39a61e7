"""A label finds its class by its own text; no other row has a say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm.errors import InputError
from privgmm.model.labels import (
    MISSING,
    UNKNOWN,
    encode_labels,
    find_classes,
    label_array,
    label_codes,
    label_positions,
    label_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("01", "01"), (" a", " a"), (1, "1"), (np.int8(1), "1"), (1.0, "1"), (-0.0, "0"),
        (np.float32(2.0), "2"), (1.5, "1.5"), (2**63, "9223372036854775808"), (1e300, "1e+300"),
        (True, "true"), (np.False_, "false"), ("", None), (None, None), (np.nan, None),
        (np.inf, None), (pd.NA, None), (np.datetime64("2020-01-01"), None), (b"a", None),
    ],
)  # fmt: skip
def test_every_label_has_one_text(value, text):
    assert label_text(value) == text


@pytest.mark.parametrize(
    ("classes", "labels", "codes"),
    [
        (["01", "10"], ["01", 1, "1", 10, 10.0], [0, UNKNOWN, UNKNOWN, 1, 1]),
        ([1, 10], ["1", 1, 1.0, "01", True], [0, 0, 0, UNKNOWN, UNKNOWN]),
        (["1.0", "2.0"], ["1.0", 1.0, 1, "1"], [0, 0, 0, 0]),
        (["1.0", "1"], ["1.0", 1.0, 1, "1"], [0, 1, 1, 1]),
        ([1.0, 2.5], ["1.0", "1", 2.5, "2.50"], [0, 0, 1, UNKNOWN]),
        ([True, False], ["True", "FALSE", True, "true", 1], [0, 1, 0, 0, UNKNOWN]),
        (["yes", "True"], [True, "true", "True"], [1, 1, 1]),
        (["a", "other"], ["a", None, np.nan, "", pd.NA, "b"],
         [0, MISSING, MISSING, MISSING, MISSING, UNKNOWN]),
        (["1.0", "1.00"], ["1.0", "1.00", 1.0], [0, 1, UNKNOWN]),
    ],
)  # fmt: skip
def test_labels_are_looked_up_by_text(classes, labels, codes):
    assert label_codes(labels, label_positions(classes)).tolist() == codes


@pytest.mark.parametrize("classes", [[1, "1"], ["a", "a"], [True, "true"], [1.5, "1.5"]])
def test_a_class_list_that_names_one_text_twice_is_refused(classes):
    with pytest.raises(InputError, match="distinct"):
        label_positions(classes)


values = st.sampled_from([1, 2, 1.0, 2.5, True, False, "1", "01", "a", "true", "", None, np.nan])


@given(st.lists(values, min_size=1, max_size=8), values)
def test_no_row_changes_the_class_of_another(labels, added):
    classes = ["01", "1", "2", "2.5", "a", "other"]
    names, alone = find_classes(label_array(labels, stated=True), classes)
    more, beside = find_classes(label_array([*labels, added], stated=True), classes)
    assert names == more == tuple(classes)
    assert beside[:-1].tolist() == alone.tolist()


@pytest.mark.parametrize("dtype", [object, "U", np.int64, np.float64])
def test_arrays_of_any_type_are_looked_up_alike(dtype):
    labels = np.array([3, 1, 2, 1]).astype(dtype)
    labels = labels if dtype != "U" else labels.astype(str)
    for classes in ([1, 2, 3], ["1", "2", "3"], [1, 2, 3, "other"]):
        names, codes = encode_labels(label_array(labels, stated=True), classes)
        assert names == tuple(classes)
        assert codes.tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "u8", "f8", "U3"])
@given(st.data())
def test_whole_numbers_are_counted_as_others_are_sorted(kind, data):
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        least = data.draw(st.integers(int(ends.min), int(ends.max) - 100))
        numbers = np.array(data.draw(st.lists(st.integers(least, least + 100), min_size=1)), dtype)
        labels = np.append(numbers, data.draw(st.sampled_from([numbers[:0], numbers[:1]])))
    else:
        labels = np.array(data.draw(st.lists(st.integers(0, 99), min_size=1))).astype(dtype)
    names, codes = find_classes(labels, None)
    found, at = np.unique(labels, return_inverse=True)
    assert names == tuple(found.tolist())
    assert codes.tolist() == at.tolist()
