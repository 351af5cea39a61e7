"""Natural logarithm of every column."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import ColumnsError, InputError
from privgmm.model.mixture import Floats
from privgmm.rowwise import log
from privgmm.transform.step import Origin, check_origin, rows_of

_LARGEST = float(np.log(np.finfo(np.float64).max))
_LN2 = 0.6931471805599453


@dataclass(frozen=True)
class Log:
    """z = ln(x + offset). Has no fitted parameter, so it costs no privacy; the offset is stated.

    The logarithm is ``rowwise.log``, whose bits are the same on every machine of a cluster.
    """

    offset: float = 0.0
    origin: Origin = "public"
    kind: ClassVar[str] = "log"
    dim: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        check_origin(self.origin)
        number = isinstance(self.offset, (int, float)) and not isinstance(self.offset, bool)
        if not (number and abs(self.offset) <= sys.float_info.max):
            raise InputError("The offset of a logarithm must be a finite number.")

    def apply(self, X: ArrayLike) -> Floats:
        """ln(x + offset), each cell by itself."""
        x = rows_of(X, None)
        with np.errstate(over="ignore"):
            shifted = x + self.offset
        bad = (shifted <= 0).any(axis=0)
        if bad.any():
            raise ColumnsError(
                "A logarithm needs positive values, which column {columns} does not have in every row; "
                "state an offset (log:1) or a positive lower bound.",
                np.flatnonzero(bad).tolist(),
            )
        # Where the sum overflows, half of it does not: ln(a) = ln(a / 2) + ln 2.
        halves = log(np.maximum(x / 2 + self.offset / 2, 1.0)) + _LN2
        return np.where(np.isinf(shifted), halves, log(np.minimum(shifted, sys.float_info.max)))

    def invert(self, Z: ArrayLike) -> Floats:
        """exp(z) - offset."""
        z = rows_of(Z, None)
        return np.asarray(np.exp(np.minimum(z, _LARGEST)) - self.offset)

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The image of the box [lo, hi]: a box, because the logarithm is monotone."""
        if not (lo + self.offset > 0).all():
            raise InputError(
                "Before a logarithm every lower bound plus the offset must be positive; "
                "state positive bounds."
            )
        return log(lo + self.offset), log(hi + self.offset)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Column names afterwards."""
        return names
