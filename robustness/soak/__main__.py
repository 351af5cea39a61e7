"""``python -m robustness.soak --faults 3000 --minutes 15 --seed 0``: injected faults, counted and judged.

Every trial takes a fresh folder, hurts one command, checks what must hold, and runs the command again.
It ends at whichever limit comes first and exits with 1 if anything did not hold.
"""

from __future__ import annotations

import argparse
import sys

from . import shim


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m robustness.soak", description=__doc__)
    parser.add_argument("--faults", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Part of a fault's name.")
    parser.add_argument("--plants", action="store_true", help="First plant bugs and find them.")
    options = parser.parse_args()
    shim.preload()
    # Only now: the program starts again above, and the product is slow to import twice.
    from .soak import soak

    sys.exit(soak(options.faults, options.minutes, options.seed, options.only, options.plants))


main()
