"""What an experiment is: a study (trials that make rows) and a figure of it with its findings."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from privgmm.reproduce.harness.table import FigureTable

Setting = float | int | str
Verdict = Literal["yes", "no", "depends", "open"]


def stream(seed: int, *names: object) -> int:
    """A 63-bit seed for the purpose spelled by ``names``.

    A result depends on the seed and on what it is for: not on the number of processes, the order of
    the work, or which other points of a sweep were run.
    """
    words = [zlib.crc32(repr(name).encode()) for name in names]
    state = np.random.SeedSequence([seed, *words]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


@dataclass(frozen=True)
class Row:
    """One method on one data set; a field that does not apply is None.

    kl : KL(released || fitted), the paper's. An expectation over the noise, or of one release (proven)
    kl_means : the part of ``kl`` that the noise on the means makes
    kl_forward : KL(fitted || released);  weights_tv : total variation of the weights
    accuracy_lost : balanced accuracy of the fit minus that of the release, on rows not used by either
    accuracy : by maximum likelihood, as the paper classifies;  accuracy_map : with the weights as prior
    final : test accuracy of networks after their last batch, mean over runs
    iterations, rises : of Algorithm 1, and the largest rise of its objective from one to the next
    distance : total variation of one marginal, whose released ``mean`` and ``sd`` are given
    """

    figure: str
    x_name: str
    x: float
    method: str
    trial: int
    data: str
    epsilon: float | None = None
    kl: float | None = None
    kl_means: float | None = None
    kl_forward: float | None = None
    weights_tv: float | None = None
    accuracy_lost: float | None = None
    kl_unclipped: float | None = None
    accuracy: float | None = None
    accuracy_map: float | None = None
    final: float | None = None
    iterations: int | None = None
    rises: float | None = None
    class_name: str | None = None
    class_size: int | None = None
    feature: int | None = None
    mean: float | None = None
    sd: float | None = None
    distance: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Task:
    """One trial at one x. It is computed as a whole, kept as a whole, and has its own random numbers."""

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
        """A setting of the study as a number."""
        return float(self.settings[name])

    def at(self, *xs: float) -> Study:
        """The same study at other points of the sweep."""
        return replace(self, xs=xs)


@dataclass(frozen=True)
class Finding:
    """A claim, what the table says of it, and the numbers that say so.

    verdict : "depends" where readings of the text, all of them shown, decide; "open" where the trials
        do not suffice
    by : "paper" for what the paper states, "privgmm" for what this package adds
    readings : of a claim that can be read in several ways, each with its verdict and its numbers
    """

    claim: str
    verdict: Verdict
    evidence: str
    by: str = "paper"
    readings: tuple[tuple[str, Verdict, str], ...] = ()

    @property
    def held(self) -> bool:
        """Whether the statement holds."""
        return self.verdict == "yes"

    @property
    def line(self) -> str:
        """The verdict in one line."""
        return f"{self.verdict}: {self.claim} ({self.evidence})"


@dataclass(frozen=True)
class Experiment:
    """One figure: a study, what to draw of it and what to check on its table.

    paper : what the paper states about it, in our words;  page_factor : how many times the asked trials
        the page of results shows
    """

    name: str
    title: str
    paper: str
    study: Study
    methods: tuple[str, ...]
    check: Callable[[FigureTable], tuple[Finding, ...]]
    draw: Callable[[Experiment, FigureTable], Any]  # -> matplotlib Figure
    x_label: str = ""
    y: str = "kl"
    page_factor: int = 1

    def at(self, *xs: float) -> Experiment:
        """The same experiment at these points only."""
        return replace(self, study=self.study.at(*xs))

    def without(self, method: str) -> Experiment:
        """The same experiment with a method left out; only what the paper states is then judged."""
        study = replace(self.study, methods=tuple(m for m in self.study.methods if m != method))

        def check(table: FigureTable) -> tuple[Finding, ...]:
            return tuple(finding for finding in self.check(table) if finding.by == "paper")

        methods = tuple(m for m in self.methods if m != method)
        return replace(self, study=study, methods=methods, check=check)
