"""What is about to be released is said where somebody can read it, and never in a pipe; nothing is replaced silently."""

import io
import sys
from types import SimpleNamespace

import pytest

from privgmm import Release, release
from privgmm.cli import run
from privgmm.datasets import synthetic

OPTIONS = ["--unit", "record", "--epsilon", "1", "--delta", "1e-5", "--schema", "s.toml"]
SCHEMA = """
label = "kind"
classes = ["low", "high, or so"]
[columns.a]
lo = -20
hi = 20
[columns.home_id]
type = "integer"
lo = -20
hi = 20
missing = true
[columns.name]
type = "drop"
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = synthetic(200, 2, 2, seed=0)
    names = ("low", '"high, or so"')
    rows = [f"{a},{b},{names[k]},n" for (a, b), k in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("a,home_id,kind,name\n" + "\n".join(rows) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def at_a_terminal(monkeypatch, answer):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_columns_kinds_and_classes_are_said_before_the_release(table, monkeypatch):
    screen = at_a_terminal(monkeypatch, "\n")
    assert run(["release", "t.csv", *OPTIONS]) == 0
    said = screen.getvalue()
    for words in (
        "each row, epsilon 1, delta 1e-05",
        "label      kind",
        "classes    low, high, or so",
        "a: number from -20 to 20",
        "home_id: integer from -20 to 20, cells may be missing",
        "left out   name",
        "Warning: home_id is named like an identifier",
        "Release this? [Y/n]",
    ):
        assert words in said
    assert Release.load("release.json").mixture.classes == ("low", "high, or so")


def test_no_means_that_nothing_is_spent(table, monkeypatch):
    screen = at_a_terminal(monkeypatch, "n\n")
    assert run(["release", "t.csv", *OPTIONS, "--ledger", "l.db"]) == 2
    assert "Nothing was released" in screen.getvalue()
    assert not (table / "release.json").exists()
    assert not (table / "l.db").exists()


def test_yes_and_pipes_are_silent(table, monkeypatch, capfd):
    assert run(["release", "t.csv", *OPTIONS, "-o", "pipe.json"]) == 0
    assert capfd.readouterr().err == ""
    screen = at_a_terminal(monkeypatch, "")
    assert run(["release", "t.csv", *OPTIONS, "--yes"]) == 0
    assert "About to release" not in screen.getvalue()


def test_a_file_is_replaced_only_if_asked(table, capfd):
    assert run(["release", "t.csv", *OPTIONS, "-o", "r.json"]) == 0
    assert run(["schema", "t.csv", "-o", "new.toml"]) == 0
    again = [
        ["release", "t.csv", *OPTIONS, "-o", "r.json"],
        ["schema", "t.csv", "-o", "new.toml"],
        ["sample", "r.json", "-n", "3", "-o", "t.csv"],
        ["report", "r.json", "-o", "s.toml"],
    ]
    for arguments in again:
        before = (table / arguments[-1]).read_bytes()
        assert run(arguments) == 2
        assert capfd.readouterr().err == (
            f"Error: {arguments[-1]} exists; name another file, or replace it with --overwrite.\n"
        )
        assert (table / arguments[-1]).read_bytes() == before
    for arguments in again[:3]:
        assert run([*arguments, "--overwrite"]) == 0


def test_usage_errors_lead_to_the_help_of_their_command(capfd):
    for arguments, where in (
        (["release"], "privgmm release --help."),
        (["ledger", "show"], "privgmm ledger show --help."),
        (["nothing"], "privgmm --help."),
    ):
        assert run(arguments) == 2
        assert capfd.readouterr().err.rstrip().endswith(f"See {where}")


def test_names_with_commas_stand_in_quotes(table, capfd):
    options = ["--label", "kind", "--unit", "label", "--epsilon", "1", "--delta", "1e-5"]
    classes = ["--classes", 'low, "high, or so"', "--columns", "a"]
    assert run(["release", "t.csv", *options, *classes, "-o", "r.json"]) == 0
    assert Release.load("r.json").mixture.classes == ("low", "high, or so")
    assert run(["release", "t.csv", *options, "--classes", 'low,"high', "-o", "q.json"]) == 2
    assert "quote one that holds a comma" in capfd.readouterr().err


def test_a_diagnosis_is_for_the_holder_alone(table, capsys):
    """Clipped rows are told by column name on stderr; the release and stdout do not know of them."""
    narrow = SCHEMA.replace("lo = -20\nhi = 20", "lo = -1\nhi = 1", 1)
    (table / "s.toml").write_text(narrow)
    plainly = ["release", "t.csv", *OPTIONS, "--seed", "1", "-o"]
    assert run([*plainly, "one.json"]) == 0
    told = capsys.readouterr()
    assert "eyes" not in told.out + told.err
    assert run([*plainly, "two.json", "--diagnose"]) == 0
    told = capsys.readouterr()
    assert "% of the rows lie outside the stated bounds" in told.err
    assert "Outside by column: a " in told.err
    assert "do not publish" in told.err
    assert "eyes" not in told.out
    assert (table / "one.json").read_bytes() == (table / "two.json").read_bytes()


def test_bounds_that_cannot_be_right_can_be_left_before_anything_is_spent(table, monkeypatch):
    screen = at_a_terminal(monkeypatch, "n\n")
    far = ["--unit", "record", "--epsilon", "1", "--delta", "1e-5", "--label", "kind"]
    far += ["--classes", 'low,"high, or so"', "--columns", "a,home_id", "--bounds", "900,1000"]
    assert run(["release", "t.csv", *far, "--diagnose", "-o", "r.json"]) == 2
    said = screen.getvalue()
    assert "Every row lies outside the stated bounds" in said
    assert said.index("Every row") < said.index("Release this?")
    assert "Nothing was released" in said
    assert not (table / "r.json").exists()


def test_a_terminal_is_told_the_stage_and_the_part_of_the_budget():
    from privgmm.cli.terminal import Watch

    lines = []
    watch = Watch(SimpleNamespace(update=lines.append))
    watch.stage("asking for class counts", 0.28)
    watch.passed(1000)
    watch.passed(500)
    assert lines == [
        " 28% of the budget spent; asking for class counts ...",
        " 28% of the budget spent; asking for class counts, 1,000 rows passed over ...",
        " 28% of the budget spent; asking for class counts, 1,500 rows passed over ...",
    ]


@pytest.mark.parametrize("unit", ["label", "record"])
def test_a_release_says_what_it_does_and_spends_the_whole_budget(unit):
    told = []
    x, y = synthetic(200, 2, 2, seed=0)
    radius = 30.0 if unit == "record" else None
    release(
        x, y, unit=unit, radius=radius, classes=[0, 1], seed=0,
        stage=lambda words, spent: told.append((words, spent)),
    )  # fmt: skip
    assert told[0] == ("reading the table", 0.0)
    shares = [spent for _, spent in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, abs=0.05)
    assert sum(words.startswith("asking for") for words, _ in told) >= 2
