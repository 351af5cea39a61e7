"""Some rows of features, as the label-level mechanism takes them; and rows that came in by the one way in, for a look at them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.data.features import some_rows
from privgmm.data.opening import Opened, open_rows
from privgmm.data.source import ArraySource
from privgmm.data.streamed import FileSource

ENOUGH = 1 << 40


def subsample(features, n, rng):
    """n rows (all, if there are no more) with how much each counts."""
    return features.shared_at(some_rows(features.n_rows, n, rng))


@dataclass(frozen=True, eq=False)
class Rows:
    """What came in: finite numbers, and one label per row if the table is labelled."""

    X: np.ndarray
    labels: np.ndarray | None
    feature_names: tuple[str, ...]
    label_name: str | None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])


def in_memory(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, label: str | None = None
) -> Rows:
    """A file as it comes in where it is read once."""
    return _rows(open_rows(path, **_asked(columns, label), in_memory=ENOUGH), label)


def streamed(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, label: str | None = None
) -> Rows:
    """The same file as it comes in where every total is a pass."""
    return _rows(open_rows(path, **_asked(columns, label)), label)


def of_memory(
    data: Any, y: Any = None, label: str | None = None, columns: Sequence[str] | None = None
) -> Rows:
    """A frame or an array as it comes in."""
    labelled = label is not None or y is not None
    return _rows(open_rows(data, y, **_asked(columns, label, labelled)), label, labelled)


def _asked(
    columns: Sequence[str] | None, label: str | None, labelled: bool | None = None
) -> dict[str, Any]:
    labelled = label is not None if labelled is None else labelled
    return {"columns": columns, "label": label, "n_components": None if labelled else 1}


def _rows(opened: Opened, label: str | None, labelled: bool | None = None) -> Rows:
    source = opened.source
    if isinstance(source, FileSource):
        source = source.loaded("A test")
    assert isinstance(source, ArraySource)
    labels = None
    if label is not None if labelled is None else labelled:
        labels = np.array(opened.classes, dtype=object)[source.codes]
    return Rows(source.X, labels, opened.feature_names, opened.label_name)
