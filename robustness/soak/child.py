"""One command in a forked child of this warmed-up process: thousands are affordable that way."""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from privgmm import cli
from privgmm.ledger import Ledger
from privgmm.privacy.noise import OpenDPNoise

_PATIENCE = 120.0
# Where a child tells what it did; a byte in a pipe survives whatever kills the child.
_told: int | None = None


@dataclass(frozen=True)
class Outcome:
    """``code`` is the exit code, or minus the signal. ``told`` holds one letter per event:
    s a spend returned, n noise was drawn."""

    code: int
    told: str
    steps: int
    seconds: float
    stdout: str
    stderr: str
    hung: bool = False

    @property
    def killed(self) -> bool:
        return self.code < 0


def watch_events() -> None:
    """Have every spend and every draw of noise tell, in this process and its children."""
    write, draw = Ledger._write, OpenDPNoise.gaussian

    def spend(*arguments):
        row = write(*arguments)
        tell("s")
        return row

    def gaussian(*arguments):
        noise = draw(*arguments)
        tell("n")
        return noise

    Ledger._write, OpenDPNoise.gaussian = spend, gaussian


def tell(letter: str) -> None:
    if _told is not None:
        os.write(_told, letter.encode())


def start(job: Callable[[], int], folder: Path) -> tuple[int, int]:
    """Fork; the child runs ``job`` inside ``folder``. Returns its pid and what it tells."""
    beside(folder, "tmp").mkdir(exist_ok=True)
    for name in ("stdout", "stderr"):
        beside(folder, name).write_bytes(b"")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    code = 70
    try:
        global _told
        os.close(reader)
        _told = writer
        _settle(folder)
        code = job()
    finally:
        os._exit(code)


def _settle(folder: Path) -> None:
    """As a command would find the world: own output, own temporary folder, usual signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    scratch = beside(folder, "tmp")
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(beside(folder, name), os.O_WRONLY)
        os.dup2(file, number)
        os.close(file)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)


def beside(folder: Path, name: str) -> Path:
    return folder.with_name(f"{folder.name}-{name}")


def command(arguments: list[str]) -> int:
    """``privgmm ARGUMENTS`` as a program would run it."""
    try:
        cli.main(arguments)
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        return end.code if isinstance(end.code, int) else 1
    return 0


def finish(pid: int, reader: int, kill_after: float | None = None) -> tuple[int, str, bool, float]:
    """Wait for a child: (code, told, hung, seconds)."""
    began, told, hung = time.monotonic(), b"", False
    limit = _PATIENCE if kill_after is None else kill_after
    while True:
        left = began + limit - time.monotonic()
        if select.select([reader], [], [], max(left, 0.0))[0]:
            got = os.read(reader, 1 << 16)
            if not got:
                break
            told += got
            continue
        hung = kill_after is None
        os.kill(pid, signal.SIGKILL)
        limit = _PATIENCE
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    seconds = time.monotonic() - began
    return os.waitstatus_to_exitcode(status), told.decode(), hung, seconds


def outcome_of(
    folder: Path,
    arguments: tuple[str, ...],
    prepare: Callable[[], None],
    steps: Callable[[], int],
    kill_after: float | None = None,
) -> Outcome:
    """Run a command in a child that first does ``prepare``."""

    def job() -> int:
        prepare()
        code = command(absolute(folder, arguments))
        tell(f"<{steps()}>")
        return code

    code, told, hung, seconds = finish(*start(job, folder), kill_after)
    told, _, counted = told.partition("<")
    texts = [beside(folder, name).read_text(errors="replace") for name in ("stdout", "stderr")]
    return Outcome(code, told, int(counted.strip(">") or 0), seconds, *texts, hung)


def absolute(folder: Path, arguments: tuple[str, ...]) -> list[str]:
    """Files by their full names, by which the fault library knows them."""
    names = (".csv", ".db", ".json", ".parquet", ".html")
    return [str(folder / word) if word.endswith(names) else word for word in arguments]
