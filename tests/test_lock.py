"""The lock that CI installs from covers what pyproject.toml asks for, with hashes and no addresses."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements" / "ci.txt").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(lock: str) -> list[tuple[Requirement, list[str]]]:
    """Every entry of a lock file with the words that follow it, its hashes."""
    lines = [line for line in lock.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    split = [re.split(r"\s+(?=--)", line.strip()) for line in joined if line.strip()]
    return [(Requirement(head), rest) for head, *rest in split]


def asked(project: dict[str, Any]) -> list[Requirement]:
    """What the project needs to be built, used and tested."""
    extras = project["project"]["optional-dependencies"].values()
    lists = (project["project"]["dependencies"], *extras, project["build-system"]["requires"])
    found = [Requirement(text) for texts in lists for text in texts]
    return [each for each in found if each.name != project["project"]["name"]]


def uncovered(project: dict[str, Any], lock: str, python: str) -> list[str]:
    """Requirements without exactly one pinned version that satisfies them, on this Python."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    pins: dict[str, list[str]] = {}
    for entry, _ in entries(lock):
        if entry.marker is None or entry.marker.evaluate(environment):
            (pin,) = entry.specifier
            assert pin.operator == "=="
            pins.setdefault(canonicalize_name(entry.name), []).append(pin.version)
    return [
        str(each)
        for each in asked(project)
        if [each.specifier.contains(v) for v in pins.get(canonicalize_name(each.name), [])]
        != [True]
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_is_pinned_within_its_bounds(python: str) -> None:
    assert uncovered(PROJECT, LOCK, python) == [], "run: make lock"


def test_a_lock_that_lags_behind_is_noticed() -> None:
    newer = {**PROJECT, "build-system": {"requires": ["hatchling>=9999"]}}
    assert uncovered(newer, LOCK, "3.11") == ["hatchling>=9999"]
    (numpy,) = (text for text in PROJECT["project"]["dependencies"] if text.startswith("numpy"))
    without = re.sub(r"^numpy==", "other==", LOCK, flags=re.MULTILINE)
    assert uncovered(PROJECT, without, "3.12") == [str(Requirement(numpy))]


def test_every_entry_has_hashes_and_nothing_names_a_host() -> None:
    assert len(entries(LOCK)) > len(PROJECT["project"]["dependencies"])
    for entry, hashes in entries(LOCK):
        assert entry.url is None
        assert hashes, entry.name
        assert all(HASH.fullmatch(each) for each in hashes), entry.name
    assert "://" not in LOCK
    assert not re.search(r"^\s*-(?!-hash)", LOCK, re.MULTILINE)


def test_locked_set_up_installs_nothing_but_the_lock_and_the_package() -> None:
    """What make would run; CI asks for it with LOCKED=1."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "--always-make", "LOCKED=1", "setup"]
    shown = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    installs = [line for line in shown.splitlines() if " install " in line]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert installs[0].endswith("-r requirements/ci.txt")
    assert "--no-deps" in installs[1]
    assert "--no-build-isolation" in installs[1]
    assert "export LOCKED=1" in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
