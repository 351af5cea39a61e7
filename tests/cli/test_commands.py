"""The commands of a working day: release, show, report, sample, on a terminal and in a pipe."""

import json
from dataclasses import replace
from importlib.metadata import version

import pyarrow.parquet
import pytest

from privgmm import Release
from privgmm.cli import run
from privgmm.datasets import synthetic


@pytest.fixture
def released(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = synthetic(300, 2, 2, seed=0)
    lines = [f"{a},{b},{k + 5}" for (a, b), k in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    options = ["--label", "kind", "--unit", "label", "--classes", "5,6", "--epsilon", "2"]
    assert run(["release", "t.csv", *options, "--delta", "1e-5", "-o", "r.json"]) == 0
    return tmp_path


def test_classes_are_published_as_they_were_stated(released):
    r = Release.load("r.json")
    assert r.mixture.classes == ("5", "6")
    assert (r.feature_names, r.label_name) == (("a", "b"), "kind")
    assert r.guarantee.publishable


def test_show_in_words_and_for_machines(released, capsys):
    assert run(["show", "r.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(2, 1e-05)-differential privacy" in said
    assert run(["show", "r.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["epsilon"] == 2
    assert run(["show", "r.json", "--registry"]) == 0
    assert "epsilon" in capsys.readouterr().out
    assert run(["show", "r.json", "--json", "--registry"]) == 2


@pytest.mark.parametrize("part", ["feature_names", "label_name"])
def test_names_that_a_spreadsheet_would_run_are_warned_of(released, capsys, part):
    r = Release.load("r.json")
    assert run(["sample", "r.json", "-n", "3", "-o", "s.csv"]) == 0
    assert capsys.readouterr().err == ""
    names = {"feature_names": ("=cmd|' /C calc'!A0", "b"), "label_name": "@sum"}
    replace(r, **{part: names[part]}).save("f.json")
    assert run(["sample", "f.json", "-n", "3", "-o", "s.parquet"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["sample", "f.json", "-n", "3", "-o", "f.csv"]) == 0
    assert "formula" in capsys.readouterr().err


def test_samples_are_repeatable_and_balanced_on_request(released):
    for name in ("one.csv", "two.csv"):
        assert run(["sample", "r.json", "-n", "50", "--seed", "3", "-o", name]) == 0
    assert (released / "one.csv").read_bytes() == (released / "two.csv").read_bytes()
    assert run(["sample", "r.json", "-n", "40", "--per-class", "-o", "s.parquet"]) == 0
    table = pyarrow.parquet.read_table("s.parquet")
    assert table.column_names == ["a", "b", "kind"]
    assert sorted(table["kind"].to_pylist()) == ["5"] * 40 + ["6"] * 40


def test_samples_obey_a_schema_file(released, capsys):
    schema = released / "s.toml"
    schema.write_text('[columns]\na = {type = "integer", lo = 0, hi = 3}\n')
    asked = ["sample", "r.json", "-n", "200", "--seed", "3", "--schema", "s.toml"]
    assert run([*asked, "-o", "stated.parquet"]) == 0
    table = pyarrow.parquet.read_table("stated.parquet")
    assert set(table["a"].to_pylist()) <= {0, 1, 2, 3}
    schema.write_text('[columns]\na = {type = "category", levels = ["x", "y"]}\n')
    assert run([*asked, "-o", "other.parquet"]) == 2
    assert "'a' was released as a number" in capsys.readouterr().err


def test_reports_with_and_without_the_private_table(released, capsys):
    assert run(["report", "r.json", "-o", "r.html"]) == 0
    assert "keep this copy inside" not in capsys.readouterr().out
    assert run(["report", "r.json", "--reference", "t.csv", "--label", "kind", "-o", "i.html"]) == 0
    assert "keep this copy inside" in capsys.readouterr().out


def test_preprocessing_from_the_command_line(released):
    options = ["--label", "kind", "--unit", "label", "--classes", "5,6", "--epsilon", "2"]
    options += ["--delta", "1e-5", "--preprocess", "standardise,pca:1", "-o", "p.json"]
    assert run(["release", "t.csv", *options]) == 0
    r = Release.load("p.json")
    assert r.mixture.dim == 1
    assert r.sample(5, seed=0)[0].shape == (5, 2)


def test_a_terminal_sees_progress_and_a_pipe_does_not(released, capfd, monkeypatch):
    arguments = ["sample", "r.json", "-n", "2000", "--overwrite", "-o", "s.csv"]
    assert run(arguments) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(arguments) == 0
    assert "Sampling" in capfd.readouterr().err


@pytest.mark.parametrize("words", [[], ["ledger"]])
def test_a_bare_command_shows_its_help(capsys, words):
    assert run(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("Usage: privgmm")
    assert "\nCommands:\n" in said


def test_the_version_is_the_installed_one(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"privgmm {version('privgmm')}\n"


def test_the_published_method_takes_its_options(released, capsys):
    """lambda, the joint solution, the scalable noise, record-add, and rows without labels."""
    common = [
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
        "--mechanism",
        "published",
        "--overwrite",
        "-o",
        "p.json",
    ]
    labelled = ["--label", "kind", "--classes", "5,6", *common]
    ways = {
        "label": ["--unit", "label", "--smoothing", "0.01", "--solver", "joint",
                  "--neighbours", "departures", *labelled],
        "record-add": ["--unit", "record", "--radius", "30", "--adjacency", "add", *labelled],
        "record-remove": ["--unit", "record", "--radius", "30", "--adjacency", "remove",
                          "--scalable", *labelled],
        "record-change": ["--unit", "record", "--radius", "30", "--columns", "a,b",
                          "--components", "2", *common],
    }  # fmt: skip
    for adjacency, options in ways.items():
        assert run(["release", "t.csv", *options]) == 0, capsys.readouterr().err
        guarantee = Release.load("p.json").guarantee
        assert (guarantee.status, guarantee.adjacency) == ("as-published", adjacency)
    assert any("K-means" in note for note in guarantee.notes)
    capsys.readouterr()
    refused = ["--unit", "record", "--radius", "30", "--adjacency", "add-remove", *labelled]
    assert run(["release", "t.csv", *refused]) == 2
    assert "'add' or 'remove'" in capsys.readouterr().err
    proven = [word if word != "published" else "proven" for word in ways["label"]]
    assert run(["release", "t.csv", *proven]) == 2
    assert "mechanism='published'" in capsys.readouterr().err
