"""The one shape in which rows enter the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError

Floats = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Table:
    """Checked rows: finite numbers, and one label per row if the table is labelled.

    X : (n, d) float64, C order, finite
    labels : (n,) strings (dtype object), integers, floats or booleans; None when unlabelled
    feature_names : d distinct names
    label_name : the label's column, None when the labels came without one
    """

    X: Floats
    labels: Labels | None
    feature_names: tuple[str, ...]
    label_name: str | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != len(self.feature_names):
            raise InputError("A table needs one name per feature column.")
        if self.labels is not None and self.labels.shape != (self.X.shape[0],):
            raise InputError(
                f"Labels must be one per row: {self.X.shape[0]} rows, "
                f"labels of shape {self.labels.shape}."
            )

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])
