"""Neighbouring tables through the whole release on one tape of answers (tests/tape): thousands of pairs."""

from __future__ import annotations

from functools import partial

import numpy as np
from tests.tape.check import check
from tests.tape.hostile import case

from .case import Call, Case, Family, pick


def make(rng: np.random.Generator) -> Case:
    made = case(partial(pick, rng))
    says = f"{made.door}, {made.wishes}, {made.manner} answers"
    return Call(lambda: check(made), says)


# A case is three neighbours of one table.
FAMILIES = (Family("tapes", make, 1_500, 120.0),)
