"""Tables as people have them: one table in many kinds of files and frames gives one release, with nothing cleaned by hand."""

import gzip
import io
import json
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import privgmm
from privgmm.cli import run
from privgmm.data.opening import open_rows

SPECIES = ("Adelie", "Chinstrap", "Gentoo, big")
SCHEMA = """
label = "species"
classes = ["Adelie", "Chinstrap", "Gentoo, big"]
[columns.rowid]
type = "drop"
[columns.island]
type = "drop"
[columns.bill_length_mm]
type = "number"
lo = 20
hi = 70
[columns.body_mass_g]
type = "integer"
lo = 2000
hi = 7000
[columns.year]
type = "drop"
"""
HOW = ["--schema", "s.toml", "--unit", "record", "--epsilon", "2", "--delta", "1e-5"]
HOW += ["--on-bad-row", "drop", "--seed", "1"]


def penguins():
    """An id, two texts, missing cells, a year, a class with a comma."""
    rng = np.random.default_rng(0)
    n = 120
    kind = rng.integers(0, 3, n)
    bill = np.array([38.8, 48.8, 47.5])[kind] + 2.8 * rng.standard_normal(n)
    mass = np.rint(np.array([3700.0, 3730.0, 5070.0])[kind] + 430 * rng.standard_normal(n))
    mass[[3, 70]] = np.nan
    return pd.DataFrame(
        {
            "rowid": np.arange(n),
            "species": np.array(SPECIES)[kind],
            "island": rng.choice(["Biscoe", "Dream"], n),
            "bill_length_mm": bill.round(1),
            "body_mass_g": mass,
            "year": rng.integers(2007, 2010, n),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def content(path):
    """A release without what differs from file to file: nothing does."""
    return json.loads(path.read_text())


@pytest.mark.slow
def test_equal_releases_from_every_kind_of_file_and_frame(folder, monkeypatch):
    frame = penguins()
    semicolons = frame.to_csv(index=False, sep=";", decimal=",", na_rep="NA")
    written = {
        "commas.csv": frame.to_csv(index=False, na_rep="NA").encode(),
        "semicolons.csv": semicolons.encode("cp1252"),
        "tabs.tsv": frame.to_csv(index=False, sep="\t").encode("utf-16"),
        "packed.csv.gz": gzip.compress(frame.to_csv(index=False).encode()),
    }
    for name, data in written.items():
        (folder / name).write_bytes(data)
    frame.to_excel(folder / "sheet.xlsx", index=False)
    frame.to_parquet(folder / "columns.parquet")
    reading = {
        "commas.csv": [],
        "semicolons.csv": ["--separator", ";", "--decimal", ",", "--encoding", "cp1252"],
        "tabs.tsv": ["--separator", "tab", "--encoding", "utf-16"],
        "packed.csv.gz": [],
        "sheet.xlsx": [],
        "columns.parquet": [],
    }
    for name, options in reading.items():
        assert run(["release", name, *options, *HOW, "-o", f"{name}.json"]) == 0
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(written["semicolons.csv"]), isatty=bool)
    )
    assert run(["release", "-", *reading["semicolons.csv"], *HOW, "-o", "pipe.json"]) == 0
    ask = {"schema": "s.toml", "unit": "record", "epsilon": 2.0, "delta": 1e-5, "seed": 1}
    for name, table in (("pandas", frame), ("polars", pl.from_pandas(frame))):
        privgmm.release(table, on_bad_row="drop", **ask).save(f"{name}.json")
    privgmm.release(frame, on_bad_row="drop", **{**ask, "epsilon": 2}).save("whole.json")
    found = [content(path) for path in sorted(folder.glob("*.json"))]
    assert len(found) == 10
    assert len({path.read_bytes() for path in folder.glob("*.json")}) == 1
    assert all(one == found[0] for one in found)


def test_from_file_to_report_in_four_steps(folder, capsys):
    """schema, edit, release, report: the refusals on the way say what to fill in, by name."""
    (folder / "p.csv").write_text(penguins().to_csv(index=False, na_rep="NA"))
    assert run(["schema", "p.csv", "--label", "species", "-o", "first.toml"]) == 0
    assert "Left out, being named like identifiers: rowid." in capsys.readouterr().out
    text = (folder / "first.toml").read_text()
    assert "Adelie" not in text
    assert "Dream" not in text
    steps = [
        ("'island'", '[columns.island]\ntype = "category"', '[columns.island]\ntype = "drop"'),
        ("classes = [", '# classes = ["one", "another"]', f"classes = {json.dumps(SPECIES)}"),
    ]
    release = ["release", "p.csv", "--schema", "first.toml", *HOW[2:], "-o", "r.json"]
    for asked, before, after in steps:
        assert run(release) == 2
        assert asked in capsys.readouterr().err
        assert before in text
        text = text.replace(before, after)
        (folder / "first.toml").write_text(text)
    assert run(release) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ("'bill_length_mm'", "'body_mass_g'", "'year'"))
    text = text.replace("# lo = ...", "lo = 0 #").replace("# hi = ...", "hi = 9000")
    (folder / "first.toml").write_text(text)
    assert run(release) == 0
    assert run(["report", "r.json", "-o", "r.html"]) == 0
    assert "Gentoo, big" in (folder / "r.html").read_text()


