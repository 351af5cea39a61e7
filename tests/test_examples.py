"""The examples run as they stand, without any data from outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "PRIVGMM_DATA"}
    done = subprocess.run(
        [sys.executable, "-W", "error::privgmm.PrivacyLeakWarning", str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    # A picture, named like the script, and nothing else.
    assert {path.name for path in tmp_path.iterdir()} == {f"{example.stem}.png"}
