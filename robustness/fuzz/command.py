"""Run a command line and watch everything it says and leaves."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

from .case import Command

Program = Callable[[list[str]], int]


class Hang(BaseException):
    """A case took longer than its family allows. Not an Exception: nothing may swallow it."""


@dataclass(frozen=True)
class Seen:
    """All that a run showed. ``code`` is None where an exception came out instead."""

    code: int | None
    out: str
    err: str
    log: str = ""
    raised: str = ""


def run_here(case: Command, program: Program | None = None) -> Seen:
    """In this process and the current folder, through the function behind the console script."""
    from privgmm.cli import run

    out = io.TextIOWrapper(io.BytesIO(), case.encoding, "strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), case.encoding, "backslashreplace", write_through=True)
    code, raised = None, ""
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        logged() as log,
        mock.patch("privgmm.cli.app.command", _command),
    ):
        try:
            code = (run if program is None else program)(list(case.arguments))
        except (Exception, SystemExit) as problem:
            raised = type(problem).__name__
    return Seen(code, _text(out), _text(err), "\n".join(log), raised)


def run_alone(case: Command, seconds: float) -> Seen:
    """In a process of its own, as users do."""
    environment = {**os.environ, "PYTHONIOENCODING": case.encoding, "COLUMNS": "80"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "privgmm", *case.arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise Hang from None
    return Seen(done.returncode, *(t.decode(case.encoding) for t in (done.stdout, done.stderr)))


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise Hang in the block when its time is over."""

    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def logged() -> Iterator[list[str]]:
    """What any library writes to a log meanwhile."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    keep, root = Keep(), logging.getLogger()
    level = root.level
    root.addHandler(keep)
    root.setLevel(logging.INFO)
    try:
        yield found
    finally:
        root.removeHandler(keep)
        root.setLevel(level)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below the folder with its bytes; links and folders with a mark."""
    found: dict[str, bytes] = {}
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in [*folders, *files]:
            path = os.path.join(place, name)
            key = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            if os.path.islink(path):
                found[key] = b"link to " + os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as handle:
                    found[key] = handle.read()
            else:
                found[key] = b"folder or special file"
    return found


@cache
def _built() -> object:
    from typer.main import get_command

    from privgmm.cli.app import app

    return get_command(app)


def _command() -> object:
    # Built once: most of a short command's time would be Typer reading signatures again.
    return _built()


def _text(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode(stream.encoding)  # type: ignore[attr-defined]
