"""Steps applied to a table: fitted to public features at label level, fixed or paid from the budget at record level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.checks import feature_array
from privgmm.data.region import stated_region
from privgmm.errors import InputError
from privgmm.privacy import Curator
from privgmm.queries.column_moments import LEVELS, SQUARE_STEP, ColumnMoments
from privgmm.transform.chain import carry_bounds, check_origins, names_after
from privgmm.transform.fit import check_wanted, fit_chain, parse_step
from privgmm.transform.steps import Log, Standardise, Step, vector
from privgmm.types import Floats

# Asks a query about private rows: (rows, lo, hi) -> a standardisation paid from the budget.
PaidStandardise = Callable[[Floats, Floats, Floats], Standardise]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows after the steps, and where they may lie: keywords ``bounds``, or ``radius`` and ``center``.

    ``region`` is empty at label level, where no bounds are needed.
    """

    steps: tuple[Step, ...]
    X: Floats
    region: dict[str, Any]


def prepare(
    wanted: Sequence[str | Step],
    X: ArrayLike,
    unit: str,
    bounds: Any = None,
    radius: float | None = None,
    center: ArrayLike | None = None,
    paid_standardise: PaidStandardise | None = None,
    names: Sequence[str] = (),
) -> Prepared:
    """Apply ``wanted`` steps: names such as "log", "standardise", "pca:5", or step objects.

    Label level: named steps are fitted to the features, which are public. Record level: every map must be
    fixed or paid for. A named standardisation goes through ``paid_standardise``, a named PCA is
    refused, and rows are clipped into the box of the region, before the first step and after each, every
    row on its own, so that no row can make a step fail. Label-level refusals go by the ``names`` of the columns.
    """
    items = check_wanted(wanted)
    if unit == "label":
        steps, rows = fit_chain(items, X, names)
        return Prepared(steps, rows, {})
    check_origins([item for item in items if not isinstance(item, str)], unit)
    refused = [i for i in items if isinstance(i, str) and _needs_budget(i, paid_standardise)]
    if refused:
        raise InputError(
            f"At record level {refused[0]!r} would read private rows; give its parameters as a step "
            "with public origin, or for standardise a share of the budget (docs/preprocessing.md)."
        )
    rows = feature_array(X, at_least=0)
    d = rows.shape[1]
    check_record_steps(items, d, bounds, radius, center)
    done: list[Step] = []
    region = carry_bounds((), d, bounds, radius, center)
    rows = np.clip(rows, *_box_around(region))
    for item in items:
        step = (
            item
            if not isinstance(item, str)
            else _record_step(item, rows, region, paid_standardise)
        )
        region = carry_bounds([step], region_dim(region), **region)
        # Clipped into the box again: a row at a corner of the box around a ball may leave the image of the ball.
        rows = np.clip(step.apply(rows), *_box_around(region))
        done.append(step)
    return Prepared(tuple(done), rows, region)


def check_record_steps(
    wanted: Sequence[str | Step],
    dim: int,
    bounds: Any = None,
    radius: float | None = None,
    center: ArrayLike | None = None,
) -> None:
    """Refuse steps that could fail on some row of the stated region; reads no row.

    It is called before anything is paid: afterwards no row can make a step fail, so no failure can reveal a row. A
    paid standardisation gives values within +-2 LEVELS whatever its noise (``standardise_privately``).
    """
    region = carry_bounds((), dim, bounds, radius, center)
    for item in check_wanted(wanted):
        size = region_dim(region)
        step = _fixed(item)
        if step is None:
            region = {"bounds": (np.full(size, -2.0 * LEVELS), np.full(size, 2.0 * LEVELS))}
            continue
        names_after([step], [f"x{j}" for j in range(size)])
        with np.errstate(over="ignore"):
            region = carry_bounds([step], size, **region)
        stated_region(
            region_dim(region), **{"bounds": None, "radius": None, "center": None, **region}
        )


def _fixed(item: str | Step) -> Step | None:
    """The step itself; None for a standardisation that is still to be paid."""
    if not isinstance(item, str):
        return item
    kind, number = parse_step(item)
    return Log(number or 0.0) if kind == "log" else None


def _needs_budget(text: str, paid: PaidStandardise | None) -> bool:
    kind, _ = parse_step(text)
    return kind == "pca" or (kind == "standardise" and paid is None)


def _record_step(
    text: str, rows: Floats, region: dict[str, Any], paid: PaidStandardise | None
) -> Step:
    fixed = _fixed(text)
    if fixed is not None:
        return fixed
    if paid is None:
        raise InputError("A standardisation at record level needs a share of the budget.")
    return paid(rows, *_box_around(region))


def _box_around(region: dict[str, Any]) -> tuple[Floats, Floats]:
    if "bounds" in region:
        lo, hi = region["bounds"]
        return lo, hi
    return region["center"] - region["radius"], region["center"] + region["radius"]


def region_dim(region: dict[str, Any]) -> int:
    """The number of columns of a region as ``carry_bounds`` returns it."""
    return int(_box_around(region)[0].size)


def standardise_privately(
    curator: Curator, lo: ArrayLike, hi: ArrayLike, mu: float, n_rows: int | None = None
) -> Standardise:
    """A standardisation from one mu-GDP answer about rows clipped to the stated ranges [lo, hi].

    ``n_rows`` is the number of rows if it is public; where it is None (under add-remove, or when bad
    rows are dropped) it comes from the same noisy answer. A variance below its own noise is replaced by the noise level,
    so that noise never makes a column huge; all of this is post-processing.
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
