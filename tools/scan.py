"""Look every locked version up in the package index's advisories: ``python tools/scan.py LOCK``.

The index that pip is set up for answers ``NAME/VERSION/json`` with the version's known vulnerabilities.
Some mirrors answer only ``NAME/json``, which speaks of the newest version; an older pin is then
listed as not looked up, never as clean. A version known to be vulnerable is asked about first, so
an index without advisories is told apart from a clean bill. Exit 0: all clean; 1: a
vulnerability; 2: no source, or some versions could not be looked up.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
KNOWN_BAD = ("pycrypto", "2.6.1")  # CVE-2013-7459; the project is dead and never fixed it
NO_SOURCE = "No advisory source is reachable: the package index did not report a known vulnerability of {} {}."

Get = Callable[[str], dict[str, object] | None]


def index() -> str:
    """The address of the index that pip is set up for, as its help states it."""
    command = [sys.executable, "-m", "pip", "install", "--help"]
    wide = {**os.environ, "COLUMNS": "1000"}
    shown = subprocess.run(command, env=wide, capture_output=True, text=True, check=True).stdout
    found = re.search(r"--index-url <url>.*?\(default (\S+?)/*\)", shown, re.DOTALL)
    return found[1].removesuffix("/simple") if found else ""


def get(path: str, *, base: str) -> dict[str, object] | None:
    """The JSON document at ``path``, or None when there is none."""
    try:
        with urllib.request.urlopen(f"{base}/pypi/{path}/json", timeout=60) as answer:
            document = json.load(answer)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def vulnerabilities(name: str, version: str, get: Get) -> list[str] | None:
    """Identifiers of what is known about a version; None when it cannot be looked up."""
    found = get(f"{name}/{version}")
    if found is None:
        found = get(name)
        info = found.get("info") if found else None
        if not isinstance(info, dict) or info.get("version") != version:
            return None
    known = found.get("vulnerabilities") if found else None
    if not isinstance(known, list):
        return None
    return sorted(str(each["id"]) for each in known if not each.get("withdrawn"))


def scan(lock: str, get: Get) -> int:
    """Print what is known about every pin of a lock file; the exit code."""
    if not vulnerabilities(*KNOWN_BAD, get):
        print(NO_SOURCE.format(*KNOWN_BAD), file=sys.stderr)
        return 2
    pins = PIN.findall(lock)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda pin: vulnerabilities(*pin, get), pins))
    unknown = [pin for pin, answer in zip(pins, answers, strict=True) if answer is None]
    bad = [(pin, answer) for pin, answer in zip(pins, answers, strict=True) if answer]
    print(
        f"{len(pins)} locked versions, {len(pins) - len(unknown)} looked up, {len(bad)} vulnerable."
    )
    for (name, version), answer in bad:
        print(f"Vulnerable: {name} {version}: {', '.join(answer)}")
    if unknown:
        print("Not looked up:", ", ".join(f"{name} {version}" for name, version in unknown))
    return 1 if bad else 2 if unknown or not pins else 0


if __name__ == "__main__":
    address = index()
    sys.exit(scan(Path(sys.argv[1]).read_text("utf-8"), lambda path: get(path, base=address)))
