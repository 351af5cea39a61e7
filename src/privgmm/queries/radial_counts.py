"""How many rows of each class lie in each shell around the centre of the class, in its own coordinates, and the sensitivity.

Proof: docs/proofs/radial-counts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.rowwise import columns, linear_map, of_class, squared_norm
from privgmm.types import Adjacency, Codes, Floats, Integers


@dataclass(frozen=True, eq=False)
class RadialCounts:
    """For each class, the counts of rows by the length of u = T_k (x - c_k).

    Parameters
    ----------
    centres : (K, d) array
    transforms : (K, d, d) lower-triangular arrays
    edges : (K, B - 1) increasing positive lengths; shell b holds edges[b - 1] <= ||u|| < edges[b],
        the first reaches down to zero and the last out to infinity, so that every row is in one shell.
    """

    centres: Floats
    transforms: Floats
    edges: Floats

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """(K * B,) totals, class after class."""
        n_classes, shells = self.edges.shape[0], self.edges.shape[1] + 1
        totals = np.zeros((n_classes, shells), dtype=np.int64)
        for k in range(n_classes):
            rows = of_class(X, codes, k)
            if rows.shape[0] == 0:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                u = linear_map(columns(rows, self.centres[k]), self.transforms[k])
                squared = squared_norm(u)
            # NaN sorts after all numbers, so a row whose length is NaN counts in the last shell.
            shell = np.searchsorted(self.edges[k] ** 2, squared, side="right")
            totals[k] = np.bincount(shell, minlength=shells)
        return totals.ravel()


@dataclass(frozen=True, eq=False)
class RadialCountsQuery:
    """How many rows of each class lie in each shell around its centre; all totals have the same noise."""

    kernel: RadialCounts
    name: str = "class counts by distance from the centre"

    @property
    def steps(self) -> Floats:
        """One count is one unit of noise, in every shell."""
        n_classes, inner = self.kernel.edges.shape
        return np.ones(n_classes * (inner + 1))

    def rows_in(self, answer: Floats) -> float:
        """The number of rows according to an answer, see ``Counting``."""
        return float(answer.sum())

    def sensitivity(self, adjacency: Adjacency) -> float:
        """1 if a row is added or removed, because it adds a single one; sqrt 2 if it is replaced or relabelled.

        A dropped row adds zero: a change to or from it is 1, which is no larger.
        """
        return 1.0 if adjacency == "add-remove" else math.sqrt(2.0)
