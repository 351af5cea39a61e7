"""Plans: rehearsals on invented tables only, answers that follow from the table."""

import pytest

from privgmm import InputError
from privgmm.cli import run
from privgmm.plan import Forecast, Question, forecasts, smallest_epsilon, write_chart


def row(n, epsilon, kl):
    return Forecast(n, epsilon, kl, kl, 0.9, 0.95)


def test_smallest_epsilon_that_reaches_the_target():
    rows = [row(100, 1, 0.9), row(100, 2, 0.4), row(100, 4, 0.1), row(50, 4, 0.8)]
    assert smallest_epsilon(rows, 0.5) == {100: 2, 50: None}
    assert smallest_epsilon(rows, 2.0) == {100: 1, 50: 4}


def test_rehearsals_are_repeatable_and_improve_with_epsilon():
    question = Question((400,), 2, 2, "record", (0.5, 8.0), radius=20.0, rehearsals=3)
    steps = []
    first = list(forecasts(question, lambda done, total: steps.append((done, total))))
    assert steps == [(i, 6) for i in range(1, 7)]
    assert first == list(forecasts(question))
    assert first[1].kl_mean < first[0].kl_mean
    assert 0.5 < first[1].accuracy <= 1


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
        {"epsilons": ()},
        {"n_classes": 0},
        {"n_classes": 1},
        {"dim": 0},
        {"rehearsals": 0},
    ],
)
def test_unusable_questions_are_one_sentence(changes):
    asked = {"sizes": (100,), "n_classes": 2, "dim": 2, "unit": "label", "epsilons": (1.0,)}
    with pytest.raises(InputError):
        Question(**{**asked, **changes})


PLAN = ["plan", "--classes", "2", "--dim", "2", "--unit", "record", "--rehearsals", "1"]


def test_command_prints_a_table_and_an_answer(capsys, tmp_path):
    options = ["--n", "300", "--epsilon", "4", "--target-kl", "100", "-o", str(tmp_path / "p.svg")]
    assert run([*PLAN, *options]) == 0
    said = capsys.readouterr().out
    assert "mean KL" in said
    assert "With 300 rows epsilon 4 reaches" in said
    assert (tmp_path / "p.svg").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--n", "many"],
        ["--n", "5"],
        ["--n", "100", "--epsilon", "0"],
        ["--n", "100", "--target-kl", "-1"],
        ["--n", "100", "-o", "plan.txt"],
    ],
)
def test_bad_command_lines(options, capsys):
    assert run([*PLAN, *options]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
