"""Neighbouring tables through the whole release on one tape of answers (tests/tape): thousands of pairs."""

from __future__ import annotations

from functools import partial

import numpy as np
from tests.tape.check import UNRELEASED, check
from tests.tape.check import Case as TapeCase
from tests.tape.hostile import case
from tests.tape.tape import SidePathError

from privgmm.errors import InputError

from .case import Call, Case, Family, pick


def make(rng: np.random.Generator) -> Case:
    made = case(partial(pick, rng))
    says = f"{made.door}, {made.wishes}, {made.manner} answers"
    return Call(lambda: _checked(made), says)


def _checked(made: TapeCase) -> None:
    """A table that nobody can release (one row, to be standardised) has no neighbours to tell apart."""
    try:
        check(made)
    except SidePathError as problem:
        if not str(problem).startswith(UNRELEASED):
            raise
        raise InputError("The table cannot be released.") from None


# A case is three neighbours of one table.
FAMILIES = (Family("tapes", make, 1_500, 120.0),)
