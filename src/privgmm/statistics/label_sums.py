"""Label counts per public cell: an integer table of cells by classes, exact and order-free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.statistics.assignment import GaussianRule
from privgmm.statistics.source import Codes, Floats, Integers


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells of the feature space: rows on which several public rules agree (their common refinement).

    Parameters
    ----------
    rules : each gives a row a code from that row alone (elementwise arithmetic, statistics/rowwise.py)
    sizes : number of codes of each rule
    keys : sorted joint codes that are cells of their own; a row with another joint code (none of
        the public rows) belongs to cell 0, so every row is in exactly one cell
    """

    rules: tuple[GaussianRule, ...]
    sizes: tuple[int, ...]
    keys: Integers

    @property
    def n_cells(self) -> int:
        return int(self.keys.size)

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
        entry = self.partition(X) * self.n_classes + codes
        counts = np.bincount(entry, minlength=self.partition.n_cells * self.n_classes)
        return counts.astype(np.int64)
