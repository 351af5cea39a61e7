"""Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from privgmm.errors import InputError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; move it into place only if the block succeeds.

    A crash leaves the old file or the new one, never a part. Failures of the file system become one sentence.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        if target.is_dir():
            raise InputError(f"Cannot write {target}: it is a folder; name a file.")
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent
        )
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes private files; a published file is readable as any new file would be.
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
        temporary = None
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        reason = getattr(problem, "strerror", None) or "the path is not usable"
        raise InputError(f"Cannot write {target}: {reason}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


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
