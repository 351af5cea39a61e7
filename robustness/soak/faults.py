"""Faults at one step of a command: killed, failed, shortened, interrupted there."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from . import shim
from .actions import Action
from .child import Outcome, outcome_of
from .power import cut_power
from .properties import Verdict
from .trial import World, choose_action, run_trial

Experiment = Callable[[World, Random], tuple[Verdict, str]]


@dataclass(frozen=True)
class AtStep:
    """Do ``deed`` at a random step of the given kinds; ``values`` are errors or signals."""

    kinds: int
    deed: int
    values: tuple[int, ...] = (0,)
    power: bool = False

    def __call__(self, world: World, rng: Random) -> tuple[Verdict, str]:
        action = choose_action(rng)
        folder = world.fresh(action, old=rng.random() < 0.5)
        step = rng.randint(1, max(1, world.steps(action, self.kinds)))
        value = rng.choice(self.values)
        journal = folder.with_name(f"{folder.name}-journal")

        def hurt(place: Path) -> Outcome:
            log = os.open(journal, os.O_WRONLY | os.O_CREAT) if self.power else -1
            outcome = outcome_of(
                place,
                action.arguments,
                lambda: shim.arm(place, self.kinds, self.deed, value, step, log),
                shim.steps,
            )
            if self.power:
                os.close(log)
                cut_power(place, journal, rng)
                journal.unlink()
            return outcome

        # Nobody can remove a file from a folder that is gone, or while removing fails.
        helpless = self.deed == shim.VANISH or bool(
            self.deed == shim.KEEP_FAILING and self.kinds & shim.UNLINK
        )
        verdict, outcome = run_trial(world, action, folder, hurt, _bring_back, helpless)
        world.forget(folder)
        return verdict, ending(outcome)


def _bring_back(folder: Path) -> None:
    gone = folder.with_name(f"{folder.name}.gone")
    if gone.exists():
        gone.rename(folder)


def ending(outcome: Outcome) -> str:
    if outcome.killed:
        return "killed"
    return {0: "finished", 2: "refused"}.get(outcome.code, "interrupted")


def in_child(
    prepare: Callable[[Random], Callable[[], None]], action: Action | None = None
) -> Experiment:
    """A fault that the child brings upon itself before it begins."""

    def experiment(world: World, rng: Random) -> tuple[Verdict, str]:
        chosen = action or choose_action(rng)
        folder, trouble = world.fresh(chosen, old=rng.random() < 0.5), prepare(rng)

        def hurt(place: Path) -> Outcome:
            return outcome_of(place, chosen.arguments, trouble, lambda: 0)

        verdict, outcome = run_trial(world, chosen, folder, hurt)
        world.forget(folder)
        return verdict, ending(outcome)

    return experiment


def at_a_moment(world: World, rng: Random) -> tuple[Verdict, str]:
    """SIGKILL at a random time, wherever the process is."""
    action = choose_action(rng)
    world.steps(action, shim.ALL)
    folder, wait = world.fresh(action, old=False), rng.random() * 1.1 * world.seconds[action.name]

    def hurt(place: Path) -> Outcome:
        return outcome_of(place, action.arguments, lambda: None, lambda: 0, kill_after=wait)

    verdict, outcome = run_trial(world, action, folder, hurt)
    world.forget(folder)
    return verdict, ending(outcome)


def _small_files(rng: Random) -> Callable[[], None]:
    size = rng.choice([1000, 4096, rng.randint(1000, 60_000)])
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _little_memory(rng: Random) -> Callable[[], None]:
    more = rng.randint(0, 1 << 25)

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    return limit


def _full_stdout(rng: Random) -> Callable[[], None]:
    """The result cannot be printed."""
    return lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1) and None


def _wrong_clock(rng: Random) -> Callable[[], None]:
    """Back to before the epoch, or decades ahead."""
    shift = rng.choice([-2_000_000_000, -3600, -1, 3600, 2_000_000_000])
    return lambda: shim.shift_clock(shift)


_SPACE = shim.OPEN | shim.WRITE | shim.SYNC | shim.TRUNCATE | shim.RENAME
_ANY_SIGNAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STEP_FAULTS: dict[str, Experiment] = {
    "kill -9 before a step": AtStep(shim.ALL, shim.KILL_BEFORE),
    "kill -9 after a step": AtStep(shim.CHANGES, shim.KILL_AFTER),
    "kill -9 at a random time": at_a_moment,
    "torn write, then kill -9": AtStep(shim.WRITE, shim.TEAR),
    "power cut: unsynced bytes lost": AtStep(shim.CHANGES, shim.KILL_BEFORE, power=True),
    "disk full from a step on": AtStep(_SPACE, shim.KEEP_FAILING, (errno.ENOSPC, errno.EDQUOT)),
    "disk full at one step": AtStep(_SPACE, shim.FAIL, (errno.ENOSPC,)),
    "I/O error at one step": AtStep(shim.ALL, shim.FAIL, (errno.EIO,)),
    "I/O errors from a step on": AtStep(shim.ALL, shim.KEEP_FAILING, (errno.EIO,)),
    "permission lost from a step on": AtStep(
        shim.OPEN | shim.RENAME | shim.CHMOD, shim.KEEP_FAILING, (errno.EACCES, errno.EROFS)
    ),
    "short write": AtStep(shim.WRITE, shim.SHORTEN),
    "Ctrl-C, SIGTERM or SIGHUP": AtStep(shim.ALL, shim.SIGNAL, _ANY_SIGNAL),
    "folder vanishes": AtStep(shim.ALL, shim.VANISH),
    "file size limit": in_child(_small_files),
    "memory limit": in_child(_little_memory),
    "stdout full": in_child(_full_stdout),
    "clock jumps": in_child(_wrong_clock),
}
