"""The vulnerability scan against an invented index: it finds, it admits, it refuses."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCAN = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "scan.py"))
scan: Callable[..., int] = SCAN["scan"]
NAME, VERSION = SCAN["KNOWN_BAD"]

INDEX: dict[str, dict[str, Any]] = {
    f"{NAME}/{VERSION}": {"vulnerabilities": [{"id": "OLD-1"}]},
    "good/1.0": {"vulnerabilities": []},
    "bad/1.0": {"vulnerabilities": [{"id": "NEW-1"}, {"id": "NEW-2", "withdrawn": "2026-01-01"}]},
    # A mirror that answers for newest versions only.
    "newest": {"info": {"version": "2.0"}, "vulnerabilities": []},
}


@pytest.mark.parametrize(
    ("lock", "code", "says"),
    [
        (
            "good==1.0 \\\n    --hash=sha256:0\nnewest==2.0 ; python_version < '3'\n",
            0,
            "2 looked up, 0 v",
        ),
        ("good==1.0\nbad==1.0\n", 1, "Vulnerable: bad 1.0: NEW-1\n"),
        ("good==1.0\nnewest==1.0\n", 2, "Not looked up: newest 1.0\n"),
        ("", 2, "0 locked versions"),
    ],
)
def test_what_the_index_knows_decides(
    lock: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scan(lock, INDEX.get) == code
    assert says in capsys.readouterr().out


def test_an_index_without_advisories_is_no_clean_bill(capsys: pytest.CaptureFixture[str]) -> None:
    silent = {**INDEX, f"{NAME}/{VERSION}": {"vulnerabilities": []}}
    assert scan("good==1.0\n", silent.get) == 2
    assert scan("good==1.0\n", {}.get) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("No advisory source is reachable")
