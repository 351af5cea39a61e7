"""Parquet through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privgmm.errors import InputError
from privgmm.frames.labels import check_label_type
from privgmm.frames.names import Choice, check_names
from privgmm.frames.screen import number_type, refuse_text

# Cells per batch: bounds the memory of one batch whatever the number of columns.
_BATCH_CELLS = 1 << 23


def parquet_names(path: Path) -> tuple[str, ...]:
    with _opened(path) as file:
        return check_names(file.schema_arrow.names, str(path))


def check_parquet_types(path: Path, choice: Choice) -> Any:
    """Refuse columns of the wrong type from the schema alone; returns the label's type."""
    with _opened(path) as file:
        schema = file.schema_arrow
    types = dict(zip(schema.names, schema.types, strict=True))
    refuse_text([name for name in choice.features if not number_type(types[name])], str(path))
    if choice.label is None:
        return None
    check_label_type(types[choice.label], choice.label, str(path))
    return types[choice.label]


def parquet_batches(path: Path, choice: Choice) -> Iterator[Any]:
    """Record batches of the chosen columns with the types of the file."""
    wanted = [*choice.features] + ([choice.label] if choice.label is not None else [])
    rows = max(1, min(1 << 16, _BATCH_CELLS // len(wanted)))
    with _opened(path) as file:
        yield from file.iter_batches(batch_size=rows, columns=wanted)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pa.lib.ArrowException, OSError, ValueError, LookupError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(
            f"{path} is not a readable Parquet file; it may be cut off, damaged or encrypted."
        ) from None
