"""The ``privgmm`` command. Bad input ends it with one sentence on stderr and exit code 2, never with a traceback."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from types import FrameType

from privgmm.cli.terminal import INTERRUPTED, Terminated, forgive_encodings, plain

# Objects made, and younger collections, before a generation is looked through; Python's own are (700, 10, 10).
_COLLECT = 200_000, 20, 100


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    # A command loads much and lives shortly: to look for garbage among what it just loaded only takes time.
    gc.set_threshold(*_COLLECT)
    # Windows has no SIGHUP.
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        # A process that was told to ignore a signal (nohup) goes on ignoring it.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)
    code = run(arguments)
    # All that is left goes with the process; nobody has to look through it once more.
    gc.freeze()
    sys.exit(code)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0; 2 for bad input; 130 when interrupted by Ctrl-C, 143 when terminated.
    """
    from privgmm.cli.app import command
    from privgmm.errors import InputError

    forgive_encodings()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for category in _own_warnings():
                warnings.filterwarnings("always", category=category)
            warnings.showwarning = _show_warning
            outcome = command()(arguments, prog_name="privgmm", standalone_mode=False)
        # Flushed here, where a failure can still become one sentence; Python would flush at exit and print a traceback.
        sys.stdout.flush()
    except InputError as problem:
        return _refuse(str(problem))
    except KeyboardInterrupt:
        return _say(INTERRUPTED, 130)
    except Terminated as stop:
        return _say(f"{INTERRUPTED} {stop.spent}", stop.code)
    except MemoryError:
        return _refuse("There is not enough memory for this table; select fewer columns or rows.")
    except BrokenPipeError:
        # The reader of our output went away; there is nobody left to tell.
        sys.stderr.close()
        return 1
    except OSError as problem:
        _forget_output()
        return _refuse(f"Cannot go on: {problem.strerror or 'the system reports a failure'}.")
    except Exception as problem:
        return _unexpected(problem)
    # The parser turns Ctrl-C into exit code 130 and prints nothing.
    if outcome == 130:
        return _say(INTERRUPTED, 130)
    return outcome if isinstance(outcome, int) else 0


def _forget_output() -> None:
    """Drop what could not be printed, so that Python does not try, and fail, once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _unexpected(problem: Exception) -> int:
    """Usage errors of the parser become one sentence; anything else names only its type.

    An unforeseen exception's text may hold a record's values, so it is never printed.
    """
    message = getattr(problem, "format_message", None)
    if callable(message) and type(problem).__name__ == "NoArgsIsHelpError":
        print(message())
        return 0
    if callable(message):
        words = " ".join(str(message()).split()).replace("Value error, ", "")
        # The help of the subcommand that was typed, not that of the whole program.
        path = getattr(getattr(problem, "ctx", None), "command_path", "privgmm")
        return _refuse(f"{words} See {path} --help.")
    if type(problem).__name__ == "Abort":
        return _say(INTERRUPTED, 130)
    return _say(
        f"privgmm failed on an unexpected {type(problem).__name__}; nothing was written. "
        "Please report how it was called, without your data.",
        1,
    )


def _refuse(sentence: str) -> int:
    return _say(f"Error: {sentence}", 2)


def _say(sentence: str, code: int) -> int:
    print(plain(" ".join(sentence.split())), file=sys.stderr)
    return code


def _own_warnings() -> tuple[type[Warning], ...]:
    from privgmm.errors import CautionWarning, PrivacyLeakWarning

    return CautionWarning, PrivacyLeakWarning


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"Warning: {plain(message)}", file=sys.stderr)
