"""Summaries and checks on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from privgmm.reproduce import FigureTable, Row
from privgmm.reproduce.harness.drawing import off_axis
from privgmm.reproduce.harness.findings import (
    below,
    below_baselines,
    beyond,
    by_reading,
    proven_below_published,
    trend,
)
from privgmm.reproduce.harness.table import interval


def table(**levels: list[float]) -> FigureTable:
    """Five trials a point, 2 % apart; x = 1, 2, ..."""
    spread = (0.96, 0.98, 1.0, 1.02, 1.04)
    return FigureTable(
        tuple(
            Row("t", "x", float(i), method.replace("_", "-"), trial, "toy", kl=level * factor)
            for method, values in levels.items()
            for i, level in enumerate(values, start=1)
            for trial, factor in enumerate(spread)
        )
    )


def test_the_interval_covers_the_mean_at_its_level() -> None:
    rng = np.random.default_rng(7)
    spans = np.array([interval(rng.normal(3.0, 2.0, size=50)) for _ in range(400)])
    covered = ((spans[:, 0] < 3) & (spans[:, 1] > 3)).mean()
    assert 0.90 < covered < 0.98
    # and it is no wider than it should be: 2 * 1.96 * 2 / sqrt(50)
    assert np.diff(spans, axis=1).mean() == pytest.approx(1.109, rel=0.06)


def test_curve_leaves_out_points_without_numbers() -> None:
    rows = (*table(published=[4.0, 2.0]).rows, Row("t", "x", 3.0, "published", 0, "toy", note="no"))
    curve = FigureTable(rows).curve("published")
    assert curve.x.tolist() == [1.0, 2.0]
    assert curve.mean == pytest.approx([4.0, 2.0])
    assert (curve.low < curve.mean).all()
    assert (curve.mean < curve.high).all()


@pytest.mark.parametrize(
    ("levels", "direction", "held"),
    [
        ([4.0, 2.0, 1.0], "falls", True),
        ([4.0, 2.0, 1.0], "rises", False),
        ([4.0, 2.0, 3.0], "falls", False),
        ([4.0, 2.0, 2.01, 1.0], "falls", False),  # the same data sets: no step may go against it
        ([47.5, 61.7, 4.16, 3.13, 1.78], "falls", False),  # what a test by intervals let pass
        ([1.0, 2.0, 3.0], "rises", True),
        ([1.0, 3.0, 2.0], "rises", False),
    ],
)
def test_a_trend_on_the_same_data_holds_at_every_step(
    levels: list[float], direction: str, held: bool
) -> None:
    found = trend(table(published=levels), direction, "in x", same_data=True)
    assert found.verdict == ("yes" if held else "no")


def heavy(levels: list[float], trials: int, seed: int) -> FigureTable:
    """Other data sets at every x, with a tail like KL's: a lognormal factor of deviation 1.5."""
    rng = np.random.default_rng(seed)
    return FigureTable(
        tuple(
            Row("t", "x", float(i), "published", t, "toy", kl=level * rng.lognormal(0, 1.5))
            for i, level in enumerate(levels, start=1)
            for t in range(trials)
        )
    )


@pytest.mark.slow
def test_ranks_decide_a_trend_over_other_data_sets() -> None:
    """A clear rise is told whatever the tail does; no trend is rarely taken for one (level 0.01)."""
    rising = [trend(heavy([1, 3, 9, 27, 81], 20, s), "rises", "in x") for s in range(40)]
    assert all(found.verdict == "yes" for found in rising)
    falling = [trend(heavy([1, 3, 9, 27, 81], 20, s), "falls", "in x") for s in range(40)]
    assert all(found.verdict == "no" for found in falling)
    flat = [trend(heavy([5] * 5, 20, s), "rises", "in x").verdict for s in range(200)]
    assert flat.count("yes") <= 8  # 2 expected; 8 or fewer with probability above 0.999
    # At the end it turns back by a factor of 27, which Wilcoxon's test finds.
    turned = [trend(heavy([1, 9, 81, 243, 9], 40, s), "rises", "in x") for s in range(40)]
    assert sum(found.verdict == "no" for found in turned) >= 36


def test_few_trials_leave_a_trend_open() -> None:
    assert trend(heavy([1, 3, 9], 4, 0), "rises", "in x").verdict == "open"


