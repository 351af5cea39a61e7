"""No flow leaves this machine: no address but loopback is looked up, bound or connected to.

Python's own sockets are watched in every process (``sitecustomize.py``). Where the system lets us
make an empty network namespace, all flows run inside one and the kernel counts what compiled code
tries. That reports fetch nothing when opened is shown in tests/report.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def namespace() -> list[str]:
    """The command that enters an empty network namespace; empty where that is not allowed."""
    enter = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None:
        return []
    return enter if subprocess.run([*enter, "true"], capture_output=True).returncode == 0 else []


def offline(script: str, folder: Path, namespace: list[str]) -> tuple[str, list[str]]:
    """What a script printed last, and the attempts noted in its processes."""
    log = folder / "attempts"
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PRIVGMM_NETWORK_LOG": str(log),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    environment.pop("DASK_SCHEDULER_ADDRESS", None)
    environment.pop("PRIVGMM_DATA", None)
    arguments = [str(HERE / "offline.py"), str(int(bool(namespace))), str(HERE / script)]
    done = subprocess.run(
        [*namespace, sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    noted = log.read_text("utf-8").splitlines() if log.exists() else []
    return done.stdout.splitlines()[-1], noted


@pytest.mark.slow
def test_the_flows_stay_on_this_machine(tmp_path: Path, namespace: list[str]) -> None:
    last, noted = offline("flows.py", tmp_path, namespace)
    assert noted == []
    assert last == ("unroutable: 0" if namespace else "unroutable: not counted")
    assert {"label.json", "record.json", "r.html", "plan.svg", "demo"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_planted_calls_are_caught(tmp_path: Path, namespace: list[str]) -> None:
    last, noted = offline("planted.py", tmp_path, namespace)
    assert noted == [
        "socket.connect ('192.0.2.1', 9)",
        "socket.getaddrinfo name.invalid",
        "socket.bind ('', 0)",
        "socket.sendto ('192.0.2.1', 9)",
    ]
    assert last == ("unroutable: 1" if namespace else "unroutable: not counted")
