"""What the user states about a column: its kind, range, decimals, levels. Public facts, never read from private rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privgmm.errors import InputError
from privgmm.types import Floats

# What stands for a missing cell among the numbers of a column: no table holds it, and every step of it stays finite.
ABSENT = 2.0**1000

ColumnType = Literal["number", "integer", "category"]


@dataclass(frozen=True)
class Column:
    """One column as declared in a schema file or implied by ``bounds`` (../shared/interface.md, "Schema file").

    Parameters
    ----------
    name : as in the input
    type : "number", "integer" or "category"
    lo, hi : stated range of a number or integer; None where only a ball was stated, or none at label level
    decimals : samples are rounded to so many places; None leaves them as drawn
    missing : cells may be missing
    levels : of a category, in the stated order, matched as text
    """

    name: str
    type: ColumnType = "number"
    lo: float | None = None
    hi: float | None = None
    decimals: int | None = None
    missing: bool = False
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.type == "category":
            if len(set(self.levels)) != len(self.levels) or not self.levels:
                raise InputError(
                    f"The category {self.name!r} needs levels that are stated once each, "
                    "e.g. levels = ['yes', 'no']."
                )
            if self.lo is not None or self.hi is not None or self.decimals is not None:
                raise InputError(
                    f"The category {self.name!r} has levels; remove lo, hi and decimals."
                )
            return
        if self.levels:
            raise InputError(
                f"The column {self.name!r} has levels; state type = 'category' or remove them."
            )
        if (self.lo is None) != (self.hi is None):
            raise InputError(f"The column {self.name!r} needs both lo and hi, or neither.")
        if (
            self.lo is not None
            and self.hi is not None
            and not -math.inf < self.lo < self.hi < math.inf
        ):
            raise InputError(f"The column {self.name!r} needs finite bounds with lo below hi.")
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            raise InputError(f"The column {self.name!r} can have 0 to 15 decimals.")
        if self.type == "integer" and self.decimals not in (None, 0):
            raise InputError(f"The integer column {self.name!r} has no decimals; remove them.")

    @property
    def plain(self) -> bool:
        """Whether every cell is a number."""
        return self.type != "category" and not self.missing

    @property
    def step(self) -> float | None:
        """The distance between values that the column may have, where it is stated."""
        if self.type == "integer":
            return 1.0
        return None if self.decimals is None else 10.0**-self.decimals

    def obeyed(self, values: Floats) -> Floats:
        """Values of a number column as stated: inside the range, whole or with so many decimals."""
        lo, hi = self.lo, self.hi
        if self.step is not None:
            places = int(self.decimals or 0)
            values = np.round(values, places)
            if lo is not None and hi is not None:
                # The first and last value inside the range that can be written so, if there is one.
                unit = 10.0**places
                ends = (
                    math.ceil(lo * unit - 1e-9) / unit,
                    math.floor(hi * unit + 1e-9) / unit,
                )
                lo, hi = ends if ends[0] <= ends[1] else (lo, hi)
        return values if lo is None else np.clip(values, lo, hi)
