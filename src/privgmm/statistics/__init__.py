"""Exact integer statistics of rows: additive, bit-identical for any row order and any chunking. No noise here."""

from privgmm.statistics.source import ArraySource, Codes, Integers, Kernel, Source, add_exactly

__all__ = ["ArraySource", "Codes", "Integers", "Kernel", "Source", "add_exactly"]
