"""A study that costs nothing: two methods whose KL is a known function of x and the trial."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privgmm.reproduce import Experiment, FigureTable, Finding, Row, Study, Task
from privgmm.reproduce.harness.drawing import draw_lines
from privgmm.reproduce.harness.experiment import stream
from privgmm.reproduce.harness.findings import proven_below_published, trend


def source() -> str:
    return "toy"


def run(study: Study, task: Task) -> list[Row]:
    """KL is lognormal around level / x; each call is noted in the file named by the settings."""
    with Path(str(study.settings["calls"])).open("a", encoding="utf-8") as calls:
        calls.write(f"{task.x} {task.trial}\n")
    if task.trial >= study.number("fails_from"):
        raise KeyboardInterrupt
    out = []
    for method, level in (("proven", 1.0), ("published", 10.0)):
        rng = np.random.default_rng(stream(task.seed, study.name, task.x, task.trial, method))
        kl = float(level / task.x * rng.lognormal(0, 0.05))
        out.append(Row(study.name, study.x_name, task.x, method, task.trial, source(), kl=kl))
    return out


def check(table: FigureTable) -> tuple[Finding, ...]:
    return trend(table, "falls", "in x", same_data=True), proven_below_published(table)


def experiment(calls: Path, fails_from: int = 1_000_000) -> Experiment:
    settings = {"calls": str(calls), "fails_from": fails_from}
    methods = ("proven", "published")
    study = Study("toy", "x", (1.0, 2.0, 4.0), methods, settings, source, run)
    return Experiment("toy", "A toy", "It falls.", study, methods, check, draw_lines, "x")
