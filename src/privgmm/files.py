"""Writing files so that they appear whole or not at all, and reading small ones."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from privgmm.errors import CautionWarning, InputError

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; move it into place only if the block succeeds.

    A crash leaves the old file or the new one, never a part; what a killed process left beside it is
    removed by the next one. Failures of the file system become one sentence.
    """
    target = Path(path)
    temporary: Path | None = None
    handle: int | None = None
    with _sentences(target):
        try:
            _check_kind(target)
            _sweep(target)
            while handle is None:
                # The name is assigned before the file exists, so that after an interrupt at any point we know what to remove.
                temporary = target.parent / f"{_stem(target)}{secrets.token_hex(8)}.part"
                handle = _claimed(temporary)
            assert temporary is not None
            yield temporary
            os.fsync(handle)
            # Temporary files are readable by their owner only; the finished file gets the permissions of any new file.
            temporary.chmod(0o666 & ~_umask())
            if sys.platform == "win32":  # Windows moves closed files only
                os.close(handle)
                handle = None
            temporary.replace(target)
            temporary = None
            _sync_folder(target.parent)
        finally:
            # A file that cannot be removed now is swept by the next writer; the first failure is the one reported.
            with contextlib.suppress(OSError, ValueError):
                if temporary is not None:
                    temporary.unlink(missing_ok=True)
            if handle is not None:
                os.close(handle)


def check_target(
    path: str | os.PathLike[str],
    *inputs: str | os.PathLike[str] | None,
    overwrite: bool = False,
) -> None:
    """Refuse an output path where no file can be made, or that is an input, before anything is spent.

    An existing file is replaced only with ``overwrite``.
    """
    target = Path(path)
    with _sentences(target):
        _check_kind(target)
        if not target.parent.is_dir():
            raise InputError(f"Cannot write {target}: the folder {target.parent} does not exist.")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError(f"Cannot write {target}: the folder {target.parent} is read-only.")
        exists = target.exists()  # raises if the name is too long
    if any(_reads(source, target) for source in inputs if source is not None):
        raise InputError(f"Cannot write {target}: this command reads it; name another file.")
    if exists and not overwrite:
        raise InputError(f"{target} exists; name another file, or replace it with --overwrite.")


def warn_of_replacing(path: str | os.PathLike[str]) -> None:
    """Warn if a file exists and is about to be replaced."""
    with _sentences(Path(path)):
        if Path(path).exists():
            warnings.warn(f"{path} exists and will be replaced.", CautionWarning, stacklevel=3)


def _check_kind(target: Path) -> None:
    """Refuse to replace a folder, a pipe or a device by a file."""
    if target.is_dir():
        raise InputError(f"Cannot write {target}: it is a folder; name a file.")
    if target.exists() and not target.is_file():
        raise InputError(f"Cannot write {target}: it is no ordinary file; name another one.")


def _reads(source: str | os.PathLike[str], target: Path) -> bool:
    """Whether the target is the source, or an existing file in the folder that is the source."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.samefile(source, target):
            return True
        return target.exists() and os.path.samefile(source, target.parent)
    return False


@contextlib.contextmanager
def _sentences(target: Path) -> Iterator[None]:
    """Turn every failure of the file system into one sentence."""
    try:
        yield
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot write {target}: {reason}.") from None


def _stem(target: Path) -> str:
    """The start of a temporary file's name, in characters that every writer accepts (Arrow needs UTF-8)."""
    name = "".join(c if c.isascii() and c.isprintable() else "_" for c in target.name[:40])
    return f".{name}."


def _claimed(temporary: Path) -> int | None:
    """A new file, locked as long as its writer lives; None if a sweep removed it before it was locked."""
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if sys.platform == "win32":
        return handle
    try:
        # Where the file system has no locks nothing is swept, so the file is safe without one.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _sweep(target: Path) -> None:
    """Remove temporary files of this target whose writers died: nobody holds their locks."""
    if sys.platform == "win32":  # no locks, so a live writer's file looks like a dead one's
        return
    left = re.compile(re.escape(_stem(target)) + r"[0-9a-f]{16}\.part")
    with contextlib.suppress(OSError):
        for name in filter(left.fullmatch, os.listdir(target.parent)):
            with contextlib.suppress(OSError):
                _remove_unlocked(target.parent / name)


def _remove_unlocked(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make a new name survive a power cut, where the system can; the file is whole in any case."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def read_limited(path: str | os.PathLike[str], limit: int) -> bytes:
    """The bytes of a file of at most ``limit`` bytes."""
    try:
        with open(path, "rb") as handle:
            data = handle.read(limit + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot read {path}: {reason}.") from None
    if len(data) > limit:
        raise InputError(f"{path} is larger than {limit >> 20} MiB, which no release needs.")
    return data
