"""The rows of a release, wherever they are: in memory, in files, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.model.fitting import encode_labels, feature_array, label_array
from privgmm.model.mixture import ClassName
from privgmm.statistics.opening import Opened, component_names, open_source
from privgmm.statistics.source import ArraySource
from privgmm.statistics.tally import Progress, no_progress


def open_rows(
    X: Any,
    y: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    classes: Sequence[ClassName] | None = None,
    n_components: int | None = None,
    client: Any = None,
    progress: Progress = no_progress,
) -> Opened:
    """A source of arrays X (n, d) and y (n,), of a path, or of a Dask frame or array.

    ``label`` and ``columns`` name columns of a file or frame. With a Dask ``client`` its workers
    do the passes. Unlabelled rows have code zero, and ``n_components`` says how many classes to fit.
    """
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise InputError("The labels of a file are one of its columns; name it as label.")
        return open_source(X, columns, label, classes, n_components, client, progress)
    if client is not None or hasattr(X, "__dask_graph__"):
        from privgmm.statistics.dask_opening import open_collection

        return open_collection(X, y, label, columns, classes, n_components, client, progress)
    if label is not None or columns is not None:
        raise InputError("Arrays have no named columns; give the labels as y.")
    x = feature_array(X)
    if y is None:
        names, codes = component_names(n_components, classes), np.zeros(x.shape[0], np.intp)
    else:
        labels = label_array(y)
        if labels.shape != (x.shape[0],):
            raise InputError(
                f"Labels must be one per row: {x.shape[0]} rows, labels of shape {labels.shape}."
            )
        names, codes = encode_labels(labels, classes)
    source = ArraySource(x, codes, len(names))
    return Opened(source, names, (), None, classes_from_data=y is not None and classes is None)
