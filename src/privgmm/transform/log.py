"""Natural logarithm of every column."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.mixture import Floats
from privgmm.transform.step import Origin, check_origin, rows_of

_LARGEST = float(np.log(np.finfo(np.float64).max))


@dataclass(frozen=True)
class Log:
    """z = ln(x + offset). Has no fitted parameter, so it costs no privacy; the offset is stated."""

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
        x = rows_of(X, None)
        with np.errstate(over="ignore"):
            shifted = x + self.offset
        bad = (shifted <= 0).sum(axis=0)
        if bad.any():
            counts = ", ".join(f"column {j}: {bad[j]}" for j in np.flatnonzero(bad)[:10])
            raise InputError(
                f"A logarithm needs positive values, but some are not ({counts}); "
                "state an offset or a positive lower bound."
            )
        # Where the sum overflows, half of it does not: ln(a) = ln(a / 2) + ln 2.
        halves = np.log(np.maximum(x / 2 + self.offset / 2, 1.0)) + np.log(2.0)
        return np.where(np.isinf(shifted), halves, np.log(shifted))

    def invert(self, Z: ArrayLike) -> Floats:
        z = rows_of(Z, None)
        return np.asarray(np.exp(np.minimum(z, _LARGEST)) - self.offset)

    def bounds(self, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
        """The image of the box [lo, hi]: a box, because the logarithm is monotone."""
        if not (lo + self.offset > 0).all():
            raise InputError(
                "Before a logarithm every lower bound plus the offset must be positive; "
                "state positive bounds."
            )
        return np.log(lo + self.offset), np.log(hi + self.offset)

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names
