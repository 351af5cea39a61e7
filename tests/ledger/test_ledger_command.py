"""``privgmm ledger`` as its user meets it."""

import json

import pytest
from typer.testing import CliRunner

from privgmm.cli.ledger import app
from privgmm.errors import InputError
from privgmm.ledger import Ledger


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
    with pytest.raises(InputError, match="cannot change"):
        call("budget", "--ledger", path, "--epsilon", "3", "--delta", "1e-6", "--unit", "record")


def test_overspending_is_refused(tmp_path):
    path = tmp_path / "a.ledger"
    call("budget", "--ledger", path, "--epsilon", "1", "--delta", "1e-5")
    with pytest.raises(InputError, match="does not fit into the budget"):
        call("spend", "--ledger", path, "--epsilon", "1.5", "--delta", "1e-6")
    with pytest.raises(InputError, match="There is no ledger"):
        call("show", "--ledger", tmp_path / "missing")
