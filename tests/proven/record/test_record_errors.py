"""Errors of record-level releases: what stated bounds say, and small classes of no bell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import privgmm
from privgmm.proven.record.locate import bins_below


def test_bins_beyond_the_stated_range_hold_neither_rows_nor_noise() -> None:
    """Of a 0/1 column two bins of forty are open; the noise of the others made its mean uncertain by 2."""
    low, width = np.full((1, 1), -0.5), np.full((1, 1), 1.0)
    bins = bins_below(np.full((1, 1, 40), 7.0), 3.0, low, width, np.array([1.5]))
    assert bins.open.sum() == 2
    assert bins.tables.sum() == 14.0
    assert (bins.ends[0].item(), bins.ends[1].item()) == (-0.5, 1.5)
    np.testing.assert_allclose(bins.places[0, 0, :2], [0.0, 1.0])
    everywhere = bins_below(bins.tables, 3.0, low, width)
    assert everywhere.open.all()


SCHEMA = """
label = "ill"
classes = [0, 1]
[columns.one]
type = "integer"
lo = 0
hi = 1
[columns.visits]
type = "integer"
lo = 0
hi = 30
[columns.age]
type = "integer"
lo = 18
hi = 95
"""


def clinic(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A 0/1 column, counts with many zeros, an age; a third of the rows ill, older, and more of them 1."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.32
    one = rng.random(n) < np.where(ill, 0.5, 0.2)
    visits = np.minimum(np.where(rng.random(n) < 0.5, 0, rng.poisson(3, n)), 30)
    age = np.clip(np.round(rng.normal(np.where(ill, 60, 45), 12)), 18, 95)
    return np.c_[one, visits, age], ill.astype(int)


def test_a_class_of_a_thousand_rows_is_usable_and_no_error_leaves_the_bounds(
    tmp_path: Path,
) -> None:
    """Session 6: such a class at epsilon 1 was released right, flagged, and its 0/1 column told as 0.5 +- 2.2."""
    schema = tmp_path / "clinic.toml"
    schema.write_text(SCHEMA)
    usable = []
    for seed in range(4):
        X, y = clinic(3000, seed)
        table = pa.table({"one": X[:, 0], "visits": X[:, 1], "age": X[:, 2], "ill": y})
        release = privgmm.release(
            table, epsilon=1.0, delta=1e-6, unit="record", schema=schema, seed=seed
        )
        errors = release.errors
        assert errors is not None
        usable.append(errors.usable_columns[1])
        low, high = errors.intervals.means
        # A bin of whole numbers reaches half a step beyond the last one.
        assert (low >= [-0.51, -0.51, 16.9]).all()
        assert (high <= [1.51, 30.51, 96.1]).all()
        assert errors.means[1, 0] < 0.15
        truth = privgmm.fit(X, y)
        assert np.abs(release.mixture.means[1, 0] - truth.means[1, 0]) < 0.1
    assert np.mean(usable) > 0.5


def test_a_single_class_is_told_by_its_plain_sums_where_these_moved_it() -> None:
    """30 of 5,000 rows at the end of a column have nearly all of the variance, and histograms do not tell how far most rows lie from them.

    Ten releases of two columns: 95 % of 20 intervals hold in 19, fewer than 15 do with a probability below 1 in 10,000; the sums tell
    deviations to about 10 %.
    """
    held, usable = 0, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = 0.3 * rng.standard_normal((5000, 2))
        X[np.arange(30), rng.integers(2, size=30)] = 95.0 * rng.choice([-1, 1], size=30)
        r = privgmm.release(
            X, np.zeros(5000, int), 4.0, 1e-5, "record", classes=[0], bounds=(-100, 100), seed=seed
        )
        assert r.errors is not None
        told = r.errors.intervals.deviations
        held += int(((told.low <= X.std(axis=0)) & (X.std(axis=0) <= told.high)).sum())
        usable += int(r.errors.usable_columns.sum())
        assert (told.high[r.errors.usable_columns] < 12.0).all()
        assert (told.high <= 101.0).all()
        assert (r.errors.intervals.means.low >= -100.0).all()
        assert (r.errors.intervals.means.high <= 100.0).all()
    assert held >= 15
    assert usable >= 12
