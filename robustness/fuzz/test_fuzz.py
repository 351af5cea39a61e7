"""A slice of the fuzz run in the suite, and proof that its oracle can fail."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from privgmm.errors import InputError

from .case import SECRET_NUMBER, SECRET_TEXT, Call, Command, Family
from .documents import document
from .families import FAMILIES
from .oracle import judge
from .sites import report, watched
from .soak import case_of, counts, soak

# Families whose inputs take long run by ``make fuzz`` alone.
QUICK = tuple(f for f in FAMILIES if f.share >= 300 and f.seconds <= 60)
SECONDS = 9.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_slice_of_every_quick_family():
    """Cut off by the clock on a slow machine; whatever ran must be without a fault."""
    tallies = soak(QUICK, 900, seed=1, most_seconds=SECONDS)
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    assert faults == []
    assert sum(tally.accepted for tally in tallies.values()) > 0
    assert sum(tally.refused for tally in tallies.values()) > 0


def test_the_same_number_gives_the_same_input():
    for family in QUICK[:3]:
        assert case_of(family, 3, 0).files == case_of(family, 3, 0).files
        assert case_of(family, 3, 0).files != case_of(family, 4, 0).files


def test_counts_are_at_least_what_was_asked():
    assert sum(counts(FAMILIES, 100_000).values()) >= 100_000
    assert min(counts(FAMILIES, 10).values()) == 1


def _says(text: str, code: int, where: str = "stderr") -> Callable[[list[str]], int]:
    def program(_: list[str]) -> int:
        print(text, file=getattr(sys, where))
        return code

    return program


def _leaves(name: str, content: str, code: int) -> Callable[[list[str]], int]:
    def program(_: list[str]) -> int:
        Path(name).write_text(content)
        if code:
            print("Error: No.", file=sys.stderr)
        return code

    return program


def _raises(_: list[str]) -> int:
    raise RuntimeError(SECRET_TEXT)


def _hangs(_: list[str]) -> int:
    time.sleep(5)
    return 0


def _removes(_: list[str]) -> int:
    os.remove("t.csv")
    return 0


PLANTED = {
    "a leaked number": (_says(f"Error: The cell {SECRET_NUMBER} is bad.", 2), "value on stderr"),
    "a leaked text": (_says(SECRET_TEXT, 0, "stdout"), "value on stdout"),
    "an exception": (_raises, "exit None RuntimeError"),
    "a traceback": (_says("Traceback (most recent call last):", 2), "traceback"),
    "another exit code": (_says("Error: No.", 1), "exit 1"),
    "no sentence": (_says("Error: no", 2), "not one sentence"),
    "two sentences": (_says("Error: No.\nNo.", 2), "not one sentence"),
    "silence": (lambda _: 2, "not one sentence"),
    "a terminal's control": (_says("Error: \x1b[2J No.", 2), "control characters"),
    "a part left": (_leaves(".r.json.x.part", "{", 2), "left '.r.json.x.part'"),
    "a file unasked": (_leaves("other.txt", "x", 0), "wrote 'other.txt' unasked"),
    "half a release": (_leaves("r.json", '{"format": ', 0), "not whole"),
    "half a page": (_leaves("r.json", "<!doctype html><html>", 0), "not whole"),
    "a value in a file": (_leaves("r.json", SECRET_TEXT, 0), "not whole"),
    "an input removed": (_removes, "wrote 't.csv' unasked"),
    "a hang": (_hangs, "took more than"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_in_a_command_is_found(name):
    program, fault = PLANTED[name]
    case = Command(("release", "t.csv"), {"t.csv": b"a\n1\n"}, outputs=("r.json",))
    # Only a hang has to be cut short; a first look at a release loads modules, which takes its time.
    found = judge(case, 0.5 if program is _hangs else 30.0, program).faults
    assert any(fault in one for one in found), found


def test_a_good_command_has_no_fault():
    case = Command(("show", "r.json"), {"r.json": document("two")})
    assert judge(case) == judge(case)
    assert judge(case).accepted
    assert judge(case).faults == ()


def _quotes_a_cell() -> None:
    try:
        float(SECRET_TEXT)
    except ValueError as problem:
        raise InputError("Features must be numbers.") from problem


def _forgets_to_hide_it() -> None:
    try:
        float(SECRET_TEXT)
    except ValueError:
        raise InputError("Features must be numbers.")  # noqa: B904 (the fault to be found)


def _hides_it() -> None:
    try:
        float(SECRET_TEXT)
    except ValueError:
        raise InputError("Features must be numbers.") from None


def _refuses_without_a_sentence() -> None:
    raise InputError("bad")


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (lambda: float("x"), "raised ValueError"),
        (_quotes_a_cell, "value in what an exception prints"),
        (_forgets_to_hide_it, "value in what an exception prints"),
        (_refuses_without_a_sentence, "no sentence"),
        (lambda: time.sleep(5), "took more than"),
    ],
)
def test_a_planted_fault_in_a_call_is_found(function, fault):
    assert fault in " ".join(judge(Call(function, "planted"), 0.5).faults)


def test_a_clean_refusal_has_no_fault():
    assert judge(Call(_hides_it, "planted")).faults == ()


def test_refusals_are_traced_to_where_they_are_made():
    with watched() as reached:
        assert not judge(Command(("show", "none.json"))).accepted
    assert any(file == "files.py" for file, _ in reached)
    told = report(reached)
    assert told.startswith("1 of ")
    assert "data/region.py" in told


def test_faults_are_counted_and_can_be_replayed():
    family = Family("planted", lambda rng: Call(lambda: 1 / 0, "planted"), 1)
    tally = soak((family,), 3, seed=0)["planted"]
    assert (tally.inputs, len(tally.faults)) == (3, 3)
    assert "--family 'planted' --case 2 --seed 0" in tally.faults[2]
