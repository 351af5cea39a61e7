"""How many rows of each class lie in each public cell: the table of counts and its sensitivity.

Proof: docs/proofs/label-sums.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privgmm.errors import InputError
from privgmm.rowwise import GaussianRule
from privgmm.types import Adjacency, Codes, Floats, Integers


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells of the feature space: rows on which several public rules agree (their common refinement).

    Parameters
    ----------
    rules : each gives a row a code from that row alone (elementwise arithmetic, rowwise.py)
    sizes : number of codes of each rule
    keys : the joint codes that are cells, sorted; a row with another joint code (no public row has
        one) belongs to cell 0, so every row is in exactly one cell
    """

    rules: tuple[GaussianRule, ...]
    sizes: tuple[int, ...]
    keys: Integers

    @cached_property
    def n_cells(self) -> int:
        """The number of cells."""
        return int(self.keys.size)

    def codes(self) -> Codes:
        """(n_cells, rules) code of each cell by each rule."""
        return np.stack(np.unravel_index(self.keys, self.sizes), axis=1).astype(np.intp)

    def __call__(self, X: Floats) -> Codes:
        """(n,) cell of each row, in 0..n_cells-1."""
        joint = joint_codes(X, self.rules, self.sizes)
        cell = np.searchsorted(self.keys, joint)
        cell[cell == self.keys.size] = 0
        cell[self.keys[cell] != joint] = 0
        return cell.astype(np.intp)


def joint_codes(X: Floats, rules: tuple[GaussianRule, ...], sizes: tuple[int, ...]) -> Integers:
    """(n,) mixed-radix number of the rules' codes."""
    joint = np.zeros(X.shape[0], dtype=np.int64)
    for rule, size in zip(rules, sizes, strict=True):
        joint = joint * size + rule(X)
    return joint


@dataclass(frozen=True, eq=False)
class CellCounts:
    """(n_cells * n_classes,) counts of labels, cell after cell. A row adds 1 to one entry."""

    partition: Partition
    n_classes: int

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        """Label counts of these rows, by cell and class."""
        entry = self.partition(X) * self.n_classes + codes
        counts = np.bincount(entry, minlength=self.partition.n_cells * self.n_classes)
        return counts.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CellCountsQuery:
    """How many rows of each class lie in each cell; cells are functions of the public features."""

    kernel: CellCounts
    name: str = "label counts per cell"

    @property
    def steps(self) -> Floats:
        """One count is one unit of noise, in every cell."""
        return np.ones(self.kernel.partition.n_cells * self.kernel.n_classes)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """sqrt(2): a changed label moves its row from one count to another of the same cell."""
        if adjacency != "label":
            # The cells are found from the features, which only the label unit treats as public.
            raise InputError("Cells of the features are public only under unit='label'.")
        # label-sums.md, Proposition 1; to or from a label outside the list the change is 1.
        return math.sqrt(2.0)
