"""What an experiment is: a study (trials that make rows) and a figure of it with its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privgmm.reproduce.table import Table

Setting = float | int | str


@dataclass(frozen=True)
class Row:
    """One measurement; a field that does not apply is None. KL is KL(released || fitted)."""

    figure: str
    x_name: str
    x: float
    method: str
    trial: int
    data: str
    epsilon: float | None = None
    kl: float | None = None
    kl_means: float | None = None  # the part of KL that the noise on the means makes
    kl_unclipped: float | None = None
    accuracy: float | None = None
    iterations: int | None = None
    class_name: str | None = None
    class_size: int | None = None
    feature: int | None = None
    mean: float | None = None
    sd: float | None = None
    distance: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Task:
    """One trial at one x: the unit of work, of resumption and of randomness."""

    x: float
    trial: int
    seed: int


@dataclass(frozen=True)
class Study:
    """Trials over a sweep. ``run(study, task)`` returns the rows of one task.

    ``source`` names the data read, so that a table made from a stand-in says so.
    """

    name: str
    x_name: str
    xs: tuple[float, ...]
    methods: tuple[str, ...]
    settings: Mapping[str, Setting]
    source: Callable[[], str]
    run: Callable[[Study, Task], list[Row]]

    def number(self, name: str) -> float:
        return float(self.settings[name])

    def at(self, *xs: float) -> Study:
        """The same study at other points of the sweep."""
        return replace(self, xs=xs)


@dataclass(frozen=True)
class Finding:
    """A claim, whether the table bears it out, and the numbers that say so.

    ``by`` is "paper" for what the paper states, "privgmm" for what this package asks of itself.
    """

    claim: str
    held: bool
    evidence: str
    by: str = "paper"

    @property
    def line(self) -> str:
        return f"{'held' if self.held else 'NOT held'}: {self.claim} ({self.evidence})"


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper: a study, what to draw of it and what to check on its table."""

    name: str
    title: str
    paper: str  # what the paper states about this figure, in our words
    study: Study
    methods: tuple[str, ...]
    check: Callable[[Table], tuple[Finding, ...]]
    draw: Callable[[Experiment, Table], Any]  # -> matplotlib Figure
    x_label: str = ""
    y: str = "kl"

    def at(self, *xs: float) -> Experiment:
        return replace(self, study=self.study.at(*xs))
