"""Sensitivity of the table of label counts per public cell. Proof: docs/proofs/label-sums.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.errors import InputError
from privgmm.privacy.query import Adjacency
from privgmm.statistics.label_sums import CellCounts
from privgmm.statistics.source import Floats


@dataclass(frozen=True, eq=False)
class CellCountsQuery:
    """How many rows of each class lie in each cell; cells are functions of the public features."""

    kernel: CellCounts
    name: str = "label counts per cell"

    @property
    def steps(self) -> Floats:
        return np.ones(self.kernel.partition.n_cells * self.kernel.n_classes)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency != "label":
            # The cells are read from the features, which only the label unit treats as public.
            raise InputError("Cells of the features are public only under unit='label'.")
        return math.sqrt(2.0)  # label-sums.md, Proposition 1
