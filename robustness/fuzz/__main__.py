"""``python -m robustness.fuzz [--inputs N] [--seed S] [--family F [--case I]]``: exit 1 on any fault."""

from __future__ import annotations

import argparse
import faulthandler
import os
import resource
import sys
import tempfile

from .families import FAMILIES
from .oracle import judge
from .sites import report, watched
from .soak import case_of, soak, table, told_of

# An input that asks for more memory than this gets Python's MemoryError, not the whole machine.
_MEMORY = 8 << 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="robustness.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", default="", help="part of a family's name")
    parser.add_argument("--case", type=int, help="replay one input of the family")
    options = parser.parse_args()
    chosen = tuple(family for family in FAMILIES if options.family in family.name)
    if not chosen:
        parser.error("no family of that name: " + ", ".join(family.name for family in FAMILIES))
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    os.environ["COLUMNS"] = "80"
    if os.access(
        "/dev/shm", os.W_OK
    ):  # folders in memory: most of a short case is waiting for disks
        tempfile.tempdir = "/dev/shm"
    if options.case is not None:
        case = case_of(chosen[0], options.case, options.seed)
        verdict = judge(case, chosen[0].seconds)
        print(case, "accepted" if verdict.accepted else "refused", sep="\n")
        print(told_of(chosen[0], options.case, options.seed, verdict))
        return 1 if verdict.faults else 0
    with watched() as reached:
        tallies = soak(chosen, options.inputs, options.seed)
    print(table(tallies))
    print(report(reached))
    return 1 if any(tally.faults for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
