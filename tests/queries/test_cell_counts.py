"""Label counts per cell: the same bits for any order, chunking and engine of the rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from privgmm import datasets
from privgmm.data import ArraySource
from privgmm.proven.label import public_view
from privgmm.queries.cell_counts import CellCounts, Partition
from privgmm.rowwise import GaussianRule


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray, CellCounts]:
    X, y = datasets.synthetic(n=700, n_classes=4, dim=3, seed=5)
    return X, y, CellCounts(public_view(X, 4).cells, 4)


def test_counts_are_the_counts(table: tuple[np.ndarray, np.ndarray, CellCounts]) -> None:
    X, y, kernel = table
    counts = kernel(X, y).reshape(-1, 4)
    cells = kernel.partition(X)
    assert counts.sum() == len(y)
    assert (counts.sum(axis=0) == np.bincount(y, minlength=4)).all()
    assert (counts.sum(axis=1) == np.bincount(cells, minlength=kernel.partition.n_cells)).all()
    assert (counts.sum(axis=1) > 0).all()  # every cell holds a public row
    assert all(counts[c, k] == ((cells == c) & (y == k)).sum() for c in range(3) for k in range(4))


@pytest.mark.parametrize("chunk_rows", [1, 7, 64, 699, 700])
def test_bits_do_not_depend_on_order_or_chunks(
    table: tuple[np.ndarray, np.ndarray, CellCounts], chunk_rows: int
) -> None:
    X, y, kernel = table
    whole = kernel(X, y)
    order = np.random.default_rng(chunk_rows).permutation(len(y))
    shuffled = ArraySource(np.asfortranarray(X[order]), y[order], 4, chunk_rows)
    assert (shuffled.total(kernel) == whole).all()
    assert (shuffled.total(pickle.loads(pickle.dumps(kernel))) == whole).all()  # noqa: S301


def test_a_row_in_no_listed_cell_is_still_counted_once() -> None:
    rule = GaussianRule(np.array([[0.0], [1.0], [2.0]]), np.ones((3, 1, 1)), np.zeros(3))
    kernel = CellCounts(Partition((rule,), (3,), np.array([0, 1])), 2)
    counts = kernel(np.array([[0.0], [1.0], [9.0], [np.nan]]), np.array([0, 1, 1, 0]))
    assert counts.tolist() == [2, 1, 0, 1]
