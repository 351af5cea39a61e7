"""Every figure at two trials on a few points: it runs, it writes, and its findings come out.

Small, so that it is quick; docs/results.md holds the same findings at moderate trial counts. Without
PRIVGMM_DATA the image and load-profile figures use their stand-ins. Figures that share trials
share a test, because tests may run in different processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from privgmm.reproduce import EXPERIMENTS, Experiment, Result, reproduce
from privgmm.reproduce.figures import data
from privgmm.reproduce.harness.table import FigureTable

pytestmark = pytest.mark.slow

TRIALS = 2
POINTS: dict[str, tuple[float, ...]] = {
    "ci": (1, 8),
    "epsilon": (1, 8),
    "n": (500, 2000),
    "k": (2, 8),
    "d": (3, 8),
    "d-large": (12, 20),
    "iris-epsilon": (1, 8),
    "iris-marginals": (2,),
    "ami-epsilon": (1, 8),
    "ami-marginals": (2,),
    "ami-sizes": (2,),
    "mnist-epsilon": (1, 8),
    "mnist-accuracy": (1, 8),
    "mnist-pca": (3, 5),
    "mnist-mlp": (1000,),
    "record-b": (1, 5, 10, 40),
    "record-epsilon": (1, 8),
    "record-large": (4,),
}
# The paper's findings, by the start of their claim, that these few trials bear out; and ours.
THREE = "published is below laplace, gaussian, colored-gaussian at"
BETTER = "proven is below published at every"
HOLDS = {
    "ci": [
        "the algorithm typically terminates within 10",
        "no iteration raises the objective",
        "a trial takes at most 10 seconds",
        "the scalable variant has comparable trends",
        BETTER,
    ],
    "epsilon": [
        "published is below laplace, gaussian, colored-gaussian, r1smg at every ε",
        "KL of published falls in ε",
        "KL of laplace, gaussian, colored-gaussian, r1smg falls in ε",
        "R1SMG's noise is large",
        "with departures only in (eq10) published is nearer",
        BETTER,
    ],
    "n": [THREE, "KL of published falls in N", "KL of laplace, gaussian", BETTER],
    "k": [THREE, "the increase of KL in K is smaller", BETTER],
    "d": [THREE, BETTER],
    "d-large": [BETTER],
    "iris-epsilon": [THREE, BETTER],
    "iris-marginals": ["published marginals are nearer", "proven marginals are nearer"],
    "ami-epsilon": [THREE, BETTER],
    # Balanced releases of classes of a few rows are wide on purpose: the page says where published is nearer,
    # and nearer_in_large_classes asks for the others.
    "ami-marginals": ["in the smallest class it diverges"],
    "ami-sizes": ["in the smallest class it diverges"],
    "mnist-epsilon": [THREE, "KL of published falls in ε", BETTER],
    "mnist-accuracy": ["published is above all baselines"],
    "mnist-pca": ["fewer principal components lower KL"],
    "mnist-mlp": ["non-private synthetic rows train nearly as well"],
    "record-b": ["it is not the noise on the means that grows", BETTER],
    "record-epsilon": ["KL of published falls in ε", BETTER],
    "record-large": [BETTER],
}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins whatever the machine has; readers cache their data for the life of a process."""
    readers = (data.ami, data.table_one, data.mnist, data._images)
    monkeypatch.delenv("PRIVGMM_DATA", raising=False)
    for reader in readers:
        reader.cache_clear()
    yield
    for reader in readers:
        reader.cache_clear()


def small(name: str) -> Experiment:
    experiment = EXPERIMENTS[name].at(*POINTS[name])
    if name != "mnist-mlp":
        return experiment
    settings = {**experiment.study.settings, "epsilons": "0.1, 16", "runs": 4}
    return replace(experiment, study=replace(experiment.study, settings=settings))


def checked(name: str, out: Path) -> Result:
    """Run the figure; every method has its trials at every point and every expected finding holds."""
    result = reproduce(small(name), out, trials=TRIALS)
    table, column = result.table, result.experiment.y
    assert set(table.methods) == set(result.experiment.methods)
    assert table.trials == TRIALS
    for method in table.methods:
        for x in table.xs:
            values = table.where(method=method, x=x).values(column)
            assert values.size >= TRIALS, (method, x)
            assert (values >= 0).all()
    for claim in HOLDS[name]:
        (finding,) = [f for f in result.findings if f.claim.startswith(claim)]
        assert finding.held, finding.line
    alone = result.experiment.without("proven")
    rest = FigureTable(tuple(row for row in table.rows if row.method != "proven"))
    verdicts = [(f.claim, f.verdict) for f in alone.check(rest)]
    assert verdicts == [(f.claim, f.verdict) for f in result.findings if f.by == "paper"]
    return result