def test_readings_say_under_which_a_claim_holds() -> None:
    some = by_reading("it falls", {"B": ("yes", "1 → 2"), "B²": ("no", "2 → 1")})
    assert (some.verdict, some.evidence) == ("depends", "with “B”; not with “B²”")
    assert some.readings[1] == ("B²", "no", "2 → 1")
    assert by_reading("it falls", {"B": ("yes", "")}).verdict == "yes"
    assert by_reading("it falls", {"B": ("no", ""), "C": ("no", "")}).evidence == "under no reading"
    part = by_reading("it falls", {"B": ("no", ""), "C": ("open", ""), "D": ("open", "")})
    assert (part.verdict, part.evidence) == ("open", "not with “B”; not decided with “C”, “D”")
    assert by_reading("it falls", {"B": ("yes", ""), "C": ("open", "")}).verdict == "open"


def curves(*levels: float, trials: int = 20, seed: int = 0, tail: float = 1.0) -> np.ndarray:
    """(trials, points) with lognormal data sets around these levels."""
    rng = np.random.default_rng(seed)
    return np.array(levels) * rng.lognormal(0, tail, size=(trials, len(levels)))


def test_close_curves_are_compared_data_set_by_data_set() -> None:
    rival = curves(10, 20, 400)
    mine = rival * np.random.default_rng(1).lognormal(-0.5, 0.3, size=rival.shape)
    assert below(mine, rival) == "yes"
    assert below(rival, mine) == "no"
    mine[:, 1] = rival[:, 1] * np.random.default_rng(2).lognormal(0, 0.3, size=20)
    assert below(mine, rival) == "open"  # one point that the trials do not decide
    mine[:, 1] = rival[:, 1] * 1.1
    assert below(mine, rival) == "no"  # and one that is above
    assert below(mine[:4], rival[:4]) == "open"  # four trials decide nothing


@pytest.mark.slow
def test_equal_curves_are_rarely_called_different() -> None:
    """Level 0.01 a side: of 300 pairs of equal curves of four points 3 "no" are expected at most."""
    found = [
        below(curves(1, 1, 1, 1, seed=s), curves(1, 1, 1, 1, seed=1000 + s)) for s in range(300)
    ]
    assert found.count("yes") == 0
    assert found.count("no") <= 10  # more has a probability below 0.001


def test_a_stated_number_must_hold_in_the_mean_too() -> None:
    assert beyond(curves(100, 120, tail=0.3), 300, "below") == "yes"
    assert beyond(curves(100, 500, tail=0.3), 300, "below") == "no"
    assert beyond(curves(100, 500, tail=0.3), 50, "above") == "yes"
    assert beyond(curves(100, 500, tail=0.3), 200, "above") == "no"
    tailed = curves(20, 20, tail=0.3)
    tailed[0, 0] = 20_000  # nearly every data set is below, the mean is not
    assert beyond(tailed, 300, "below") == "open"


def test_below_baselines_names_where_it_fails() -> None:
    rivals = ("laplace", "r1smg")
    shown = table(published=[1.0, 1.0], laplace=[2.0, 3.0], r1smg=[4.0, 4.0])
    good = below_baselines(shown, rivals)
    assert good.held
    assert good.evidence == "largest ratio to a baseline 0.5, laplace at 1"
    bad = below_baselines(table(published=[1.0, 5.0], laplace=[2.0, 3.0], r1smg=[0.5, 9.0]), rivals)
    assert not bad.held
    assert bad.evidence.endswith("not below laplace at 2, r1smg at 1")


def test_proven_below_published_names_the_lost_points() -> None:
    won = proven_below_published(table(proven=[1.0, 1e-14], published=[2.0, 3.0]))
    assert won.held
    assert won.evidence == "published is 2 to over 1e+06 times larger"
    assert not proven_below_published(table(published=[2.0])).held
    exact = proven_below_published(table(proven=[0.0], published=[2.0]))
    assert exact.evidence == "published is over 1e+06 to over 1e+06 times larger"
    lost = proven_below_published(table(proven=[1.0, 4.0], published=[2.0, 3.0]))
    assert not lost.held
    assert lost.evidence == "not at 2 (4 against 3)"


def test_a_method_far_above_all_others_is_named_instead_of_drawn() -> None:
    shown = table(proven=[1.0, 1.0], published=[2.0, 3.0], laplace=[50.0, 40.0], r1smg=[9e3, 8e4])
    off = off_axis(shown, shown.methods, "kl")
    assert off == {"r1smg": "R1SMG lies above the axis: 9.0e+03 to 8.0e+04"}
    assert list(off_axis(shown, shown.methods, "kl", omitted=("laplace",))) == ["laplace", "r1smg"]
    assert off_axis(shown, shown.methods, "accuracy") == {}
