"""What may be asked of private rows: an integer statistic with a proven sensitivity."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from privgmm.statistics import Kernel

# "label": one label flips, features fixed (Definition 1).  "replace": one record is exchanged for
# any other.  "add-remove": one record more or less.
Adjacency = Literal["label", "replace", "add-remove"]


class Query(Protocol):
    """A vector of integer totals T(D) and the geometry of its change between neighbours."""

    @property
    def name(self) -> str:
        """For the ledger of mechanisms, e.g. ``class counts and means``."""
        ...

    @property
    def kernel(self) -> Kernel:
        """Integer contributions of the rows, (m,) per chunk after ravel."""
        ...

    @property
    def steps(self) -> NDArray[np.float64]:
        """(m,) relative noise scale of each coordinate, in grid units of T."""
        ...

    def sensitivity(self, adjacency: Adjacency) -> float:
        """sup over neighbours of || (T(D) - T(D')) / steps ||_2, with its proof cited."""
        ...
