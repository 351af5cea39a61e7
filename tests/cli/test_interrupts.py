"""Ctrl-C, SIGTERM and a full standard output: one sentence, an honest exit code, nothing in part."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from privgmm import Release
from privgmm.model.mixture import Mixture
from privgmm.releases import Guarantee


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    mixture = Mixture(np.ones(1), np.zeros((1, 2)), np.eye(2)[None], ("x",))
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.25, True)
    Release(mixture, guarantee).save(folder / "r.json")
    return folder


def sampling(folder, n, **streams):
    return subprocess.Popen(
        [sys.executable, "-m", "privgmm", "sample", "r.json", "-n", str(n), "-o", "s.csv"],
        cwd=folder, text=True, stderr=subprocess.PIPE, **streams,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_behind(folder, number, code):
    # Minutes of sampling, interrupted as soon as its temporary file has grown.
    process = sampling(folder, 10**8, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in folder.glob(".s.csv.*.part")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert said == "Interrupted; no file was left half-written.\n"
    assert os.listdir(folder) == ["r.json"]


@pytest.mark.slow
def test_a_result_that_cannot_be_printed_is_one_sentence(folder):
    with open("/dev/full", "w") as full:
        process = sampling(folder, 10, stdout=full)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said == "Error: Cannot go on: No space left on device.\n"
    assert (folder / "s.csv").read_text().count("\n") == 11
    (folder / "s.csv").unlink()
