"""Compile the fault library, load it into this process, and aim it."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")
_LOADED = "PRIVGMM_SOAK_SHIM"

# The kinds of steps and the deeds, as in shim.c.
OPEN, READ, WRITE, SYNC, RENAME, UNLINK, TRUNCATE, CHMOD = (1 << i for i in range(8))
CHANGES = OPEN | WRITE | SYNC | RENAME | UNLINK | TRUNCATE | CHMOD
ALL = CHANGES | READ
(NOTHING, KILL_BEFORE, KILL_AFTER, TEAR, SHORTEN, FAIL, KEEP_FAILING, SIGNAL, VANISH) = range(9)


def preload() -> None:
    """Start this program again with the library in front of libc, unless it is there already."""
    if _LOADED in os.environ:
        return
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        sys.exit("The soak needs Linux and a C compiler (cc) for its fault library.")
    library = Path(tempfile.mkdtemp(prefix="privgmm-shim-")) / "shim.so"
    subprocess.run(
        [compiler, "-std=c11", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE], check=True
    )
    added = {_LOADED: str(library), "LD_PRELOAD": str(library)}
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **_ONE_THREAD, **added})


# Forked children must not inherit the idea of threads that only the parent has.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}


def unload() -> None:
    """The library stays mapped; its file is no longer needed."""
    shutil.rmtree(Path(os.environ[_LOADED]).parent, ignore_errors=True)


@functools.cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(os.environ[_LOADED])
    found.soak_steps.restype = ctypes.c_long
    return found


def arm(
    folder: Path, kinds: int, deed: int, argument: int = 0, step: int = 0, journal: int = -1
) -> None:
    """From now on, do ``deed`` at the given step of these kinds under ``folder``."""
    library().soak_arm(os.fsencode(folder), kinds, deed, argument, ctypes.c_long(step), journal)


def steps() -> int:
    return int(library().soak_steps())


def shift_clock(seconds: int) -> None:
    library().soak_clock(ctypes.c_long(seconds))
