"""Plans: rehearsals on invented tables only, answers that follow from the table."""

import dataclasses
import math

import numpy as np
import pytest

from privgmm import InputError
from privgmm.cli import run
from privgmm.plan import Forecast, Off, Question, Ranges, forecasts, smallest_epsilon, write_chart
from privgmm.plan import rehearsal as rehearsing
from privgmm.plan.invent import invent


def row(n, epsilon, kl):
    off = Off(0.1, 0.3)
    return Forecast(n, epsilon, 5, off, off, off, off, kl, kl, kl, 0.9, 0.95)


def test_smallest_epsilon_that_reaches_the_target():
    rows = [row(100, 1, 0.9), row(100, 2, 0.4), row(100, 4, 0.1), row(50, 4, 0.8)]
    assert smallest_epsilon(rows, 0.5) == {100: 2, 50: None}
    assert smallest_epsilon(rows, 2.0) == {100: 1, 50: 4}


@pytest.mark.slow
def test_rehearsals_are_repeatable_and_improve_with_epsilon():
    question = Question((400,), 2, 2, "record", (0.5, 8.0), radius=20.0, rehearsals=2)
    steps = []
    first = list(forecasts(question, lambda done, total: steps.append((done, total))))
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1] == sum(one.rehearsals for one in first)
    assert all(2 <= one.rehearsals <= 8 for one in first)
    assert first == list(forecasts(question))
    assert first[1].kl_mean < first[0].kl_mean
    for kind in ("share", "mean", "deviation", "correlation"):
        weak, strong = (getattr(one, kind) for one in first)
        assert strong.typical < weak.typical
        assert strong.typical <= strong.most
    assert 0.5 < first[1].accuracy <= 1


@pytest.mark.parametrize("unit", ["label", "record"])
@pytest.mark.parametrize("n", [1, 5])
def test_no_size_that_a_release_accepts_is_refused(unit, n):
    (only,) = forecasts(Question((n,), 3, 2, unit, (1.0,), rehearsals=1))
    assert math.isnan(only.kl_mean)
    assert 0 <= only.share.typical <= 1


@pytest.mark.slow
def test_large_tables_are_rehearsed_on_fewer_rows_with_as_much_more_budget(monkeypatch):
    """Errors go by rows times mu: 20,000 rows and 5,000 with four times the budget are off alike."""
    question = Question((20_000,), 2, 2, "record", (1.0,), radius=25.0, rehearsals=8)
    monkeypatch.setattr(rehearsing, "MOST_TIMES", 1)
    (whole,) = forecasts(question)
    monkeypatch.setattr(rehearsing, "LARGEST_CELLS", 10_000)
    assert question.rehearsed_rows(20_000) == 5_000
    (part,) = forecasts(question)
    for kind in ("share", "mean", "deviation"):
        assert 1 / 3 < getattr(part, kind).typical / getattr(whole, kind).typical < 3


def test_scattered_results_ask_for_more_rehearsals():
    one = rehearsing.Rehearsal(*[np.array([0.1])] * 4, 0.2, 0.2, 0.9, 0.9)
    same = [one] * 5
    apart = [dataclasses.replace(one, kl=10.0**i) for i in range(5)]
    assert not rehearsing._scattered(same, 5)
    assert rehearsing._scattered(apart, 5)
    assert not rehearsing._scattered(apart * 4, 5)


RANGES = Ranges((0.0, 10.0, -1.0), (100.0, 20.0, 1.0), (False, True, False))


@pytest.mark.parametrize("shape", ["bells", "spikes", "tails"])
def test_invented_tables_keep_the_stated_ranges_and_kinds(shape):
    X, y = invent(3000, 3, 3, shape, RANGES, seed=0)
    assert (np.array(RANGES.lo) <= X).all()
    assert (np.array(RANGES.hi) >= X).all()
    assert np.array_equal(X[:, 1], np.rint(X[:, 1]))
    assert set(y.tolist()) == {0, 1, 2}
    assert np.array_equal(X, invent(3000, 3, 3, shape, RANGES, seed=0)[0])


def test_shapes_are_what_they_are_called():
    spikes, _ = invent(5000, 2, 4, "spikes", None, seed=1)
    assert 0.55 < np.mean(spikes[:, 0] == spikes[:, 0].min()) < 0.65
    assert np.unique(spikes[:, 2]).size == 2
    assert np.unique(spikes[:, 1]).size == 5000
    bells, _ = invent(5000, 1, 4, "bells", None, seed=1)
    tails, _ = invent(5000, 1, 4, "tails", None, seed=1)

    def kurtosis(x):
        z = (x - x.mean(axis=0)) / x.std(axis=0)
        return (z**4).mean(axis=0).max()

    assert kurtosis(bells) < 4 < 8 < kurtosis(tails)