def nearer_in_large_classes(table: FigureTable) -> None:
    """Proven is nearer to the fit than published in every class of more than 140 rows."""
    sizes = {r.class_name: r.class_size for r in table.rows if r.class_name is not None}
    for name in (name for name, size in sizes.items() if size is not None and size > 140):
        ours, theirs = (
            table.mean("distance", method=method, class_name=name)
            for method in ("proven", "published")
        )
        assert ours < theirs, (name, ours, theirs)


def test_every_name_of_the_contract_is_known() -> None:
    assert list(EXPERIMENTS) == list(POINTS)


def test_ci_and_epsilon_show_the_same_trials(tmp_path: Path) -> None:
    ci, epsilon = (
        [(r.x, r.trial, r.kl) for r in checked(name, tmp_path).table.where(method="published").rows]
        for name in ("ci", "epsilon")
    )
    assert ci == epsilon
    assert len(list((tmp_path / "trials").iterdir())) == 1


@pytest.mark.parametrize("name", ["n", "k", "d", "iris-epsilon", "iris-marginals"])
def test_synthetic_and_iris(name: str, tmp_path: Path) -> None:
    table = checked(name, tmp_path).table
    assert table.xs == POINTS[name]
    for column in ("kl", "kl_forward", "weights_tv", "accuracy_lost"):
        for method in ("proven", "published"):
            assert table.where(method=method).values(column).size == TRIALS * len(table.xs)


def test_at_a_large_dimension_the_reading_decides(tmp_path: Path) -> None:
    """Departures only, (P2) jointly: below R1SMG with Wu's bound, as the paper says. All readings are told.

    Eight data sets are the fewest of which ranks decide anything at their level.
    """
    two = checked("d-large", tmp_path)
    assert {f.verdict for f in two.findings if f.by == "paper"} == {"open"}
    result = reproduce(small("d-large").without("proven"), tmp_path, trials=8)
    (best,) = [f for f in result.findings if f.claim.startswith("for d > 10 R1SMG is the best")]
    assert best.held, best.line
    (below,) = [f for f in result.findings if f.claim.startswith("published is below R1SMG")]
    assert len(below.readings) == 8
    held = {name: verdict for name, verdict, _ in below.readings}
    assert held["departures, (P2) jointly and Wu's L1 bound"] == "yes"
    assert held["both and the L2 bound"] == "no"
    assert below.verdict == "depends"


@pytest.mark.parametrize("name", ["ami-epsilon", "ami-marginals"])
def test_load_profiles_name_their_stand_in(name: str, tmp_path: Path) -> None:
    table = checked(name, tmp_path).table
    assert {row.data for row in table.rows} == {"synthetic stand-in with the paper's class sizes"}


def test_table_one_has_the_paper_s_class_sizes(tmp_path: Path) -> None:
    table = checked("ami-sizes", tmp_path).table
    nearer_in_large_classes(table)
    sizes = {r.class_name: r.class_size for r in table.rows if r.class_name is not None}
    assert sorted(sizes.values()) == [14, 31, 102, 147, 428, 687]


def test_mnist(tmp_path: Path) -> None:
    checked("mnist-epsilon", tmp_path)
    table = checked("mnist-accuracy", tmp_path).table
    assert "in place of MNIST" in table.rows[0].data
    gaps = [
        table.mean("accuracy", method="non-private", x=x)
        - table.mean("accuracy", method="published", x=x)
        for x in table.xs
    ]
    assert gaps[-1] < 0.05 < gaps[0]  # 1200 images of digits: close, but not yet at epsilon = 1


def test_fewer_components_need_less_noise(tmp_path: Path) -> None:
    checked("mnist-pca", tmp_path)


def test_networks_learn_more_from_a_larger_epsilon(tmp_path: Path) -> None:
    """End against end, mean of eight networks each; steps between need the trials of the page.

    1000 rows are seven batches, in which networks learn little: the ends are far apart, and their difference
    is 0.073 in the mean of twelve trials, with a deviation of 0.043.
    """
    result = checked("mnist-mlp", tmp_path)
    low, high = (result.table.mean("final", method="published", epsilon=e) for e in (0.1, 16.0))
    assert high > low + 0.02
    assert result.findings[0].verdict == "open"  # two trials are too few for a verdict


def test_kl_is_u_shaped_in_the_clipping_bound(tmp_path: Path) -> None:
    """The paper says that KL falls as B grows. It does at small B, and rises again at large B."""
    result = checked("record-b", tmp_path)
    small, _, middle, large = result.table.curve("published").mean
    assert small > middle
    assert large > middle
    assert result.findings[0].verdict == "depends", result.findings[0].line


@pytest.mark.parametrize("name", ["record-epsilon", "record-large"])
def test_record_level_against_epsilon(name: str, tmp_path: Path) -> None:
    checked(name, tmp_path)
