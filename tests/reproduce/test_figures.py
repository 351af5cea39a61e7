"""Every figure at a few trials on a few points: it runs, it writes, and its findings come out.

Small, so that it is quick; docs/results.md holds the same findings at moderate trial counts. Without
PRIVGMM_DATA the image and load-profile figures use their stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from privgmm.reproduce import EXPERIMENTS, Result, data, reproduce

TRIALS = 2
POINTS: dict[str, tuple[float, ...]] = {
    "ci": (1, 8),
    "epsilon": (1, 8),
    "n": (500, 10000),
    "k": (2, 8),
    "d": (3, 8),
    "d-large": (10, 20),
    "iris-epsilon": (1, 8),
    "iris-marginals": (2,),
    "ami-epsilon": (1, 8),
    "ami-marginals": (2,),
    "mnist-epsilon": (1, 8),
    "mnist-accuracy": (1, 8),
    "mnist-mlp": (1000,),
    "record-b": (5, 20),
}
# The paper's findings, by the start of their claim, that these few trials bear out.
HOLDS = [
    ("ci", "KL of published falls in ε"),
    ("ci", "the algorithm typically terminates within 10 iterations"),
    ("epsilon", "published is below laplace, gaussian, colored-gaussian, r1smg"),
    ("epsilon", "KL of published falls in ε"),
    ("n", "published is below"),
    ("n", "KL of published falls in N"),
    ("k", "published is below"),
    ("k", "KL of published rises in K"),
    ("k", "published is less sensitive to K"),
    ("d", "published is below laplace, gaussian, colored-gaussian at"),
    ("d", "KL of published rises in d"),
    ("d-large", "for d > 10 R1SMG is the best baseline"),
    ("iris-epsilon", "published is below laplace"),
    ("iris-epsilon", "KL of published falls in ε"),
    ("iris-marginals", "published marginals are nearer"),
    ("ami-epsilon", "published is below laplace, gaussian, colored-gaussian at"),
    ("ami-epsilon", "KL of published falls in ε"),
    ("mnist-epsilon", "published is below laplace, gaussian, colored-gaussian at"),
    ("mnist-accuracy", "published is above all baselines"),
]
# Figures on which proven must beat published at every point.
PROVEN_WINS = [
    "ci", "epsilon", "n", "k", "d", "d-large", "iris-epsilon", "ami-epsilon", "mnist-epsilon",
]  # fmt: skip

Run = Callable[[str], Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    out: Path = tmp_path_factory.mktemp("figures")
    readers = (data.ami, data.mnist, data._images)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVGMM_DATA", raising=False)
        for reader in readers:
            reader.cache_clear()

        @cache
        def once(name: str) -> Result:
            return reproduce(EXPERIMENTS[name].at(*POINTS[name]), out, trials=TRIALS)

        yield once
    for reader in readers:
        reader.cache_clear()


def test_every_name_of_the_contract_is_known() -> None:
    assert list(EXPERIMENTS) == list(POINTS)


@pytest.mark.parametrize("name", POINTS)
def test_a_figure_has_a_row_for_every_method_point_and_trial(run: Run, name: str) -> None:
    result = run(name)
    table, methods = result.table, EXPERIMENTS[name].methods
    assert set(table.methods) == set(methods)
    assert table.trials == TRIALS
    if name != "mnist-mlp":  # its x is the iteration, not the point of the study
        assert table.xs == POINTS[name]
    column = EXPERIMENTS[name].y
    for method in methods:
        for x in table.xs:
            cell = table.where(method=method, x=x)
            assert cell.values(column).size >= TRIALS, (method, x)
            assert (cell.values(column) >= 0).all()
    assert any(finding.by == "paper" for finding in result.findings)
    assert all(finding.evidence for finding in result.findings)


@pytest.mark.parametrize(("name", "claim"), HOLDS)
def test_a_finding_of_the_paper_holds(run: Run, name: str, claim: str) -> None:
    (finding,) = [f for f in run(name).findings if f.claim.startswith(claim) and f.by == "paper"]
    assert finding.held, finding.line


@pytest.mark.parametrize("name", PROVEN_WINS)
def test_proven_is_below_published(run: Run, name: str) -> None:
    (finding,) = [f for f in run(name).findings if f.claim.startswith("proven is below")]
    assert finding.held, finding.line


def test_stand_ins_are_named_in_the_table(run: Run) -> None:
    assert {row.data for row in run("ami-epsilon").table.rows} == {data.ami_source()} - {""}
    assert "in place of MNIST" in run("mnist-accuracy").table.rows[0].data
    assert "stand-in" in run("ami-marginals").table.rows[0].data


def test_figures_of_one_study_show_the_same_trials(run: Run) -> None:
    ci, epsilon = (
        [(r.x, r.trial, r.kl) for r in run(name).table.where(method="published").rows]
        for name in ("ci", "epsilon")
    )
    assert ci == epsilon
