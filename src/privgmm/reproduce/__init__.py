"""Every figure of the paper's section V, with the proven mechanism beside the published one."""

from privgmm.reproduce.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.registry import EXPERIMENTS, chosen
from privgmm.reproduce.runner import Result, reproduce
from privgmm.reproduce.table import Table

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Finding",
    "Result",
    "Row",
    "Study",
    "Table",
    "Task",
    "chosen",
    "reproduce",
]
