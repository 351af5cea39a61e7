"""A slice of the soak: faults do no harm, and the soak finds what does."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = 22


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the fault library needs a C compiler")
def test_a_slice_of_the_soak_and_the_bugs_it_must_find():
    words = ["--faults", str(FAULTS), "--minutes", "2", "--seed", "7", "--plants"]
    run = subprocess.run(
        [sys.executable, "-m", "robustness.soak", *words], cwd=ROOT, text=True, capture_output=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "NOT FOUND" not in run.stdout
    assert len(re.findall(r"^.{36} +\d+  not: ", run.stdout, re.MULTILINE)) == 7
    assert re.search(rf"^{FAULTS} faults, 0 violations", run.stdout, re.MULTILINE)
