"""Run an experiment: its unfinished tasks in parallel processes, then its table, figure and findings.

Every finished task is appended to a file as one JSON line, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import privgmm
from privgmm.errors import InputError
from privgmm.files import whole_file
from privgmm.reproduce.harness.drawing import save_figure
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.harness.table import FigureTable, sorted_rows

# Files that no number of a trial depends on. A change in any other file starts a new journal, so that results of two
# programs are never mixed. The exceptions are listed, and not the files that matter, because a forgotten file must not go unnoticed.
_NO_NUMBERS = ("__main__.py", "audit", "cli", "ledger", "plan", "report", "reproduce/__init__.py",
               "reproduce/page", "reproduce/harness/drawing.py", "reproduce/harness/findings.py",
               "reproduce/harness/table.py", "reproduce/harness/runner.py")  # fmt: skip
Progress = Callable[[int, int], None]


class Journal:
    """The finished tasks of one study under one seed, one program and one source of data."""

    def __init__(self, folder: Path, study: Study, seed: int) -> None:
        self.path = folder / f"{study.name}-{_digest(study, seed)}.jsonl"
        self._finished: dict[tuple[float, int], list[Row]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._read()
        except OSError as problem:
            raise InputError(f"Cannot use the folder {folder}: {problem.strerror}.") from None

    def __contains__(self, task: Task) -> bool:
        return (task.x, task.trial) in self._finished

    def rows(self, task: Task) -> list[Row]:
        """The rows of a task that was finished before."""
        return self._finished[task.x, task.trial]

    def add(self, task: Task, rows: list[Row]) -> None:
        """Keep a finished task; it is on disk when this returns."""
        line = {"x": task.x, "trial": task.trial, "rows": [_packed(row) for row in rows]}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._finished[task.x, task.trial] = rows

    def _read(self) -> None:
        if not self.path.exists():
            return
        whole = 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                kept = json.loads(line)
                if not line.endswith(b"\n"):
                    break
            except ValueError:
                break  # cut off in mid-line by the interruption
            whole += len(line)
            self._finished[kept["x"], kept["trial"]] = [Row(**row) for row in kept["rows"]]
        with self.path.open("r+b") as file:
            file.truncate(whole)


def _packed(row: Row) -> dict[str, object]:
    return {name: value for name, value in asdict(row).items() if value is not None}


def _digest(study: Study, seed: int) -> str:
    description = {
        "settings": dict(study.settings),
        "methods": study.methods,
        "source": study.source(),
        "seed": seed,
        "program": _program_digest(study),
    }
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _program_digest(study: Study) -> str:
    """A digest of the study's own file and of every source file that its numbers may depend on.

    The files of other figures are left out, so that changing one figure keeps the trials of the others.
    """
    root = Path(privgmm.__file__).parent
    own = inspect.getsourcefile(study.run)
    digest = hashlib.sha256(Path(own).read_bytes() if own else b"")
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        skipped = any(name == left or name.startswith(f"{left}/") for left in _NO_NUMBERS)
        if not skipped and name not in _figures(root):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _figures(root: Path) -> set[str]:
    """The files that describe figures, recognised by the list of experiments at their end."""
    folder = root / "reproduce" / "figures"
    return {
        path.relative_to(root).as_posix()
        for path in folder.glob("*.py")
        if "EXPERIMENTS" in path.read_text(encoding="utf-8")
    }


@dataclass(frozen=True)
class Result:
    """What one experiment gave; ``seconds`` covers only the trials that were not kept from before."""

    experiment: Experiment
    table: FigureTable
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
    table = FigureTable(sorted_rows((row for row in mine if row.method in order), order))
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
    """Run a task on one thread, because sums in another order would give other last digits."""
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
