"""From wished-for steps to preprocessed rows and bounds, by the rules of the unit that is protected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.fitting import feature_array
from privgmm.model.mixture import Floats
from privgmm.transform.chain import carry_bounds, check_origins
from privgmm.transform.fit import check_wanted, fit_chain, parse_step
from privgmm.transform.log import Log
from privgmm.transform.standardise import Standardise
from privgmm.transform.step import Step

# Asks the private rows: (rows, lo, hi) -> a standardisation paid from the budget.
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
) -> Prepared:
    """Apply ``wanted`` steps: names such as "log", "standardise", "pca:5", or step objects.

    Label level: named steps are fitted to the features, which are public. Record level: every map must be
    fixed or paid for. A named standardisation goes through ``paid_standardise``, a named PCA is
    refused, and rows are first clipped into the stated box, each on its own, so that no row can
    make a step fail.
    """
    rows = feature_array(X)
    items = check_wanted(wanted)
    if unit == "label":
        steps, rows = fit_chain(items, rows)
        return Prepared(steps, rows, {})
    check_origins([item for item in items if not isinstance(item, str)], unit)
    refused = [i for i in items if isinstance(i, str) and _needs_budget(i, paid_standardise)]
    if refused:
        raise InputError(
            f"At record level {refused[0]!r} would read private rows; give its parameters as a step "
            "with public origin, or for standardise a share of the budget (docs/preprocessing.md)."
        )
    d = rows.shape[1]
    done: list[Step] = []
    region = carry_bounds((), d, bounds, radius, center)
    rows = np.clip(rows, *_box_around(region))
    for item in items:
        step = (
            item
            if not isinstance(item, str)
            else _record_step(item, rows, region, paid_standardise)
        )
        rows = step.apply(rows)
        region = carry_bounds([step], region_dim(region), **region)
        done.append(step)
    return Prepared(tuple(done), rows, region)


def _needs_budget(text: str, paid: PaidStandardise | None) -> bool:
    kind, _ = parse_step(text)
    return kind == "pca" or (kind == "standardise" and paid is None)


def _record_step(
    text: str, rows: Floats, region: dict[str, Any], paid: PaidStandardise | None
) -> Step:
    kind, number = parse_step(text)
    if kind == "log":
        return Log(number or 0.0)
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
