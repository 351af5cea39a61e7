"""The commands of a working day: release, show, report, sample, on a terminal and in a pipe."""

import json
from dataclasses import replace
from importlib.metadata import version

import numpy as np
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


def test_numeric_classes_keep_their_type(released):
    r = Release.load("r.json")
    assert r.mixture.classes == (5, 6)
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
    assert run(["sample", "f.json", "-n", "3", "-o", "s.csv"]) == 0
    assert "formula" in capsys.readouterr().err


def test_samples_are_repeatable_and_balanced_on_request(released):
    for name in ("one.csv", "two.csv"):
        assert run(["sample", "r.json", "-n", "50", "--seed", "3", "-o", name]) == 0
    assert (released / "one.csv").read_bytes() == (released / "two.csv").read_bytes()
    assert run(["sample", "r.json", "-n", "40", "--per-class", "-o", "s.parquet"]) == 0
    table = pyarrow.parquet.read_table("s.parquet")
    assert table.column_names == ["a", "b", "kind"]
    assert np.bincount(table["kind"].to_numpy())[5:].tolist() == [40, 40]


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
    arguments = ["sample", "r.json", "-n", "2000", "-o", "s.csv"]
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
