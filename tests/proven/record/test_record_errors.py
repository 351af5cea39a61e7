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
