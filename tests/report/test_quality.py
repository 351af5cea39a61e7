"""Real beside synthetic rows: scores against their definitions, and the page of any kind of release."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from privgmm import Column, Release, Schema, release
from privgmm.cli import run
from privgmm.report import render
from privgmm.report.quality import column_shapes, correlations, quality_of, total_variations
from privgmm.types import PersonUnit

SCHEMA = """
label = "kind"
classes = ["a", "b"]
[columns.size]
type = "integer"
lo = 0
hi = 100
[columns.mass]
type = "number"
lo = 0
hi = 50
missing = true
[columns.place]
type = "category"
levels = ["<north>", "south", "nowhere"]
missing = true
"""


def table(n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.random(n) < 0.4
    size = np.clip(np.rint(rng.normal(30 + 30 * kind, 8)), 0, 100).astype(int)
    mass = np.clip(0.4 * size + rng.normal(0, 3, n), 0, 50).round(1)
    mass[rng.random(n) < 0.15] = np.nan
    place = rng.choice(np.array(["<north>", "south", ""], dtype=object), n, p=[0.6, 0.3, 0.1])
    return pd.DataFrame(
        {"kind": np.where(kind, "b", "a"), "size": size, "mass": mass, "place": place}
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Release]:
    """A folder with a table of every kind of column, its schema and a release of it."""
    folder = tmp_path_factory.mktemp("mixed")
    table().to_csv(folder / "t.csv", index=False)
    (folder / "s.toml").write_text(SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release(
            str(folder / "t.csv"), epsilon=8.0, delta=1e-6, unit="record", adjacency="replace",
            schema=Schema.load(folder / "s.toml"), seed=1,
        )  # fmt: skip
    made.save(folder / "r.json")
    return folder, made


def test_total_variation_is_half_the_sum_of_differences_of_shares() -> None:
    kinds = (Column("c", "category", levels=("x", "y"), missing=True), Column("n"))
    real = np.array([[0, 1.0], [0, 1.0], [1, 2.0], [np.nan, 3.0]])
    made = np.array([[0, 1.0], [1, 1.5], [1, 2.0], [1, np.nan]])
    # Of c: shares 1/2, 1/4, 1/4 against 1/4, 3/4, 0. Of n every real value is one that many share: 1, 2, 3
    # against 1, what lies between 1 and 2, 2, missing. Pairs agree in (x, 1) and (y, 2), once each.
    single, pairs = total_variations(kinds, real, made)
    assert single == pytest.approx((0.5 + 0.5) / 2)
    assert pairs == pytest.approx(0.5)


def test_numbers_count_in_tenths_of_the_real_rows() -> None:
    rng = np.random.default_rng(0)
    real = rng.random((1000, 2))
    moved = real.copy()
    moved[:, 0] = moved[:, 0] * 0.5  # half of the tenths hold all rows, twice as many each
    single, _ = total_variations((Column("a"), Column("b")), real, moved)
    assert single == pytest.approx(0.5 / 2, abs=0.02)


def test_shapes_are_those_of_sdmetrics_by_definition() -> None:
    rng = np.random.default_rng(1)
    real, made = rng.normal(size=(300, 1)), rng.normal(0.3, 1, size=(200, 1))
    real[:20] = np.nan
    expected = 1 - ks_2samp(real[20:, 0], made[:, 0]).statistic
    assert column_shapes((Column("x"),), real, made) == pytest.approx((expected,))
    column = (Column("c", "category", levels=("x", "y")),)
    assert column_shapes(column, np.array([[0.0], [1]]), np.array([[0.0], [0]])) == (0.5,)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_correlations_leave_missing_cells_out_pair_by_pair(scale: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    x[:10, 0] = np.nan
    x[5:20, 1] = np.nan
    expected = pd.DataFrame(x).corr().to_numpy()
    assert correlations(x * scale) == pytest.approx(expected)
    assert correlations(np.ones((5, 2)))[0, 1] == 0


def test_a_model_that_is_right_scores_like_real_rows_and_a_wrong_one_worse(
    make_release: Any,
) -> None:
    true = make_release(2, 3)
    X, y = true.sample(3000, seed=5)
    wrong = replace(true, mixture=replace(true.mixture, means=true.mixture.means[::-1]))
    right, off = (quality_of(r, X, y.astype(np.intp)) for r in (true, wrong))
    for score in right.scores:
        # Two samples of 3000 rows: scores scatter by about a hundredth.
        assert score.synthetic == pytest.approx(score.real, abs=0.04), score.name
    by_name = {score.name: score for score in off.scores}
    assert by_name["Total variation, pairs"].synthetic > 0.2
    assert by_name["Accuracy of a classifier"].synthetic < 0.5


def test_a_release_with_categories_and_missing_cells_is_compared_with_its_table(
    mixed: tuple[Path, Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = mixed
    monkeypatch.chdir(folder)
    assert run(["report", "r.json", "--reference", "t.csv", "--schema", "s.toml"]) == 0
    text = (folder / "report.html").read_text("utf-8")
    frame = table().replace({"place": {"": None}})
    assert text == render(Release.load("r.json"), (frame, frame["kind"]))
    assert "Real and synthetic rows (private)" in text
    for score in ("Column shapes", "CorrelationSimilarity", "MissingValueSimilarity"):
        assert score in text
    assert "&lt;north&gt;" in text
    assert "<north>" not in text
    assert "Real and synthetic rows" not in render(made)


def test_rows_as_they_are_sampled_can_be_predicted_and_compared(
    mixed: tuple[Path, Release],
) -> None:
    _, made = mixed
    X, y = made.sample(400, seed=0)
    assert (made.predict(X) == y).mean() > 0.8
    assert np.isnan(X).any()
    text = render(made, (X, y))
    assert not re.search(r">(nan|inf)<", text)


def test_synthetic_rows_on_the_page_hold_levels_and_dashes(mixed: tuple[Path, Release]) -> None:
    text = render(mixed[1])
    assert "<td>south</td>" in text
    assert '<td class="n">–</td>' in text
    assert "nan" not in re.findall(r'<td class="n">(.*?)</td>', text)


def test_rows_of_persons_are_counted_one_by_one_and_the_page_says_so(make_release: Any) -> None:
    made = make_release(2, 2, person=PersonUnit("patient"))
    assert "Rows are counted one by one here" in render(made, made.sample(100, seed=0))


def test_rows_that_a_release_left_out_are_left_out_of_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{'y' if a > 0 else 'x'}" for a in rng.normal(size=200)]
    Path("t.csv").write_text("\n".join(["v,kind", *lines, ",x", "0.1,z"]) + "\n")
    options = ["--label", "kind", "--classes", "x,y", "--unit", "record", "--epsilon", "4"]
    options += ["--delta", "1e-5", "--bounds=-5,5", "-o", "r.json"]
    assert run(["release", "t.csv", *options, "--on-bad-row", "drop"]) == 0
    assert run(["report", "r.json", "--reference", "t.csv"]) == 0
    assert "200 real rows beside" in Path("report.html").read_text("utf-8")


def test_a_preprocessed_release_is_compared_in_the_columns_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = release(
            X, y, epsilon=4.0, delta=1e-5, unit="label", classes=[0, 1], preprocessing="pca:2"
        )
    text = render(made, (X, y))
    assert "KL(released ‖ fitted)" in text
    assert text.count("KSComplement 0.") == 2 * 3  # in the caption and in the picture's label
