"""Dask collections, and tables in memory, as sources on a Dask cluster."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from privgmm.data.dask_source import ArrayPiece, DaskSource
from privgmm.data.labels import check_label_type
from privgmm.data.memory import WHERE
from privgmm.data.names import check_names, choose
from privgmm.data.opening import Asked, Opened, finish
from privgmm.data.table import Layout
from privgmm.data.validate import number_type, refuse_text
from privgmm.errors import InputError

_BLOCK_ROWS = 1 << 18


def open_collection(data: Any, y: Any, asked: Asked) -> Opened:
    """A Dask data frame (with its ``label`` column), or a Dask or NumPy array with labels ``y``.

    The client defaults to the current one. Rows of a collection are computed anew in every pass,
    so persist it first if the workers' memory holds it.
    """
    from distributed import get_client

    where = get_client() if asked.client is None else asked.client
    persons = asked.persons
    parts: tuple[Any, ...]
    if hasattr(data, "_meta") and hasattr(data, "to_delayed") and hasattr(data, "columns"):
        person = None if persons is None else persons.column
        layout = _frame_layout(data, asked.label, asked.columns, person)
        parts = tuple(data[list(layout.columns)].to_delayed())
    else:
        layout = _array_layout(data, y, asked.label, asked.columns)
        if persons is not None:
            layout = replace(layout, person=persons.column)
        parts = _array_parts(data, y, len(where.scheduler_info()["workers"]), asked.ids)
    layout = replace(layout, drop_bad=asked.drop_bad)
    source = DaskSource(layout, (), 0, WHERE, where, parts, asked.progress)
    return finish(source, False, asked, counted=False)


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """A Dask client: of ``address``, else of Dask's own configuration, else of local processes.

    DASK_SCHEDULER_ADDRESS in the environment is such configuration.
    """
    import dask
    from distributed import Client

    remote = address or dask.config.get("scheduler-address", None)
    if not remote:
        with _local_cluster() as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(remote)
    except (OSError, TimeoutError, ValueError):
        raise InputError(
            "The Dask scheduler cannot be reached; check its address and that it runs."
        ) from None
    with client:
        yield client


def _local_cluster() -> Any:
    """One worker process per core, silent: a log may hold a record's values."""
    from distributed import LocalCluster
    from distributed.deploy.spec import close_clusters

    try:
        return LocalCluster(
            os.cpu_count() or 1,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    except BaseException:
        # A cluster that is half started cannot be closed, and Dask would complain about it when Python ends.
        # Its workers end with this process.
        atexit.unregister(close_clusters)
        raise


def _frame_layout(
    data: Any, label: str | None, columns: Sequence[str] | None, person: str | None
) -> Layout:
    """The columns, chosen and checked by the names and types of the frame; no row is computed."""
    import pyarrow as pa

    choice = choose(check_names(list(data.columns), WHERE), columns, label, WHERE, person)
    model = data._meta
    schema = pa.Schema.from_pandas(model, preserve_index=False)
    refuse_text(
        [
            name
            for name in choice.features
            if model[name].dtype == object or not number_type(schema.field(name).type)
        ],
        "the table",
    )
    if label is not None:
        check_label_type(schema.field(label).type, label, "the table")
    return Layout(choice.features, label, person=person)


def _array_layout(data: Any, y: Any, label: str | None, columns: Sequence[str] | None) -> Layout:
    if label is not None or columns is not None:
        raise InputError("An array has no named columns; give the labels as y.")
    if getattr(data, "ndim", None) != 2 or data.dtype.kind not in "iuf":
        raise InputError(f"{WHERE} must be a data frame or a two-dimensional array of numbers.")
    features = tuple(f"x{j}" for j in range(data.shape[1]))
    return Layout(features, None if y is None else "label")


def _array_parts(X: Any, y: Any, n_workers: int, ids: Any = None) -> tuple[Any, ...]:
    """Blocks of rows: delayed for Dask arrays, in memory for NumPy's."""
    if ids is not None:
        ids = np.asarray(ids)
        if not isinstance(X, np.ndarray) or ids.shape != (len(X),):
            raise InputError(
                "Persons must be one per row of an array, or a column of a data frame."
            )
    if any(np.isnan(a.shape[0]) for a in (X, y) if a is not None):
        raise InputError(
            "A Dask array must know its length; call compute_chunk_sizes() on it first."
        )
    if y is not None and (y.ndim != 1 or len(y) != len(X)):
        raise InputError("Labels must be one per row, in an array of one dimension.")
    if isinstance(X, np.ndarray):
        # A few blocks per worker, so that the last one to finish holds up the others for a short time only.
        size = max(1, min(_BLOCK_ROWS, -(-len(X) // (4 * max(n_workers, 1)))))
        return tuple(
            ArrayPiece(X[i : i + size], *(None if a is None else a[i : i + size] for a in (y, ids)))
            for i in range(0, len(X), size)
        )
    import dask.array
    from dask import delayed

    blocks = X.rechunk({1: -1})
    columns = [blocks.to_delayed().ravel()]
    if y is not None:
        columns.append(dask.array.asarray(y).rechunk((blocks.chunks[0],)).to_delayed().ravel())
    return tuple(delayed(list(arrays)) for arrays in zip(*columns, strict=True))
