"""One self-contained HTML file about a release: what it promises, what it holds, how to use it."""

from privgmm.report.page import render, write_report

__all__ = ["render", "write_report"]
