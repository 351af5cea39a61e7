"""A schema and arguments together: each fact once, missing bounds asked for by name, equal releases."""

import numpy as np
import pytest

import privgmm
from privgmm import InputError, Schema
from privgmm.datasets import synthetic
from privgmm.model.columns import Column

X, Y = synthetic(300, 2, 2, seed=0)
COLUMNS = (Column("a", "number", -20, 20), Column("b", "number", -30, 30))
SCHEMA = Schema("kind", ("0", "1"), None, COLUMNS, ("id",))


@pytest.fixture
def table(tmp_path):
    rows = [f"{i},{b},{k},{a}" for i, ((a, b), k) in enumerate(zip(X, Y, strict=True))]
    path = tmp_path / "t.csv"
    path.write_text("id,b,kind,a\n" + "\n".join(rows) + "\n")
    return path


def same(a, b):
    return np.array_equal(a.mixture.means, b.mixture.means) and a.feature_names == b.feature_names


def test_a_schema_states_what_arguments_would(table):
    by_schema = privgmm.release(table, unit="record", schema=SCHEMA, seed=1)
    by_hand = privgmm.release(
        table, unit="record", seed=1, label="kind", columns=["a", "b"], classes=["0", "1"],
        bounds=([-20, -30], [20, 30]),
    )  # fmt: skip
    assert same(by_schema, by_hand)
    assert by_schema.feature_names == ("a", "b")


def test_the_same_fact_may_be_stated_twice_and_other_facts_not(table):
    privgmm.release(table, schema=SCHEMA, label="kind", classes=["0", "1"], columns=["a", "b"])
    for other in ({"label": "id"}, {"classes": ["0", "2"]}, {"columns": ["a"]}):
        with pytest.raises(InputError, match="different"):
            privgmm.release(table, schema=SCHEMA, **other)
    with pytest.raises(InputError, match="bounds already"):
        privgmm.release(table, unit="record", schema=SCHEMA, bounds=(0, 1))


def test_a_missing_bound_is_asked_for_by_name_where_it_is_needed(table):
    half = Schema("kind", ("0", "1"), None, (COLUMNS[0], Column("b")))
    with pytest.raises(InputError, match="State lo and hi of 'b' in the schema"):
        privgmm.release(table, unit="record", schema=half)
    privgmm.release(table, unit="record", schema=half, radius=50.0)
    privgmm.release(table, unit="label", schema=half)


def test_a_schema_is_an_object_or_a_path(table):
    with pytest.raises(InputError, match=r"privgmm\.Schema or the path"):
        privgmm.release(table, schema={"label": "kind"})
