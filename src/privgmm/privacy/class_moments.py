"""Sensitivity of class counts, means and second moments. Proof: docs/proofs/class-moments.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privgmm.privacy.query import Adjacency
from privgmm.statistics.class_moments import GRID, ClassMoments
from privgmm.statistics.source import Floats


@dataclass(frozen=True)
class Shape:
    """How the budget of one round is shared: a row counts (a, b v/GRID, c v v^T/GRID^2)."""

    count: float
    mean: float
    second: float

    def squared_sensitivity(self, adjacency: Adjacency) -> float:
        """sup of the squared change, class-moments.md (1)-(3)."""
        a2, b2, c2 = self.count**2, self.mean**2, self.second**2
        own = a2 + b2 + c2
        if adjacency == "add-remove":
            return own
        across = 2 * own
        if adjacency == "label":
            return across
        # Two rows of one class at angle theta on the sphere: 2 b^2 (1 - t) + 2 c^2 (1 - t^2) at
        # t = cos theta = max(-1, -b^2 / (2 c^2)).
        within = 2 * b2 + 2 * c2 + b2**2 / (2 * c2) if b2 <= 2 * c2 else 4 * b2
        return max(across, within)


@dataclass(frozen=True, eq=False)
class ClassMomentsQuery:
    """One round: counts, means and second moments of all classes in their current ellipsoids."""

    kernel: ClassMoments
    shape: Shape
    name: str = "class counts, means and second moments"

    @property
    def steps(self) -> Floats:
        """Noise per total: 1/a, GRID/b, GRID^2/c on the diagonal and GRID^2/(c sqrt 2) off it.

        Off-diagonal entries stand for two entries of the symmetric matrix, so the sqrt 2 makes
        the norm of the upper triangle the Frobenius norm.
        """
        n_classes, d = self.kernel.centres.shape
        rows, cols = np.triu_indices(d)
        second = np.where(rows == cols, 1.0, math.sqrt(0.5)) * GRID**2 / self.shape.second
        one_class = np.concatenate(
            [[1 / self.shape.count], np.full(d, GRID / self.shape.mean), second]
        )
        return np.tile(one_class, n_classes)

    def sensitivity(self, adjacency: Adjacency) -> float:
        return math.sqrt(self.shape.squared_sensitivity(adjacency))
