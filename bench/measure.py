"""Timing, peak memory and the shape of a result row."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


def together(ours: Callable[[], Any], peer: Callable[[], Any], times: int) -> tuple[float, float]:
    """Best times of two calls, taken in turns so that both see the same machine."""
    first, second = [], []
    for _ in range(times):
        first.append(seconds(ours))
        second.append(seconds(peer))
    return min(first), min(second)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def row(
    name: str,
    ours: float,
    peer: str = "",
    peer_seconds: float = float("nan"),
    goal: float | None = None,
    note: str = "",
) -> Row:
    """``ratio`` is peer / ours, so more is better; ``goal`` is the least ratio that is asked for."""
    return {
        "name": name,
        "seconds": ours,
        "peer": peer,
        "peer_seconds": peer_seconds,
        "ratio": peer_seconds / ours,
        "goal": goal,
        "note": note,
    }


# Linux counts the parent's memory into a child's ru_maxrss; VmHWM is the child's own.
_PEAK = """
import resource
from pathlib import Path
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
peaks = [line.split()[1] for line in lines if line.startswith("VmHWM")]
print(int(peaks[0] if peaks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024)
"""


def peak_mebibytes(code: str, *arguments: str) -> float:
    """Peak resident memory of a fresh Python that runs ``code``."""
    done = subprocess.run(
        [sys.executable, "-c", code + _PEAK, *arguments], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])
