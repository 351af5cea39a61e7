"""Run an experiment: its unfinished tasks in parallel processes, then its table, figure and findings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from privgmm.errors import InputError
from privgmm.files import whole_file
from privgmm.reproduce.harness.drawing import save_figure
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.harness.journal import Journal
from privgmm.reproduce.harness.table import Table, sorted_rows

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Result:
    """What one experiment gave; ``seconds`` covers only the trials that were not kept from before."""

    experiment: Experiment
    table: Table
    findings: tuple[Finding, ...]
    trials: int
    seed: int
    seconds: float

    @property
    def line(self) -> str:
        """The figure and its verdicts in one line."""
        return f"{self.experiment.name}: " + "; ".join(f.line for f in self.findings)


def reproduce(
    experiment: Experiment,
    out: Path,
    trials: int = 20,
    jobs: int = 1,
    seed: int = 42,
    progress: Progress | None = None,
) -> Result:
    """Run ``trials`` trials at every x and write NAME.csv, .parquet, .svg, .png and .json to ``out``."""
    if trials < 1 or jobs < 1 or seed < 0:
        raise InputError("Trials and jobs must be at least 1 and the seed at least 0.")
    start = time.monotonic()
    rows = study_rows(experiment.study, out / "trials", trials, jobs, seed, progress)
    seconds = time.monotonic() - start
    mine = (replace(row, figure=experiment.name) for row in rows)
    order = experiment.methods
    table = Table(sorted_rows((row for row in mine if row.method in order), order))
    result = Result(experiment, table, experiment.check(table), trials, seed, seconds)
    with threadpool_limits(limits=1):  # figures read data that was clustered on one thread
        write(result, out)
    return result


def study_rows(
    study: Study, folder: Path, trials: int, jobs: int, seed: int, progress: Progress | None = None
) -> list[Row]:
    """The rows of all tasks, computing only those that the journal does not hold."""
    journal = Journal(folder, study, seed)
    # Trials outermost: an interrupted run has whole trials, and workers share a trial's data.
    tasks = [Task(x, trial, seed) for trial in range(trials) for x in study.xs]
    missing = [task for task in tasks if task not in journal]
    for done, (task, rows) in enumerate(_computed(study, missing, jobs), start=1):
        journal.add(task, rows)
        if progress is not None:
            progress(len(tasks) - len(missing) + done, len(tasks))
    return [row for task in tasks for row in journal.rows(task)]


def _computed(study: Study, tasks: list[Task], jobs: int) -> Iterator[tuple[Task, list[Row]]]:
    """(task, rows) in the order of completion."""
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield run_task(study, task)
        return
    pool = Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(run_task)(study, task) for task in tasks)


def run_task(study: Study, task: Task) -> tuple[Task, list[Row]]:
    """One task on one thread: sums in another order would give other last digits."""
    with threadpool_limits(limits=1):
        return task, study.run(study, task)


def write(result: Result, out: Path) -> None:
    """The table, the figure and the findings, each whole or not at all."""
    experiment, stem = result.experiment, out / result.experiment.name
    result.table.save(stem)
    save_figure(experiment.draw(experiment, result.table), stem)
    summary = {
        "figure": experiment.name,
        "data": experiment.study.source(),
        "settings": dict(experiment.study.settings),
        "trials": result.trials,
        "seed": result.seed,
        "findings": [asdict(finding) for finding in result.findings],
    }
    with whole_file(stem.with_suffix(".json")) as path:
        path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
