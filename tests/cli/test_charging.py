"""``privgmm release --ledger``: what the entry names, what is printed, and what Ctrl-C says."""

import signal

import pytest

from privgmm.cli import run
from privgmm.curate import proven
from privgmm.datasets import synthetic
from privgmm.errors import InputError
from privgmm.ledger import Ledger
from privgmm.releases import Release

COMMON = ["--label", "c", "--classes", "x,y", "--epsilon", "0.5", "--delta", "1e-5"]
RECORD = [*COMMON, "--unit", "record", "--radius", "25", "--seed", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = synthetic(60, 2, 2, seed=0)
    rows = [f"{a},{b},{'xy'[k]}" for (a, b), k in zip(X, y, strict=True)]
    for name, header in (("homes.csv", "a,b,c"), ("wine.csv", "d,e,c")):
        (tmp_path / name).write_text("\n".join([header, *rows]) + "\n")
    Ledger.create(tmp_path / "l.db", 2.0, 1e-5, "label")
    return tmp_path


def release(*arguments, table="homes.csv", output="r.json"):
    return run(["release", table, *RECORD, "--ledger", "l.db", "-o", output, *arguments])


def test_an_entry_names_table_output_and_note(folder, capsys):
    assert release("--note", "for the annual report") == 0
    (row,) = Ledger.open("l.db").rows()
    assert (row.table.name, row.output, row.note) == (
        "homes.csv",
        "r.json",
        "for the annual report",
    )
    rest = Ledger.open("l.db").remaining()
    said = capsys.readouterr().out
    assert "Ledger l.db: Spent epsilon=0.5 of 2 at delta=1e-05 for the case that one label" in said
    assert f"one further release may take epsilon={rest.epsilon:g}." in said


def test_preprocessing_does_not_make_another_table(folder):
    assert release() == 0
    assert release("--preprocess", "standardise", output="s.json") == 0
    one, other = Ledger.open("l.db").rows()
    assert one.table == other.table


def test_another_table_asks_for_a_name(folder, capsys):
    assert release() == 0
    assert release(table="wine.csv", output="w.json") == 2
    said = capsys.readouterr().err
    assert "This ledger is about homes.csv, and wine.csv has other columns" in said
    assert "--ledger-table NAME" in said
    assert said.count("\n") == 1
    assert not (folder / "w.json").exists()
    assert release("--ledger-table", "wine", table="wine.csv", output="w.json") == 0
    assert [row.table.name for row in Ledger.open("l.db").rows()] == ["homes.csv", "wine"]


def test_a_note_needs_a_ledger(folder, capsys):
    assert run(["release", "homes.csv", *RECORD, "--note", "lost"]) == 2
    assert "go with a ledger" in capsys.readouterr().err


def interrupt(*arguments):
    # A shell's background jobs start with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_after_the_charge_says_what_was_spent(folder, capsys, monkeypatch):
    monkeypatch.setattr(proven, "_estimate", interrupt)
    assert release() == 130
    assert capsys.readouterr().err == (
        "Interrupted; no file was left half-written. The ledger l.db is charged: epsilon=0.5 at "
        "delta=1e-05 stays spent (entry 1).\n"
    )
    assert len(Ledger.open("l.db").rows()) == 1


def test_ctrl_c_before_the_charge_says_that_nothing_was_spent(folder, capsys, monkeypatch):
    monkeypatch.setattr("privgmm.curate.publish.checked", interrupt)
    assert release() == 130
    assert capsys.readouterr().err.endswith("half-written. Nothing was spent.\n")
    assert Ledger.open("l.db").rows() == []


def test_ctrl_c_inside_the_charge_says_what_the_file_says(folder, capsys, monkeypatch):
    from privgmm.ledger import ledger

    write = ledger.write_spend

    def written(*arguments):
        write(*arguments)
        interrupt()

    monkeypatch.setattr(ledger, "write_spend", written)
    assert release() == 130
    assert capsys.readouterr().err.endswith("Nothing was spent.\n")
    assert Ledger.open("l.db").rows() == []


def test_a_release_that_cannot_be_written_says_what_was_spent(folder, capsys, monkeypatch):
    def full(self, path, replace=False):
        raise InputError("Cannot write r.json: No space left on device.")

    monkeypatch.setattr(Release, "save", full)
    assert release() == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "Error: Cannot write r.json: No space left on device. The ledger l.db is"
    )
    assert "stays spent (entry 1)." in said


def test_a_refusal_says_nothing_of_a_charge(folder, capsys):
    assert release("--epsilon", "5") == 2
    assert "charged" not in capsys.readouterr().err
