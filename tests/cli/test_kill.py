"""kill -9 at any point leaves no release and possibly spent budget, or a whole release that was paid for."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from privgmm import Release
from privgmm.datasets import synthetic
from privgmm.ledger import Ledger

# Whole processes, which are slow to start; robustness.soak kills thousands of forked ones.
KILLS = 6


def start(folder):
    arguments = ["release", "t.csv", "--label", "c", "--unit", "record", "--classes", "x,y"]
    arguments += ["--radius", "25", "--epsilon", "0.01", "--delta", "1e-5", "--ledger", "l.db"]
    return subprocess.Popen(
        [sys.executable, "-m", "privgmm", *arguments, "-o", "release.json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def folder(tmp_path):
    x, y = synthetic(200, 2, 2, seed=0)
    lines = [f"{a},{b},{'xy'[k]}" for (a, b), k in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
    Ledger.create(tmp_path / "l.db", 10.0, 1e-4, "record", "replace")
    return tmp_path


@pytest.mark.slow
def test_kills_at_many_points(folder):
    began = time.monotonic()
    assert start(folder).wait() == 0
    whole = time.monotonic() - began
    out, spent = folder / "release.json", len(Ledger.open(folder / "l.db").rows())
    assert spent == 1
    out.unlink()
    outcomes = set()
    # Denser towards the end, where the ledger is charged and the file is written.
    for share in 1.1 * np.linspace(0, 1, KILLS) ** 0.5:
        process = start(folder)
        time.sleep(whole * share)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        charged = len(Ledger.open(folder / "l.db").rows()) - spent
        spent += charged
        assert charged in (0, 1)
        if out.exists():
            assert Release.load(out).mixture.n_classes == 2
            assert charged == 1
            out.unlink()
        outcomes.add((charged, process.returncode == 0))
    # The kills did hit before the charge; the last ones let the release finish.
    assert (0, False) in outcomes
