"""Schema files: what is stated is read as stated, and what is wrong is said by column."""

import contextlib
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm import InputError, Schema
from privgmm.model.columns import Column
from privgmm.model.schema import like_identifier, parse_schema, schema_of, schema_text

STATED = """
label = "kind"
classes = ["white-low", "red, low", 3]
person = "home_id"
[columns."fixed acidity"]
type = "number"
lo = 3.8
hi = 15
decimals = 1
missing = true
[columns.rooms]
type = "integer"
lo = 0
hi = 20
[columns.home_id]
type = "drop"
[columns.job]
type = "category"
levels = ["Other", "Office", 7, true]
"""


def parsed(text):
    return parse_schema(text.encode(), "s.toml")


def test_a_schema_is_read_as_stated(tmp_path):
    (tmp_path / "s.toml").write_text(STATED)
    schema = Schema.load(tmp_path / "s.toml")
    assert (schema.label, schema.person) == ("kind", "home_id")
    assert schema.classes == ("white-low", "red, low", 3)
    assert schema.columns == (
        Column("fixed acidity", "number", 3.8, 15.0, 1, True),
        Column("rooms", "integer", 0.0, 20.0),
        Column("job", "category", levels=("Other", "Office", "7", "true")),
    )
    assert schema.names == ("fixed acidity", "rooms", "job")
    assert schema.dropped == ("home_id",)
    assert schema_of(schema) is schema
    assert schema_of(str(tmp_path / "s.toml")) == schema


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("label = ", "not valid TOML"),
        ("lable = 'x'", "states 'lable'"),
        ("label = 3", "The label in s.toml must be a column name"),
        ("person = ['a']", "The person in s.toml"),
        ("classes = 'a'", "The classes in s.toml must be a list"),
        ("classes = []", "The classes in s.toml must be a list"),
        ("classes = ['a', 'a']", "distinct"),
        ("columns = 3", r"\[columns.NAME\]"),
        ("[columns]\na = 3", "The column 'a' in s.toml must be a table"),
        ("[columns.a]\ntype = 'float'", "The type of the column 'a'"),
        ("[columns.a]\nlow = 3", "The column 'a' in s.toml states 'low'"),
        ("[columns.a]\nlo = 3", "The column 'a' needs both lo and hi"),
        ("[columns.a]\nlo = 3\nhi = 3", "The column 'a' needs finite bounds"),
        ("[columns.a]\nlo = nan\nhi = 3", "The column 'a' needs finite bounds"),
        ("[columns.a]\nlo = true\nhi = 3", "The bound lo of 'a'"),
        (f"[columns.a]\nlo = 0\nhi = 1{'0' * 400}", "The bound hi of 'a'"),
        ("[columns.a]\nlo = '1'\nhi = 3", "The bound lo of 'a'"),
        ("[columns.a]\ndecimals = 1.5", "The decimals of 'a'"),
        ("[columns.a]\nmissing = 'yes'", "The column 'a' in s.toml needs missing"),
        ("[columns.a]\ntype = 'category'", "State the levels of the category 'a'"),
        ("[columns.a]\ntype = 'category'\nlevels = ['x', 'x']", "The category 'a' needs levels"),
        ("[columns.a]\ntype = 'category'\nlevels = ['x', '']", "The levels of 'a'"),
        ("[columns.a]\ntype = 'category'\nlevels = 'x'", "The levels of 'a'"),
        ("[columns.a]\nlevels = ['x']", "The column 'a' has levels"),
        ("label = 'a'\n[columns.a]", "The label 'a' cannot be a feature too"),
        ("person = 'a b'\n[columns.'a b']", r"The person 'a b' .*\[columns.\"a b\"\]"),
        ("label = 'a'\nperson = 'a'", "name two columns"),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_column(text, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        parsed(text)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_schema_or_one_sentence(data):
    with contextlib.suppress(InputError):
        parse_schema(data, "s.toml")


def test_deep_nesting_is_refused():
    with pytest.raises(InputError):
        parsed("a = " + "[" * 100_000)


KINDS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["number", "integer", "category"]),
    min_size=1,
    max_size=6,
)


@given(KINDS, st.booleans())
def test_a_written_schema_holds_all_names_and_kinds(kinds, labelled):
    label = next(iter(kinds)) if labelled else None
    document = tomllib.loads(schema_text(kinds, label, "a\nb.csv"))
    written = {name: table["type"] for name, table in document.get("columns", {}).items()}
    assert document.get("label") == label
    assert written == {
        name: "drop" if like_identifier(name) else kind
        for name, kind in kinds.items()
        if name != label
    }


def test_what_is_filled_in_can_be_read():
    text = schema_text({"x": "number", "kind": "category"}, "kind", "t.csv")
    text = text.replace("# classes = ", "classes = ").replace("# lo = ...", "lo = 0")
    text = text.replace("# hi = ...", "hi = 9").replace("# decimals", "decimals")
    text = text.replace("# missing", "missing")
    schema = parsed(text)
    assert schema.columns == (Column("x", "number", 0, 9, 1, True),)
    assert schema.classes == ("one", "another")


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "home_id", "patientID", "id.patient", "Unnamed: 0", "", "rownames", "Sample Number",
     "customer no", "Individual ID", "uuid", "__index_level_0__", "key", "nr", "kund_nr"],
)  # fmt: skip
def test_names_of_identifiers_are_known(name):
    assert like_identifier(name)


@pytest.mark.parametrize(
    "name",
    ["acid", "humidity", "covid", "idle", "body mass index", "year", "number of rooms", "fluid", "x0", "zip", "nr_children"],
)  # fmt: skip
def test_other_names_are_not_taken_for_identifiers(name):
    assert not like_identifier(name)
