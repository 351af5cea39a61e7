"""``privgmm schema``: names and kinds of a table, and not one of its values."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from privgmm import Release, Schema
from privgmm.cli import run

TABLE = """\
patient_id,height,visits,ward,kind,since
17001,181.5,3,east,low,2007
17002,167.25,0,west,high,2008
17003,,7,east,low,2009
"""
CELLS = {cell for line in TABLE.splitlines()[1:] for cell in line.split(",") if cell}


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


def test_no_value_of_the_table_is_in_the_schema(table, capsys):
    assert run(["schema", "t.csv", "--label", "kind", "-o", "s.toml"]) == 0
    said = capsys.readouterr().out
    text = (table / "s.toml").read_text()
    for cell in CELLS - {"0", "3", "7"}:  # digits that stand in the comments' own examples
        assert cell not in text
        assert cell not in said
    assert "patient_id" in said
    assert run(["schema", "t.csv", "--label", "kind"]) == 0
    assert capsys.readouterr().out == text


def test_another_table_of_the_same_kinds_has_the_same_schema(table, capsys):
    (table / "u.csv").write_text(
        "patient_id,height,visits,ward,kind,since\n" + "1,1.5,1,x,y,1\n" * 9
    )
    texts = []
    for name in ("t.csv", "u.csv"):
        assert run(["schema", name]) == 0
        texts.append(capsys.readouterr().out.replace(name, "NAME"))
    assert texts[0] == texts[1]


def test_csv_and_parquet_have_the_same_kinds(table, capsys):
    columns = {
        "patient_id": pa.array([1, 2]),
        "height": pa.array([1.5, None]),
        "visits": pa.array([1, 2], pa.int16()),
        "ward": pa.array(["a", "b"]).dictionary_encode(),
        "kind": pa.array(["a", "b"]),
        "since": pa.array([1, 2]),
    }
    pyarrow.parquet.write_table(pa.table(columns), "t.parquet")
    assert run(["schema", "t.csv"]) == 0
    first = capsys.readouterr().out
    assert run(["schema", "t.parquet"]) == 0
    assert capsys.readouterr().out == first.replace("t.csv", "t.parquet")


def test_an_unknown_label_and_a_missing_file_are_refused(table, capsys):
    assert run(["schema", "t.csv", "--label", "ward?"]) == 2
    assert "'ward'" in capsys.readouterr().err
    assert run(["schema", "none.csv"]) == 2
    assert run(["schema", "t.csv", "-o", "t.csv"]) == 2


def test_the_schema_replaces_options_and_says_what_it_misses(table, capsys):
    assert run(["schema", "t.csv", "--label", "kind", "-o", "s.toml"]) == 0
    options = ["--unit", "record", "--epsilon", "1", "--delta", "1e-5", "--schema", "s.toml"]
    drop = '[columns.{}]\ntype = "drop"\n'
    stated = 'label = "kind"\nclasses = ["low", "high"]\n' + drop.format("ward")
    heights = "[columns.height]\n[columns.visits]\ntype = 'integer'\nlo = 0\nhi = 30\n"
    for schema, sentence in (
        (None, "State the levels of the category 'ward' in s.toml"),
        ('label = "kind"', "classes = [...] in s.toml"),
        (stated + heights, "State lo and hi of 'height'"),
    ):
        if schema is not None:
            (table / "s.toml").write_text(schema)
        assert run(["release", "t.csv", *options]) == 2
        assert sentence in capsys.readouterr().err
    (table / "s.toml").write_text(stated + heights.replace("t]", "t]\nlo = 100\nhi = 250", 1))
    assert run(["release", "t.csv", *options, "--on-bad-row", "drop", "--seed", "1"]) == 0
    assert Release.load("release.json").feature_names == ("height", "visits")
    assert Schema.load("s.toml").dropped == ("ward",)
