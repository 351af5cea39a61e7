"""The one way in for rows: files, frames, arrays and Dask become checked rows, and a ``Source`` adds up integers over them, without noise."""

from privgmm.data.memory import table_from
from privgmm.data.reading import iter_batches, read_table
from privgmm.data.source import ArraySource, Source, add_exactly
from privgmm.data.table import Table

__all__ = [
    "ArraySource",
    "Source",
    "Table",
    "add_exactly",
    "iter_batches",
    "read_table",
    "table_from",
]
