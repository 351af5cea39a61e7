"""Means, shares and deviations of the table's own columns, from a mixture of 0/1 and filled ones."""

import numpy as np
import pytest

import privgmm
from privgmm import Release
from privgmm.model.columns import ABSENT, Column, Encoding
from privgmm.model.uncertainty import Errors, Interval, Intervals, split
from privgmm.releases import Guarantee
from privgmm.releases.column_lines import column_lines, numbers, usable_columns
from privgmm.releases.statement import statement_text
from privgmm.report.page import render

COLUMNS = (
    Column("wage", lo=0.0, hi=100.0, missing=True),
    Column("region", "category", levels=("north", "south", "islands"), missing=True),
    Column("age", "integer", lo=0.0, hi=99.0, missing=True),
)


def rows():
    """(n, c) cells of two classes: a third of the wages is missing, and ages are missing with them or alone."""
    rng = np.random.default_rng(5)
    n = 3000
    y = np.repeat(["a", "b"], n // 2)
    age = 40 + 10 * rng.standard_normal(n)
    wage = 20 + 0.4 * (age - 40) + 3 * rng.standard_normal(n) + 5 * (y == "b")
    region = rng.choice(4, n, p=[0.5, 0.3, 0.1, 0.1]).astype(float)
    wage[rng.random(n) < 0.33] = ABSENT
    age[rng.random(n) < 0.1] = ABSENT
    return np.column_stack([wage, np.where(region == 3, ABSENT, region), age]), y


def mixed(errors=False, own=(1, 0)):
    cells, y = rows()
    encoding = Encoding(COLUMNS, (30.0, 0.0, 35.0), ((), own, ()))
    mixture = privgmm.fit(encoding(cells), y)
    known = None
    if errors:
        found = (mixture.weights, mixture.means, *split(mixture.covariances))
        sizes = [np.full_like(values, 0.01) for values in found]
        ends = [Interval(v - 0.02, v + 0.02) for v in found]
        known = Errors(*sizes, Intervals(*ends), np.ones(mixture.means.shape, bool))
    guarantee = Guarantee("proven", "record", "replace", 1.0, 1e-5, 0.268, True)
    return Release(
        mixture, guarantee, ("wage", "region", "age"), "kind", columns=COLUMNS, encoding=encoding,
        errors=known,
    )  # fmt: skip


def test_means_are_of_the_cells_that_are_there_and_shares_of_all():
    cells, y = rows()
    present = np.where(cells == ABSENT, np.nan, cells)
    wage, region, age = column_lines(mixed())
    assert [line.name for line in wage] == ["wage", "wage missing"]
    for k, name in enumerate("ab"):
        part = present[y == name]
        for j, (number, missing) in ((0, wage), (2, age)):
            assert number.values[k] == pytest.approx(np.nanmean(part[:, j]))
            assert number.deviations[k] == pytest.approx(np.nanstd(part[:, j]), rel=2e-3)
            assert missing.values[k] == pytest.approx(np.isnan(part[:, j]).mean())
        assert [line.name for line in region] == [
            "region = north", "region = south", "region = 2 other levels",
        ]  # fmt: skip
        shares = [np.mean(part[:, 1] == level) for level in (0, 1)]
        assert [line.values[k] for line in region] == pytest.approx([*shares, 1 - sum(shares)])


def test_numbers_have_the_correlation_of_rows_in_which_both_are_there():
    cells, y = rows()
    shown = numbers(mixed())
    assert shown.names == ("wage", "age")
    assert shown.columns == (0, 2)
    both = cells[(y == "a") & (cells != ABSENT).all(axis=1)]
    _, correlations = split(shown.mixture.covariances)
    # One class of about 900 such rows: the missing ones are only nearly independent of the values.
    wanted = np.corrcoef(both[:, [0, 2]].T)[0, 1]
    assert correlations[0, 0, 1] == pytest.approx(wanted, abs=0.03)


def test_errors_follow_and_shares_stay_between_nothing_and_all():
    wage, region, _ = column_lines(mixed(errors=True, own=(0, 1, 2)))
    gone = wage[1].values
    off = np.abs(30.0 - wage[0].values)
    assert wage[0].error == pytest.approx(0.01 * np.hypot(1, off) / (1 - gone))
    assert region[-1].name == "region = missing"
    assert region[-1].error == pytest.approx(0.01 * 3**0.5)
    assert usable_columns(mixed(errors=True)).shape == (2, 3)
    lost = mixed(errors=True)
    # Of a share nobody knows within half of what is possible; of a number, what its errors say.
    at = lost.encoding.places[1].start
    lost.errors.intervals.means.low[0, at], lost.errors.intervals.means.high[0, at] = 0.1, 0.7
    lost.errors.usable_columns[1, 0] = False
    assert usable_columns(lost).tolist() == [[True, False, True], [False, True, True]]


def test_noise_beyond_all_reads_as_all():
    release = mixed()
    means = release.mixture.means.copy()
    means[0, release.encoding.places[1]] = [1.2, -0.1]
    means[0, release.encoding.places[0].start + 1] = -0.2
    noisy = privgmm.Mixture(release.mixture.weights, means, release.mixture.covariances, ("a", "b"))
    wage, region, _ = column_lines(
        Release(noisy, release.guarantee, columns=COLUMNS, encoding=release.encoding,
                feature_names=("wage", "region", "age"))
    )  # fmt: skip
    assert wage[1].values[0] == 0
    assert [line.values[0] for line in region] == pytest.approx([0, 1, 0])


def test_the_statement_speaks_of_the_tables_columns():
    words = " ".join(statement_text(mixed(errors=True)).split())
    assert "region = 2 other levels" in words
    assert "wage missing" in words
    assert "2 classes, 3 columns" in words
    assert "region=" not in words


def test_a_notebook_draws_numbers_and_no_switches():
    release = mixed(errors=True)
    titles = {axes.get_title() for axes in release.plot().subfigs[0].axes}
    assert titles == {"wage", "age"}
    assert "50.0 ± 1.0 %" in release._repr_html_()


def test_a_table_of_categories_alone_has_no_picture_of_numbers():
    columns = (Column("sex", "category", levels=("f", "m")),)
    encoding = Encoding(columns, (0.0,), ((0,),))
    cells = np.random.default_rng(0).integers(0, 2, (200, 1)).astype(float)
    mixture = privgmm.fit(encoding(cells), np.repeat(["a", "b"], 100))
    guarantee = Guarantee("proven", "record", "replace", 1.0, 1e-5, 0.268, True)
    release = Release(mixture, guarantee, ("sex",), "kind", columns=columns, encoding=encoding)
    assert "<img" not in release._repr_html_()
    with pytest.raises(privgmm.InputError, match="category"):
        release.plot()
    page = render(release)
    assert "There are no columns of numbers" in page
    assert "sex" in page
