"""Summaries and checks on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from privgmm.reproduce import Row, Table
from privgmm.reproduce.findings import below_baselines, proven_below_published, trend
from privgmm.reproduce.table import interval


def table(**levels: list[float]) -> Table:
    """Five trials a point, 2 % apart; x = 1, 2, ..."""
    spread = (0.96, 0.98, 1.0, 1.02, 1.04)
    return Table(
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
    curve = Table(rows).curve("published")
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
        ([4.0, 2.0, 2.01, 1.0], "falls", True),  # a step within its interval does not decide
        ([1.0, 2.0, 3.0], "rises", True),
        ([1.0, 3.0, 2.0], "rises", False),
    ],
)
def test_trend(levels: list[float], direction: str, held: bool) -> None:
    assert trend(table(published=levels), direction, "in x").held is held


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
    lost = proven_below_published(table(proven=[1.0, 4.0], published=[2.0, 3.0]))
    assert not lost.held
    assert lost.evidence == "not at 2 (4 against 3)"
