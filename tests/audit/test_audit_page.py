"""Numbers about the published method in docs/guarantees.md and docs/published.md are those of docs/audit.csv."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "audit_page.py"))


def read(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_tables_are_those_of_the_measured_audits():
    rows = TOOL["stored"]()
    text = read("guarantees.md")
    assert TOOL["filled"](text, rows) == text, "run: python tools/audit_page.py"
    assert text.count("<!-- audit: ") == 2
    attacked = [row for row in rows if row["unit"] != "fact"]
    assert {(row["unit"], float(row["epsilon"])) for row in attacked} == {
        (unit, epsilon) for unit in ("label", "record") for epsilon in TOOL["EPSILONS"]
    }
    # The covariances' support moves with the data: nearly every guess is right at epsilon = 1.
    (broken,) = [
        row
        for row in attacked
        if (row["attack"], row["unit"], row["epsilon"])
        == ("published method, covariances", "label", "1")
    ]
    assert float(broken["guessed right"]) > float(broken["ceiling"])
    assert broken["refuted"] == "True"


def test_facts_are_what_they_come_out_as_and_every_one_is_quoted():
    stored = [row for row in TOOL["stored"]() if row["unit"] == "fact"]
    fresh = {row["attack"]: row["value"] for row in TOOL["facts"]()}
    assert {row["attack"]: row["value"] for row in stored} == fresh, "--facts writes them afresh"
    pages = "".join(read(name) for name in TOOL["PAGES"])
    assert set(re.findall(r"<!-- fact: ([a-z0-9 ]+) -->", pages)) == set(fresh)
    for name in TOOL["PAGES"]:
        assert TOOL["filled"](read(name), TOOL["stored"]()) == read(name), (
            "run: tools/audit_page.py"
        )


@pytest.mark.parametrize(
    ("name", "start"),
    [("published.md", "# The published"), ("guarantees.md", "## Why the published")],
)
def test_no_number_about_the_published_method_stands_outside_a_generated_table(name, start):
    """Decimals, shares and powers of ten are measurements; they stand in blocks and marks that are filled."""
    text = read(name)
    text = text[text.index(start) :]
    text = re.split(r"^## How the audit concludes", text, flags=re.M)[0]
    for filled in (r"<!-- (?:audit|numbers): .*?<!-- end -->", r"<!-- fact: .*?<!-- / -->"):
        text = re.sub(filled, "", text, flags=re.S)
    for code in (r"^```.*?^```", r"`[^`\n]*`"):
        text = re.sub(code, "", text, flags=re.S | re.M)
    assert not re.findall(r"\d+\.\d+|\d+ ?%|\d·10|\d+e[-+]?\d+", text)
