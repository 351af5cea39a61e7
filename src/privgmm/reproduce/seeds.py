"""Random streams named by what they are for, so that a result depends on the seed and on nothing else.

Not on the number of processes, the order of the work, or which other points of a sweep were run.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *names: object) -> int:
    """A 63-bit seed for the purpose spelled by ``names``."""
    words = [zlib.crc32(repr(name).encode()) for name in names]
    state = np.random.SeedSequence([seed, *words]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))
