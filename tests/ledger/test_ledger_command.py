"""``privgmm ledger`` as its user meets it."""

import json

import pytest
from typer.testing import CliRunner

from privgmm.cli.ledger import app
from privgmm.errors import InputError
from privgmm.ledger import Ledger, Table
from privgmm.privacy import mu_from_epsilon


def call(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_budget_spend_and_show(tmp_path):
    path = tmp_path / "survey.ledger"
    said = call("budget", "--ledger", path, "--epsilon", "2", "--delta", "1e-5", "--unit", "label")
    assert "of 2 at delta=1e-05" in said
    call(
        "spend",
        "--ledger",
        path,
        "--epsilon",
        "0.5",
        "--delta",
        "0",
        "--note",
        "[bold]count\x1b[2J",
    )
    Ledger.open(path).spend(0.1, 0.4, 1e-5, "label", "iris")
    table = call("show", "--ledger", path)
    assert "Protects when one label changes." in table
    assert "[bold]" in table
    assert "\x1b" not in table
    assert "iris" in table
    found = json.loads(call("show", "--ledger", path, "--json"))
    assert [row["epsilon"] for row in found["releases"]] == [0.5, 0.4]
    assert 0.8 < found["spent_epsilon"] < 1.0
    assert found["remaining_epsilon"] < 1.5


def test_the_total_can_be_raised_but_the_unit_stays(tmp_path):
    path = tmp_path / "a.ledger"
    call("budget", "--ledger", path, "--epsilon", "1", "--delta", "1e-5")
    call("budget", "--ledger", path, "--epsilon", "3", "--delta", "1e-6")
    assert Ledger.open(path).remaining().total_epsilon == 3
    Ledger.open(path).spend(0.1, 0.4, 1e-6, "label")
    call("budget", "--ledger", path, "--epsilon", "4", "--delta", "1e-6")
    assert Ledger.open(path).remaining().relation == "label"
    assert Ledger.open(path).remaining().total_epsilon == 4


def test_a_unit_can_be_stated_later_or_in_addition(tmp_path):
    path = tmp_path / "a.ledger"
    total = ("--ledger", path, "--epsilon", "3", "--delta", "1e-5")
    call("budget", *total)
    call("budget", *total, "--unit", "record")
    assert [rest.relation for rest in Ledger.open(path).budgets()] == ["replace"]
    said = call("budget", *total, "--unit", "person", "--adjacency", "add-remove", "--max-rows", 4)
    assert "one record is replaced" in said
    assert "all rows of one person are added or removed" in said
    Ledger.open(path).spend(0.1, 0.4, 1e-5, "record", adjacency="add-remove")
    found = json.loads(call("show", "--ledger", path, "--json"))
    assert [b["neighbours"] for b in found["budgets"]] == ["replace", "person-add-remove"]
    with pytest.raises(InputError, match="several budgets"):
        call("budget", *total)
    for words in (["--adjacency", "replace"], ["--adjacency", "replace", "--unit", "label"]):
        with pytest.raises(InputError, match="An adjacency goes with"):
            call("budget", *total, *words)


def test_show_tells_all_relations_at_once(tmp_path):
    path = tmp_path / "a.ledger"
    for unit in ("record", "label"):
        call("budget", "--ledger", path, "--epsilon", 3, "--delta", "1e-5", "--unit", unit)
    ledger, mu = Ledger.open(path), mu_from_epsilon(1.0, 1e-5)
    ledger.spend(mu, 1.0, 1e-5, "record", table=Table("homes.csv", "ab-"), output="r.json")
    ledger.spend(mu, 1.0, 1e-5, "label")
    said = call("show", "--ledger", path)
    assert "Protects when one label changes." in said
    assert "homes.csv" in said
    assert "r.json" in said
    assert "when one label changes: epsilon=1.465" in said
    assert "when one record is replaced: no bound; release 2 bounds nothing there" in said
    assert "when one record is added or removed: no bound; release 1" in said
    assert "Spent epsilon=1.465 of 3 at delta=1e-05 for the case that one label changes" in said
    assert "There is no bound any more for the case that one record is replaced" in said
    found = json.loads(call("show", "--ledger", path, "--json"))
    assert found["spent_epsilon"] is None
    assert found["budgets"][1]["spent_epsilon"] == pytest.approx(1.465, abs=5e-4)
    together = {row["neighbours"]: row for row in found["together"]}
    assert together["label"]["epsilon"] == found["budgets"][1]["spent_epsilon"]
    assert together["replace"]["epsilon"] is None
    assert together["person-replace"]["no_bound"][0].endswith("rows of one person is stated")
    assert found["releases"][0]["table"] == "homes.csv"


def test_overspending_is_refused(tmp_path):
    path = tmp_path / "a.ledger"
    call("budget", "--ledger", path, "--epsilon", "1", "--delta", "1e-5")
    with pytest.raises(InputError, match="does not fit into the budget"):
        call("spend", "--ledger", path, "--epsilon", "1.5", "--delta", "1e-6")
    with pytest.raises(InputError, match="There is no ledger"):
        call("show", "--ledger", tmp_path / "missing")
