"""The encoding of categories and missing cells: rowwise, and samples go back to stated cells."""

import numpy as np
import pytest

from privgmm.errors import InputError
from privgmm.model.columns import ABSENT, Column, Encoding, Inside
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery

COLUMNS = (
    Column("age", "integer", 0.0, 9.0, missing=True),
    Column("job", "category", levels=("a", "b", "c"), missing=True),
    Column("sex", "category", levels=("f", "m")),
    Column("pay", "number", -1.0, 1.0),
)
ENCODING = Encoding(COLUMNS, (4.0, 0.0, 0.0, 0.0), ((), (0, 3), (1,), ()))


def some_cells(n, seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([
        np.where(rng.random(n) < 0.3, ABSENT, rng.integers(-3, 14, n)),
        np.where(rng.random(n) < 0.3, ABSENT, rng.integers(0, 3, n)),
        rng.integers(0, 2, n),
        rng.normal(0, 2, n),
    ])  # fmt: skip


def test_names_ranges_and_one_hot_columns():
    assert ENCODING.names == ("age", "age missing", "job=a", "job=missing", "sex=m", "pay")
    X = ENCODING(
        np.array([[ABSENT, 0.0, 1.0, 0.5], [3.0, ABSENT, 0.0, -0.5], [3.0, 2.0, 0.0, 0.0]])
    )
    assert X.tolist() == [[4, 1, 1, 0, 1, 0.5], [3, 0, 0, 1, 0, -0.5], [3, 0, 0, 0, 0, 0]]


def test_each_row_is_mapped_by_itself_to_the_bit():
    cells = some_cells(500, 0)
    whole = ENCODING(Inside(COLUMNS)(cells))
    alone = np.concatenate([ENCODING(Inside(COLUMNS)(row[None])) for row in cells])
    assert whole.tobytes() == alone.tobytes()


def test_sampled_rows_become_stated_cells():
    rng = np.random.default_rng(1)
    cells = ENCODING.cells(rng.normal(0, 3, (1000, ENCODING.dim + len(ENCODING.choices))))
    age, job, sex, pay = cells.T
    assert set(age[~np.isnan(age)]) <= set(range(10))
    assert set(job[~np.isnan(job)]) == {0.0, 1.0, 2.0}
    assert set(sex) == {0.0, 1.0}
    assert np.isnan(age).any()
    assert np.isnan(job).any()
    assert np.abs(pay).max() <= 1


def test_an_encoding_of_every_level_is_refused():
    with pytest.raises(InputError):
        Encoding(COLUMNS, (0.0,) * 4, ((), (0, 1, 2, 3), (1,), ()))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_neighbours_move_histograms_and_moments_by_no_more_than_stated(adjacency):
    """docs/proofs/encoding.md: brute force over cells of every kind; histograms attain their bound."""
    shape = (2, 4)
    low = np.broadcast_to([-0.5, -0.5, -0.5, -1.0], shape)
    width = np.broadcast_to([1.0, 1.0, 1.0, 0.05], shape)
    histogram = MarginalCountsQuery(MarginalCounts(low, width, 41))
    maps = np.repeat(np.eye(ENCODING.dim)[None] / 3, 2, axis=0)
    moments = ClassMomentsQuery(
        ClassMoments(np.zeros((2, ENCODING.dim)), maps), Shape(0.6, 0.7, 1.0)
    )
    rng, largest = np.random.default_rng(2), 0.0
    cells, codes = Inside(COLUMNS)(some_cells(400, 3)), rng.integers(0, 2, 400)
    for i in range(0, 400, 2):
        pair = slice(i, i + 1), slice(i + 1, i + 2)
        for query, rows in ((histogram, cells), (moments, ENCODING(cells))):
            one, other = (query.kernel(rows[at], codes[at]) / query.steps for at in pair)
            change = np.linalg.norm(one - other if adjacency == "replace" else one)
            assert change <= query.sensitivity(adjacency) * (1 + 1e-12)
            if query is histogram:
                largest = max(largest, change)
    assert largest == pytest.approx(histogram.sensitivity(adjacency))
