"""What part of the rows the stated bounds clip: exact, private numbers for the holder of the table, never part of a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.curate.opened import OpenedRequest
from privgmm.data.region import Region
from privgmm.model.columns import ABSENT
from privgmm.types import Codes, Floats, Integers

_PRIVATE = "These numbers are private: do not publish them, nor bounds that were chosen by them."
# At most this many columns are named, those that clip most rows first.
_LISTED = 10


@dataclass(frozen=True, eq=False)
class OutsideKernel:
    """Counts all rows, the rows outside the region, and for each column the rows farther than ``extent`` from its middle."""

    region: Region

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """(2 + d,) totals over the rows X (n, d)."""
        unit = self.region.to_unit(X)
        # The tolerance keeps values that lie on the bounds, as integers often do, inside in spite of rounding.
        beyond = (np.abs(unit) > self.region.extent * (1 + 1e-12)) & (X != ABSENT)
        if self.region.extent == 1:  # a ball: columns inside do not make a row inside
            outside = (unit**2).sum(axis=1) > 1 + 1e-12
        else:
            outside = beyond.any(axis=1)
        return np.concatenate([[len(X), outside.sum()], beyond.sum(axis=0)]).astype(np.int64)


def diagnosis(request: OpenedRequest) -> tuple[str, ...]:
    """Sentences on how many rows are clipped and how many count for nothing, computed exactly from private rows."""
    if request.region is None:
        return ("Nothing is clipped at label level, where features are public.",)
    total = request.source.total(OutsideKernel(request.region))
    counted, outside, by_column = int(total[0]), int(total[1]), total[2:]
    said = []
    unlisted = request.source.n_rows - counted
    if unlisted:
        said.append(
            f"{_part(unlisted, request.source.n_rows)} of the rows carry no label of the class list and count "
            "for nothing."
        )
    if counted and outside == counted:
        said.append("Every row lies outside the stated bounds: they cannot be right.")
    elif not outside:
        said.append("No row lies outside the stated bounds.")
    else:
        said.append(
            f"{_part(outside, counted)} of the rows lie outside the stated bounds and may be clipped, which "
            "pulls means inwards."
        )
    worst = [int(j) for j in np.argsort(-by_column, kind="stable") if by_column[j]][:_LISTED]
    if worst:
        called = request.by_column
        said.append(
            "Outside by column: "
            + ", ".join(f"{called[j]} {_part(int(by_column[j]), counted)}" for j in worst)
            + "."
        )
    return (*said, _PRIVATE)


def _part(some: int, of: int) -> str:
    share = 100 * some / of
    return f"{share:.0f} %" if share >= 10 else f"{share:.2g} %"
