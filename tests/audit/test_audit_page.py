"""The tables of docs/guarantees.md about the published method are what docs/audit.csv says."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_tables_are_those_of_the_measured_audits():
    tool = runpy.run_path(str(ROOT / "tools" / "audit_page.py"))
    rows = tool["stored"]()
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert tool["filled"](text, rows) == text, "run: python tools/audit_page.py"
    assert text.count("<!-- audit: ") == 2
    assert {(row["unit"], float(row["epsilon"])) for row in rows} == {
        (unit, epsilon) for unit in ("label", "record") for epsilon in tool["EPSILONS"]
    }
    # The covariances' support moves with the data: nearly every guess is right at epsilon = 1.
    (broken,) = [
        row
        for row in rows
        if (row["attack"], row["unit"], row["epsilon"])
        == ("published method, covariances", "label", "1")
    ]
    assert float(broken["guessed right"]) > float(broken["ceiling"])
    assert broken["refuted"] == "True"
