"""Every figure of the paper's section V, with the proven mechanism beside the published one.

harness  trials and their journal, tables, checks, drawing      figures  data, methods, one file a section
page     docs/results.md and the blocks of numbers that other pages quote
"""

from privgmm.reproduce.figures import EXPERIMENTS, chosen
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.harness.runner import Result, reproduce
from privgmm.reproduce.harness.table import FigureTable

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "FigureTable",
    "Finding",
    "Result",
    "Row",
    "Study",
    "Task",
    "chosen",
    "reproduce",
]
