"""What must hold whatever the input: a result, or one sentence; no value, no trace, no leavings."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .case import SECRETS, Call, Case, Command, Verdict
from .command import Hang, Program, Seen, deadline, logged, run_alone, run_here, snapshot

_SCRIPT = "<script>zq"


def judge(case: Case, seconds: float = 30.0, program: Program | None = None) -> Verdict:
    """Run a case in a new folder and say what is wrong with what happened, if anything."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="privgmm-fuzz-") as name:
        folder = Path(name)
        for path, content in case.files.items():
            (folder / path).parent.mkdir(exist_ok=True, parents=True)
            (folder / path).write_bytes(content)
        if isinstance(case, Command) and case.prepare is not None:
            case.prepare(folder)
        os.chdir(folder)
        try:
            with deadline(seconds), unheard() as lost:
                verdict = (
                    _call(case)
                    if isinstance(case, Call)
                    else _command(case, folder, seconds, program)
                )
            return replace(verdict, faults=(*verdict.faults, *lost))
        except Hang:
            return Verdict(False, (f"took more than {seconds:g} s",))
        finally:
            os.chdir(home)


@contextlib.contextmanager
def unheard() -> Iterator[list[str]]:
    """Exceptions that Python could only print, with whatever they quote."""
    found: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda problem: found.append(f"printed {problem.exc_type.__name__}")
    try:
        yield found
    finally:
        sys.unraisablehook = before


def _command(case: Command, folder: Path, seconds: float, program: Program | None) -> Verdict:
    before = snapshot(folder)
    seen = run_alone(case, seconds) if case.alone else run_here(case, program)
    after = snapshot(folder)
    faults = [*_words(seen), *_leavings(case, seen, before, after)]
    return Verdict(seen.code == 0, tuple(faults), seen.err.strip() or seen.out[:200])


def _words(seen: Seen) -> list[str]:
    faults = []
    if seen.code not in (0, 2):
        faults.append(f"exit {seen.code} {seen.raised}".strip())
    lines = [line for line in seen.err.splitlines() if not line.startswith("Warning: ")]
    if seen.code == 0 and lines:
        faults.append("success with complaints")
    if seen.code == 2 and not (len(lines) == 1 and sentence(lines[0].removeprefix("Error: "))):
        faults.append("not one sentence")
    if "Traceback" in seen.err + seen.out:
        faults.append("traceback")
    if any(_moves_a_terminal(c) for c in seen.err + seen.out):
        faults.append("control characters on a terminal")
    faults += [f"shows a record's value on {name}" for name, text in (
        ("stdout", seen.out), ("stderr", seen.err), ("a log", seen.log)) if leaks(text)]  # fmt: skip
    return faults


def _leavings(
    case: Command, seen: Seen, before: dict[str, bytes], after: dict[str, bytes]
) -> list[str]:
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    changed -= set(case.changes)
    if seen.code != 0:
        return [f"left {name!r} changed" for name in sorted(changed)]
    faults = [f"wrote {name!r} unasked" for name in sorted(changed - set(case.outputs))]
    for name in set(case.outputs) & changed:
        if problem := _broken(name, after.get(name, b"")):
            faults.append(f"{name!r} is not whole: {problem}")
    return faults


def _broken(name: str, content: bytes) -> str:
    """Why a written file is no use, or nothing."""
    try:
        return _unlike(name, content)
    except (ValueError, OSError, csv.Error) as problem:
        return f"{type(problem).__name__} on reading it"


def _unlike(name: str, content: bytes) -> str:
    """What makes a release, a page, a Parquet, CSV or schema file or a sheet unlike one."""
    if any(secret.encode() in content for secret in SECRETS):
        return "it holds a record's value"
    if content.startswith(b"{"):
        from privgmm.releases.document import parse

        parse(content, name)
    elif content.startswith(b"<!"):
        text = content.decode()
        if not text.rstrip().endswith("</html>"):
            return "no end"
        return "a name became a script" if _SCRIPT in text else ""
    elif content.startswith(b"PAR1"):
        from pyarrow import parquet

        parquet.read_table(io.BytesIO(content))
    elif content.startswith(b"PK"):
        from openpyxl import load_workbook

        load_workbook(io.BytesIO(content))
    elif name.endswith(".toml"):
        import tomllib

        tomllib.loads(content.decode())
    else:
        rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
        return "" if len(rows) > 1 and len({len(row) for row in rows}) == 1 else "ragged"
    return ""


def _call(case: Call) -> Verdict:
    from privgmm.errors import InputError

    with warnings.catch_warnings(record=True) as warned, logged() as log:
        warnings.simplefilter("always")
        try:
            case.function()
            accepted, faults, said = True, [], ""
        except (InputError, *case.also) as refused:
            accepted, said = False, str(refused)
            faults = (
                [] if sentence(said) or not isinstance(refused, InputError) else ["no sentence"]
            )
            if any(leaks(str(shown)) for shown in printed(refused)):
                faults.append("shows a record's value in what an exception prints")
        except (Exception, SystemExit) as problem:
            accepted, said = False, f"{type(problem).__name__}: {problem}"
            faults = [f"raised {type(problem).__name__}"]
    if leaks("\n".join([*(str(w.message) for w in warned), *log])):
        faults.append("shows a record's value in a warning or a log")
    return Verdict(accepted, tuple(faults), f"{case.says}: {said}")


def printed(problem: BaseException | None) -> Iterator[BaseException]:
    """The exceptions whose texts a traceback would show: causes, and contexts not suppressed."""
    while problem is not None:
        yield problem
        problem = problem.__cause__ or (
            None if problem.__suppress_context__ else problem.__context__
        )


def sentence(text: str) -> bool:
    """One line with an end; the parser of the command line may add where to look for help."""
    return bool(text.strip()) and "\n" not in text and text.rstrip().endswith((".", ".)"))


def leaks(text: str) -> bool:
    return any(secret in text for secret in SECRETS)


def _moves_a_terminal(c: str) -> bool:
    return c != "\n" and (
        unicodedata.category(c) == "Cc" or c in "\u202a\u202b\u202d\u202e\u2066\u2067"
    )
