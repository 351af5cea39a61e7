"""Sensitivity of column moments by enumeration, on the kernel that the release uses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privgmm.data import ArraySource
from privgmm.errors import InputError
from privgmm.privacy import Curator, SeededNoise
from privgmm.queries.column_moments import SQUARE_STEP, ColumnMoments


def contributions(query: ColumnMoments, rows: np.ndarray) -> np.ndarray:
    """(n, m) totals of tables of one row each, in steps."""
    no_codes = np.zeros(1, dtype=np.intp)
    return np.stack([query.kernel(row[None, :], no_codes) for row in rows]) / query.steps


def largest_change(parts: np.ndarray) -> float:
    gaps = [np.linalg.norm(parts - part, axis=1).max() for part in parts]
    return float(max(gaps))


@pytest.mark.parametrize(("dim", "levels"), [(1, 200), (2, 8), (3, 2)])
def test_enumeration_reaches_the_stated_sensitivity(dim: int, levels: int) -> None:
    query = ColumnMoments((-3.0,) * dim, (5.0,) * dim, levels)
    grid = np.linspace(-3.0, 5.0, 2 * levels + 1)
    rows = np.array(list(itertools.product(grid, repeat=dim)))
    parts = contributions(query, rows)
    assert len(np.unique(parts, axis=0)) == len(rows)  # every integer vector occurs
    # A dropped row contributes zero: it is one more point of the set that a replacement moves in.
    replace = largest_change(np.append(parts, np.zeros((1, parts.shape[1])), axis=0))
    assert (
        0.99 * query.sensitivity("replace") <= replace <= query.sensitivity("replace") * (1 + 1e-15)
    )
    add = float(np.linalg.norm(parts, axis=1).max())
    assert (
        0.99 * query.sensitivity("add-remove")
        <= add
        <= query.sensitivity("add-remove") * (1 + 1e-15)
    )


def test_enumeration_on_the_full_grid() -> None:
    """One column, 2^14 levels: every value against the extremes and 200 values between."""
    query = ColumnMoments((0.0,), (1.0,))
    q = np.arange(-query.levels, query.levels + 1) / query.levels
    others = np.append(q[:: len(q) // 200], q[-1])[:, None]
    change = (q - others) ** 2 + (q**2 - others**2) ** 2 / SQUARE_STEP**2
    assert np.sqrt(change.max()) == 2.0 < query.sensitivity("replace")
    to_zero = 1 + q**2 + q**4 / SQUARE_STEP**2
    assert np.sqrt(to_zero.max()) == query.sensitivity("replace")


@pytest.mark.parametrize(("dim", "reason"), [(1, "zero"), (2, "zero"), (3, "apart"), (9, "apart")])
def test_dropped_rows_matter_for_one_and_two_columns_only(dim: int, reason: str) -> None:
    stated = ColumnMoments((-1.0,) * dim, (1.0,) * dim).sensitivity("replace")
    largest, apart = np.sqrt(1 + dim * (1 + SQUARE_STEP**-2)), 2 * np.sqrt(dim)
    assert stated == max(largest, apart)
    assert bool(largest > apart) == (reason == "zero")


def test_a_smaller_step_for_squares_would_break_the_bound() -> None:
    """The test has teeth: below r^2 = 10 sqrt 5 - 22 some replacement costs more than 2."""
    d = np.linspace(0, 2, 100_001)

    def worst(r_squared: float) -> float:
        return float((d**2 * (1 + (2 - d) ** 2 / r_squared)).max())

    assert worst(SQUARE_STEP**2) == 4.0
    assert worst(10 * np.sqrt(5) - 22 - 1e-3) > 4.0
    assert worst(10 * np.sqrt(5) - 22 + 1e-6) == 4.0


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, 1e300])
@pytest.mark.parametrize("ranges", [(-1.0, 1.0), (-1e308, 1e308), (0.0, 5e-324), (1e15, 1e15 + 1)])
def test_no_float_leaves_the_grid(value: float, ranges: tuple[float, float]) -> None:
    low, high = ranges
    if not high / 2 - low / 2 > 0:
        with pytest.raises(InputError, match="lo < hi"):
            _ = ColumnMoments((low,), (high,)).kernel
        return
    query = ColumnMoments((low,), (high,))
    with np.errstate(all="ignore"):
        q = query.kernel.quantised(np.array([[value], [low], [high]]))
    assert np.abs(q).max() <= query.levels


def test_rows_count_one_by_one() -> None:
    """Totals do not depend on chunking or order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    query = ColumnMoments((-2.0,) * 3, (2.0,) * 3)
    codes = np.zeros(1000, dtype=np.intp)
    whole = ArraySource(X, codes, 1).total(query.kernel)
    parts = ArraySource(X[::-1].copy(), codes, 1, chunk_rows=7).total(query.kernel)
    assert np.array_equal(whole, parts)
    assert np.allclose(whole[1:4] / query.levels / 1000 * 2, np.clip(X, -2, 2).mean(0), atol=1e-4)


def test_noise_has_the_stated_scale() -> None:
    query = ColumnMoments((0.0,) * 4, (1.0,) * 4)
    X = np.full((10, 4), 0.5)
    source = ArraySource(X, np.zeros(10, dtype=np.intp), 1)
    curator = Curator(source, SeededNoise(0), "replace", 1.0, 1e-5)
    exact = source.total(query.kernel)
    answers = [(curator.answer(query, 0.01) - exact) / query.steps for _ in range(400)]
    spread = np.std(answers, axis=0)
    expected = query.sensitivity("replace") / 0.01
    assert np.allclose(spread, expected, rtol=0.2)
    assert not np.allclose(spread, 1.5 * expected, rtol=0.2)


def test_refused_where_it_makes_no_sense() -> None:
    query = ColumnMoments((0.0,), (1.0,))
    with pytest.raises(InputError, match="label level"):
        query.sensitivity("label")
    for low, high in [((1.0,), (0.0,)), ((0.0,), (np.inf,)), ((), ()), ((0.0,), (1.0, 2.0))]:
        with pytest.raises(InputError, match="Bounds"):
            _ = ColumnMoments(low, high).kernel
    with pytest.raises(InputError, match="levels"):
        _ = ColumnMoments((0.0,), (1.0,), levels=1 << 15).kernel
