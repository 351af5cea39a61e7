"""Random-looking numbers that are a fixed public function of a row: lots drawn by hashing.

Integer arithmetic and one look into a table, so a row's lots are the same bits in whatever chunk it
comes. Nothing private rests on them: a class chosen by them is a function of its row, no more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privgmm.statistics.rowwise import Columns

Words = NDArray[np.uint64]

# Steele, Lea and Flood's SplitMix64: the step between lots, then shifts and factors of the mixer.
_STEP = 0x9E3779B97F4A7C15
_SHIFTS = (30, 27, 31)
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_TABLE_BITS = 16
# Quantiles of the Gumbel law at the middle of equal steps of probability.
_GUMBEL = -np.log(-np.log((np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)))


def lots(turned: Columns, salt: int) -> Iterator[NDArray[np.float64]]:
    """Endless (n,) arrays of standard Gumbel numbers for the rows in the columns of a (d, n) array."""
    state = np.full(turned.shape[1], salt % 2**64, dtype=np.uint64)
    for column in np.ascontiguousarray(turned).view(np.uint64):
        state = _mixed(state + np.uint64(_STEP)) ^ column
    while True:
        state = state + np.uint64(_STEP)
        yield _GUMBEL[_mixed(state) >> np.uint64(64 - _TABLE_BITS)]


def _mixed(words: Words) -> Words:
    z = words ^ (words >> np.uint64(_SHIFTS[0]))
    z *= np.uint64(_FACTORS[0])
    z ^= z >> np.uint64(_SHIFTS[1])
    z *= np.uint64(_FACTORS[1])
    z ^= z >> np.uint64(_SHIFTS[2])
    return z
