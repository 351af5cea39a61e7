"""Real disks that are full or read-only: small file systems in memory, where this user may mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

from .child import Outcome, outcome_of
from .faults import ending
from .properties import Verdict
from .trial import World, choose_action, run_trial

_PAGE = 4096


def may_mount(scratch: Path) -> bool:
    place = scratch / "may-mount"
    place.mkdir()
    possible = _mount(place, "size=64k")
    if possible:
        _unmount(place)
    place.rmdir()
    return possible


def full_disk(world: World, rng: Random) -> tuple[Verdict, str]:
    """A disk with a few pages left, or none."""
    left = rng.randint(0, 24) * _PAGE

    def fill(folder: Path) -> None:
        (folder / "ballast").write_bytes(b"")
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        (folder / "ballast").write_bytes(bytes(max(free - left, 0)))

    def empty(folder: Path) -> None:
        (folder / "ballast").write_bytes(b"")

    return _on_a_mount(world, rng, "size=1m", fill, empty)


def read_only(world: World, rng: Random) -> tuple[Verdict, str]:
    """A disk on which nothing can be made or changed."""

    def protect(folder: Path) -> None:
        assert _mount(folder, "remount,ro")

    def unprotect(folder: Path) -> None:
        assert _mount(folder, "remount,rw")

    return _on_a_mount(world, rng, "size=1m", protect, unprotect)


def _on_a_mount(world, rng, options, spoil, mend) -> tuple[Verdict, str]:
    action = choose_action(rng)
    folder = world.fresh(action, old=rng.random() < 0.5)
    content = folder.with_name(f"{folder.name}-content")
    folder.rename(content)
    folder.mkdir()
    assert _mount(folder, options)
    try:
        shutil.copytree(content, folder, dirs_exist_ok=True)
        (folder / "ballast").touch()

        def hurt(place: Path) -> Outcome:
            spoil(place)
            return outcome_of(place, action.arguments, lambda: None, lambda: 0)

        verdict, outcome = run_trial(world, action, folder, hurt, mend)
    finally:
        _unmount(folder)
    shutil.rmtree(content)
    world.forget(folder)
    return verdict, ending(outcome)


def _mount(place: Path, options: str) -> bool:
    run = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "privgmm-soak", place], capture_output=True
    )
    return run.returncode == 0


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", place], check=True)
