"""Totals are the same bits for any order and chunking; nothing wraps around."""

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.data import ArraySource, add_exactly
from privgmm.data.source import side_by_side
from privgmm.errors import InputError
from privgmm.queries.class_moments import ClassMoments


@dataclasses.dataclass(frozen=True)
class Moments:
    """Counts, sums and second moments of features on a 15-bit grid, by class."""

    n_classes: int

    def __call__(self, X, codes):
        grid = np.rint(np.clip(X, -1, 1) * 2**14)
        blocks = []
        for k in range(self.n_classes):
            rows = grid[codes == k]
            blocks += [np.array([len(rows)]), rows.sum(axis=0), (rows.T @ rows).ravel()]
        return np.concatenate(blocks).astype(np.int64)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(0, 400),
    chunk=st.integers(1, 500),
    seed=st.integers(0, 2**32 - 1),
)
def test_totals_do_not_depend_on_order_or_chunking(n, chunk, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * 10.0 ** rng.integers(-9, 9, size=(n, 1))
    codes = rng.integers(0, 4, size=n)
    order = rng.permutation(n)
    whole = ArraySource(X, codes, 4).total(Moments(4))
    parts = ArraySource(X[order], codes[order], 4, chunk_rows=chunk).total(Moments(4))
    assert whole.dtype == np.int64
    assert np.array_equal(whole, parts)


def test_every_row_is_counted_once():
    codes = np.array([0, 1, 1, 2, 2, 2, 2])
    for chunk in range(1, 9):
        source = ArraySource(np.zeros((7, 2)), codes, 4, chunk_rows=chunk)
        assert source.total(Moments(4))[::7].tolist() == [1, 2, 4, 0]
        assert (source.n_rows, source.dim, source.n_classes) == (7, 2, 4)


@pytest.mark.parametrize("sign", [1, -1])
def test_overflow_is_refused_never_wrapped(sign):
    half = np.array([0, sign * 2**62], dtype=np.int64)
    assert add_exactly(iter([half, half - sign])).tolist() == [-sign, sign * (2**63 - 1)]
    with pytest.raises(InputError, match="release it in parts"):
        add_exactly(iter([half, half, half]))


def test_smallest_integer_is_still_exact():
    low = np.array([-(2**62)], dtype=np.int64)
    assert add_exactly(iter([low, low])).tolist() == [-(2**63)]


def test_adding_leaves_the_parts_alone():
    first = np.array([1, 2], dtype=np.int64)
    add_exactly(iter([first, first]))
    assert first.tolist() == [1, 2]


@pytest.mark.parametrize("codes", [[0, 1], [0, 1, 5]])
def test_rows_and_codes_must_agree(codes):
    with pytest.raises(InputError, match="codes must"):
        ArraySource(np.zeros((3, 2)), np.array(codes), 3)


def test_rows_of_no_class_contribute_nothing():
    X = np.arange(6.0).reshape(3, 2)
    kernel = ClassMoments(np.zeros((2, 2)), np.stack([np.eye(2) / 9] * 2))
    some = ArraySource(X, np.array([0, -2, 1]), 2, chunk_rows=2).total(kernel)
    assert some.tolist() == ArraySource(X[::2], np.array([0, 1]), 2).total(kernel).tolist()
    none = ArraySource(X, np.array([-1, -2, -1]), 2).total(kernel)
    assert none.tolist() == [0] * some.size


def test_results_that_nobody_took_do_not_pile_up():
    begun = []

    def note(part: int) -> int:
        begun.append(part)
        return part

    results = side_by_side(note, range(50), threads=2)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(begun) <= 6
    assert list(results) == list(range(1, 50))
