"""Tables in: CSV, Parquet, pandas, polars, pyarrow and NumPy become one checked ``Table``."""

from privgmm.frames.memory import table_from
from privgmm.frames.read import iter_batches, read_table
from privgmm.frames.table import Table

__all__ = ["Table", "iter_batches", "read_table", "table_from"]
