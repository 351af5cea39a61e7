"""Standardisation fitted to private rows for a share of the budget (record level)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from privgmm.model.mixture import Floats
from privgmm.privacy import Curator
from privgmm.queries.column_moments import SQUARE_STEP, ColumnMoments
from privgmm.transform.standardise import Standardise
from privgmm.transform.step import vector


def standardise_privately(
    curator: Curator, lo: ArrayLike, hi: ArrayLike, mu: float, n_rows: int | None = None
) -> Standardise:
    """A standardisation from one mu-GDP answer about rows clipped to the stated ranges [lo, hi].

    ``n_rows`` is the number of rows if it is public; where it is None (under add-remove, or when bad
    rows are dropped) it comes from the same noisy answer. A variance below its own noise is replaced by the noise level,
    so that noise never blows a column up; all of this is post-processing.
    """
    low, high = vector(lo, "The lower bounds"), vector(hi, "The upper bounds")
    query = ColumnMoments(tuple(low.tolist()), tuple(high.tolist()))
    _ = query.kernel  # bad bounds are refused before budget is spent
    sigma = query.sensitivity(curator.adjacency) / mu
    totals = curator.answer(query, mu) / np.concatenate([[1.0], _grid(query)])
    n = max(float(totals[0]) if n_rows is None else float(n_rows), 1.0)
    mean, deviation = _mean_and_deviation(totals[1:] / n, sigma / n, query)
    half, middle = high / 2 - low / 2, low / 2 + high / 2
    return Standardise(middle + half * mean, half * deviation, "private-budget")


def _grid(query: ColumnMoments) -> Floats:
    """Grid steps per half-range (sums) and per half-range squared (sums of squares)."""
    d, levels = len(query.lo), float(query.levels)
    return np.concatenate([np.full(d, levels), np.full(d, levels * levels)])


def _mean_and_deviation(
    moments: Floats, noise: float, query: ColumnMoments
) -> tuple[Floats, Floats]:
    """From noisy (E u, E u^2) with standard deviations ``noise`` and SQUARE_STEP * ``noise``."""
    first, second = np.split(moments, 2)
    mean = np.clip(first, -1.0, 1.0)
    # Delta method: Var(second - mean^2) = noise^2 (r^2 + 4 mean^2); never below the rounding grid.
    floor = np.maximum(noise * np.sqrt(SQUARE_STEP**2 + 4 * mean**2), 1 / query.levels**2)
    variance = np.clip(second - mean**2, np.minimum(floor, 1.0), 1.0)
    return mean, np.sqrt(variance)