def test_the_header_proposes_how_a_file_is_written(folder, capsys):
    """One sentence a try: separator, encoding, decimals; then it is read."""
    text = "Größe;Beruf, Branche;y\n1,5;3,25;u\n2,5;4,5;v\n"
    (folder / "t.csv").write_bytes(text.encode("cp1252"))
    options = []
    for proposed in ("--separator ';'", "--encoding cp1252", "--decimal ','"):
        assert run(["schema", "t.csv", *options]) == 2
        assert proposed in capsys.readouterr().err
        option, value = proposed.split(" ")
        options += [option, value.strip("'")]
    assert run(["schema", "t.csv", *options]) == 0
    assert '[columns."Beruf, Branche"]' in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["utf-16", "utf-16-le", "utf-16-be", "cp037"])
def test_a_wrong_encoding_shows_no_record(folder, capsys, wrong):
    """Read so, no line ends, and all records together would look like one column name."""
    (folder / "t.csv").write_text("a,b,y\n" + "8675309.25,1.5,u\n" * 4)
    assert run(["schema", "t.csv", "--encoding", wrong, "--label", "y"]) == 2
    said = capsys.readouterr().err
    assert "another --encoding" in said or "separates" in said
    assert len(said) < 200
    assert said.isascii()


def test_years_with_gaps_are_names_and_are_said(folder, capsys):
    (folder / "m.csv").write_text("home,2015,2016,2019,heat\n1,3,,5,gas\n2,4,5,6,oil\n")
    ask = ["--label", "heat", "--classes", "gas,oil", "--unit", "record", "--bounds", "0,9"]
    ask += ["--epsilon", "1", "--delta", "1e-5", "--columns", "2015,2016,2019"]
    assert run(["release", "m.csv", *ask]) == 2
    assert "'2016' (1 missing)" in capsys.readouterr().err


def test_a_spreadsheet_is_known_by_its_bytes(folder):
    book = openpyxl.Workbook()
    for row in (("a", "y"), (1.5, "u"), (2.5, "v")):
        book.active.append(row)
    for name in ("t.csv", "t", "t.xlsm"):
        with open(name, "wb") as handle:
            book.save(handle)
        assert run(["schema", name, "-o", f"{name}.toml"]) == 0


def test_no_warning_quotes_a_cell_of_a_spreadsheet(folder):
    """openpyxl warns of a date that is none, with its value."""
    book = openpyxl.Workbook()
    for row in (("a", "y"), (8675309424.2, "u"), (0.5, "v")):
        book.active.append(row)
    book.active.cell(2, 1).number_format = "yyyy-mm-dd"
    book.save("t.xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = open_rows("t.xlsx", label="y", classes=("u", "v"), drop_bad=True)
    assert opened.source.n_rows == 1


def test_samples_go_into_a_spreadsheet_as_values(folder, capsys):
    """The same rows as in a Parquet file; a class that begins like a formula stays a text."""
    x, y = privgmm.datasets.synthetic(n=60, n_classes=2, dim=2, seed=0)
    classes = ["=1+1", "b\x01"]
    release = privgmm.release(
        x, [classes[k] for k in y], classes=classes, seed=1, feature_names=["u", "v"]
    )
    release.save("r.json")
    for ending in ("xlsx", "parquet"):
        assert run(["sample", "r.json", "-n", "50", "--seed", "3", "-o", f"s.{ending}"]) == 0
    sheet = openpyxl.load_workbook(folder / "s.xlsx").active
    rows = list(sheet.iter_rows(values_only=True))
    table = pq.read_table(folder / "s.parquet")
    assert list(rows[0]) == table.column_names
    assert [row[0] for row in rows[1:]] == pytest.approx(table["u"].to_pylist())
    assert {cell.data_type for cell in sheet["C"]} <= {"s", "inlineStr"}
    assert {row[2] for row in rows[1:]} == {"=1+1", "b\N{REPLACEMENT CHARACTER}"}
    assert run(["sample", "r.json", "-n", "1048576", "-o", "large.xlsx"]) == 2
    assert "at most 1,048,575 rows" in capsys.readouterr().err


def test_a_refusal_of_empty_cells_says_how_to_state_them(folder, capsys):
    (folder / "p.csv").write_text(penguins().to_csv(index=False, na_rep="NA"))
    assert run(["release", "p.csv", *HOW[:8], "-o", "r.json"]) == 2
    said = capsys.readouterr().err
    assert "'body_mass_g' (2 missing)" in said
    assert "missing = true" in said


def test_rows_without_labels_have_nothing_to_be_set_beside(folder, capsys):
    rows = "\n".join(f"{i % 7},{i % 5 + i % 3}" for i in range(300))
    (folder / "t.csv").write_text(f"a,b\n{rows}\n")
    how = ["--unit", "record", "--epsilon", "2", "--delta", "1e-5", "--bounds", "-10,10"]
    assert run(["release", "t.csv", "--components", "2", *how, "-o", "r.json"]) == 0
    assert run(["report", "r.json", "--reference", "t.csv", "-o", "r.html"]) == 2
    assert "rows without labels" in capsys.readouterr().err
    assert not (folder / "r.html").exists()
