"""A power cut after the fact: bytes that were written and not synced are lost, all or in part."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from random import Random

_ENTRY = struct.Struct("<c5Q")
_SECTOR = 512


@dataclass(frozen=True)
class Change:
    """A write (or, with ``new`` None, a truncation) of one inode that no sync has followed."""

    at: int
    old_size: int
    old: bytes
    new: bytes | None


def unsynced(journal: Path) -> dict[int, list[Change]]:
    """By inode, the changes since its last sync, in order."""
    data, place, found = journal.read_bytes(), 0, {}
    while place + _ENTRY.size <= len(data):
        what, inode, at, size, old_length, new_length = _ENTRY.unpack_from(data, place)
        place += _ENTRY.size
        old = data[place : place + old_length]
        new = data[place + old_length : place + old_length + new_length]
        place += old_length + new_length
        if what == b"S":
            found.pop(inode, None)
        else:
            found.setdefault(inode, []).append(Change(at, size, old, new if what == b"W" else None))
    return found


def cut_power(folder: Path, journal: Path, rng: Random) -> None:
    """Rewrite each file to what the disk may hold: a random part of its unsynced changes.

    Names are kept in order, as journaling file systems do; SQLite's shared memory is garbage.
    """
    changes = unsynced(journal)
    for path in folder.iterdir():
        if path.name.endswith("-shm"):
            path.write_bytes(rng.randbytes(path.stat().st_size))
        elif path.stat().st_ino in changes:
            with path.open("r+b") as file:
                _lose(file, changes[path.stat().st_ino], rng)


def _lose(file, changes: list[Change], rng: Random) -> None:
    for change in reversed(changes):
        file.seek(change.at)
        file.write(change.old)
        file.truncate(change.old_size)
    keep = rng.random()
    for change in changes:
        if rng.random() > keep:
            continue
        if change.new is None:
            file.truncate(change.at)
            continue
        # Some sectors of a write may have arrived without the rest.
        sectors = rng.randint(0, -(-len(change.new) // _SECTOR)) if rng.random() < 0.3 else None
        size = len(change.new) if sectors is None else sectors * _SECTOR
        file.seek(change.at)
        file.write(change.new[:size])
    file.flush()
    os.fsync(file.fileno())