def test_charts_are_written_whole(tmp_path):
    rows = [row(100, 1, 0.9), row(100, 2, 0.4), row(1000, 1, 0.1), row(1000, 2, 0.05)]
    for name in ("plan.svg", "plan.png", "plan.pdf"):
        write_chart(rows, tmp_path / name, target_kl=0.3)
        assert (tmp_path / name).stat().st_size > 1000
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"sizes": ()},
        {"sizes": (0,)},
        {"epsilons": ()},
        {"n_classes": 0},
        {"n_classes": 1},
        {"dim": 0},
        {"rehearsals": 0},
        {"rows_per_person": 0},
        {"shape": "cubes"},
        {"ranges": RANGES, "radius": 3.0},
    ],
)
def test_unusable_questions_are_one_sentence(changes):
    asked = {"sizes": (100,), "n_classes": 2, "dim": 2, "unit": "label", "epsilons": (1.0,)}
    with pytest.raises(InputError):
        Question(**{**asked, **changes})


PLAN = ["plan", "--classes", "2", "--dim", "2", "--unit", "record", "--rehearsals", "1"]


@pytest.mark.slow
def test_command_says_errors_in_words_before_kl(capsys, tmp_path):
    options = ["--n", "300", "--epsilon", "4", "--target-kl", "100", "-o", str(tmp_path / "p.svg")]
    assert run([*PLAN, *options]) == 0
    said = capsys.readouterr().out
    share, kl = said.index("the share of a class is off by"), said.index("mean KL")
    assert share < said.index("a mean by") < said.index("a correlation by") < kl
    assert "With 300 rows epsilon 4 reaches" in said
    assert (tmp_path / "p.svg").exists()
    assert run([*PLAN, *options]) == 2
    assert "--overwrite" in capsys.readouterr().err


SCHEMA = """
label = "kind"
classes = ["a", "b", "c"]
columns.height = {type = "number", lo = 0, hi = 3}
columns.children = {type = "integer", lo = 0, hi = 12}
"""


def test_a_schema_says_what_to_rehearse(capsys, tmp_path):
    schema = tmp_path / "s.toml"
    schema.write_text(SCHEMA)
    asked = ["plan", "--n", "50", "--unit", "record", "--epsilon", "1", "--rehearsals", "1"]
    assert run([*asked, "--schema", str(schema), "--shape", "spikes"]) == 0
    said = capsys.readouterr().out
    assert "3 classes, 2 columns, columns with spikes" in said
    assert "the stated ranges" in said
    bounds = tmp_path / "b.csv"
    bounds.write_text("column,lo,hi\nheight,0,3\n")
    assert run([*asked, "--classes", "2", "--bounds", str(bounds)]) == 0
    assert "2 classes, 1 column," in capsys.readouterr().out
    assert run([*asked, "--schema", str(schema), "--classes", "4"]) == 2
    assert "--classes 4" in capsys.readouterr().err


def test_persons_are_counted_whatever_their_rows():
    """As many persons with more rows each are no harder, and no easier but for the fit."""
    asked = Question((150,), 2, 1, "record", (4.0,), rehearsals=1, rows_per_person=20)
    (row,) = forecasts(asked)
    assert row.n == 150
    (bare,) = forecasts(Question((3000,), 2, 1, "record", (4.0,), rehearsals=1))
    assert row.kl_mean > bare.kl_mean


@pytest.mark.parametrize(
    "options",
    [
        ["--n", "many"],
        ["--n", "100", "--persons", "10", "--rows-per-person", "2"],
        ["--persons", "100"],
        ["--n", "100", "--rows-per-person", "2"],
        ["--n", "0"],
        ["--n", "100", "--epsilon", "0"],
        ["--n", "100", "--target-kl", "-1"],
        ["--n", "100", "-o", "plan.txt"],
        ["--n", "100", "--bounds", "3,1"],
        ["--n", "100", "--bounds", "nowhere.csv"],
        ["--n", "100", "--schema", "nowhere.toml"],
    ],
)
def test_bad_command_lines(options, capsys):
    assert run([*PLAN, *options]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
