"""The loop: faults in turn until a limit, then the tables."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from random import Random

from . import cluster, shim
from .actions import ACTIONS, template
from .brief import shorten
from .child import absolute, command, finish, start, tell, watch_events
from .crowd import capacity, crowd
from .damage import damaged_ledger, leftovers
from .faults import STEP_FAULTS, Experiment
from .places import full_disk, may_mount, read_only
from .plants import PLANTS
from .tables import Tally, print_tables
from .trial import World

_DASK = {"Dask worker killed": cluster.dying_worker}
# Dying workers take seconds to come back, so they come last: one in so many faults, in so much of the time.
_DASK_ONE_IN, _DASK_TIME = 200, 0.1
_PLANT_FAULTS = 200


def soak(faults: int, minutes: float, seed: int, only: str, plants: bool) -> int:
    """Inject until a limit; 0 if everything held and, with ``plants``, every planted bug was found."""
    began, end = time.monotonic(), time.monotonic() + 60 * minutes
    # In memory where possible: power cuts are played by the soak, no disk needs to wait for them.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = Path(tempfile.mkdtemp(prefix="privgmm-soak-", dir=memory))
    tally, missed = Tally(), 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        kinds = {name: run for name, run in _experiments(scratch).items() if only in name}
        slow = {name: run for name, run in _DASK.items() if only in name}
        world = _prepared(scratch)
        if plants:
            missed = _find_plants(world, seed)
        if kinds:
            last = faults // _DASK_ONE_IN if slow else 0
            share = 1 - _DASK_TIME if last else 1
            _inject(tally, world, kinds, faults - last, began + 60 * minutes * share, seed)
        if slow:
            left = faults // _DASK_ONE_IN if kinds else faults
            _inject(tally, world, slow, left, end, seed)
    except KeyboardInterrupt:
        print("Stopped by hand.")
    finally:
        cluster.close()
        shim.unload()
        shutil.rmtree(scratch, ignore_errors=True)
        print_tables(tally, time.monotonic() - began, seed)
    return 1 if tally.wrong or missed else 0


def _inject(
    tally: Tally, world: World, kinds: dict[str, Experiment], faults: int, end: float, seed: int
) -> None:
    names, told = list(kinds), time.monotonic()
    for number in range(faults):
        now = time.monotonic()
        if now > end:
            break
        name = names[number % len(names)]
        tally.add(name, number, *kinds[name](world, Random(f"{seed} {number}")))
        if now - told > 10:
            told = now
            print(tally.line(), flush=True)


def _experiments(scratch: Path) -> dict[str, Experiment]:
    """All kinds of faults that this user can inject here; others are named, not passed over."""
    kinds = {
        **STEP_FAULTS,
        "stale locks and leftovers": leftovers,
        "ledger torn or rotten": damaged_ledger,
        "many spenders, some killed": crowd,
    }
    if may_mount(scratch):
        return {**kinds, "real disk full": full_disk, "real read-only disk": read_only}
    print("Not injected: real full and read-only disks, which this user may not mount.")
    return kinds


def _prepared(scratch: Path) -> World:
    """The template, made by the product itself; each action run once so that children start warm."""
    folder = scratch / "template"
    folder.mkdir()
    shorten()
    out = os.dup(1)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        template(folder)
        warm = scratch / "warm"
        shutil.copytree(folder, warm)
        codes = [command(absolute(warm, action.arguments)) for action in ACTIONS]
        os.dup2(out, 1)
    os.close(out)
    assert codes == [0] * len(ACTIONS), codes
    watch_events()
    return World(folder, scratch)


def _find_plants(world: World, seed: int) -> int:
    """Plant each bug in a process of its own; how many of them no fault brought to light."""
    missed = 0
    capacity()  # as long as the ledger can be believed
    print(f"{'planted bug':36}{'faults':>7}  found as")
    for number, (name, (plant, kind)) in enumerate(PLANTS.items()):
        home = world.scratch / f"plant{number}"
        home.mkdir()
        own = World(world.template, home)

        def search(plant=plant, kind=kind, own=own) -> int:
            plant()
            (run,) = [run for name, run in _experiments(own.scratch).items() if kind in name]
            for turn in range(_PLANT_FAULTS):
                wrong = run(own, Random(f"{seed} {turn}"))[0].wrong
                if wrong:
                    tell(f"#{turn + 1:>7}  not: {wrong[0][0]}")
                    return 0
            return 1

        code, told, *_ = finish(*start(search, home))
        missed += code != 0
        print(f"{name:36}{told.partition('#')[2] if code == 0 else 'NOT FOUND'}", flush=True)
    print()
    return missed
