"""What one pass over rows brings back: exact totals, and counts of the cells that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.names import shown
from privgmm.model.mixture import ClassName
from privgmm.statistics.layout import MISSING, UNKNOWN, Layout
from privgmm.statistics.source import Floats, Integers, Kernel, add_exactly

# A label column with more distinct values than this holds identifiers, not classes.
MOST_CLASSES = 10_000
_LISTED = 10

Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Tally:
    """Integers of a part of the rows; tallies of disjoint parts add up, in any order.

    totals : the kernel's totals; None for a survey, or when the part holds an unusable row
    missing, infinite : (d,) unusable cells per feature
    labels : the distinct labels that a survey found
    """

    n_rows: int
    totals: Integers | None
    missing: Integers
    infinite: Integers
    label_missing: int = 0
    label_unknown: int = 0
    labels: frozenset[ClassName] = frozenset()

    @property
    def clean(self) -> bool:
        bad = self.label_missing or self.label_unknown
        return not (bad or self.missing.any() or self.infinite.any())


def no_progress(rows: int) -> None:
    """For passes that nobody watches."""


def tally(
    batches: Iterable[Any], layout: Layout, kernel: Kernel | None, progress: Progress = no_progress
) -> Tally:
    """One pass over Arrow batches: add up the kernel, or (None) survey rows, cells and labels."""
    return add_tallies((_one(batch, layout, kernel, progress) for batch in batches), layout, kernel)


def add_tallies(parts: Iterable[Tally], layout: Layout, kernel: Kernel | None) -> Tally:
    """The tally of all parts together."""
    total: Tally | None = None
    for part in parts:
        total = part if total is None else _added(total, part)
    return _empty(layout, kernel) if total is None else total


def _one(batch: Any, layout: Layout, kernel: Kernel | None, progress: Progress) -> Tally:
    X = layout.matrix(batch)
    missing, infinite = _unusable(X)
    totals, labels, without, unknown = None, frozenset[ClassName](), 0, 0
    if kernel is None:
        labels, without = layout.labels(batch)
    else:
        codes = layout.codes(batch)
        if codes.size and codes.min() < 0:
            without = int(np.count_nonzero(codes == MISSING))
            unknown = int(np.count_nonzero(codes == UNKNOWN))
        elif not (missing.any() or infinite.any()):
            totals = kernel(X, codes)
    progress(batch.num_rows)
    return Tally(batch.num_rows, totals, missing, infinite, without, unknown, _bounded(labels))


def _empty(layout: Layout, kernel: Kernel | None) -> Tally:
    """A part without rows still has totals: zeros of the kernel's shape."""
    none = np.zeros(len(layout.features), dtype=np.int64)
    X = np.empty((0, len(layout.features)))
    return Tally(0, None if kernel is None else kernel(X, np.empty(0, np.intp)), none, none)


def _unusable(X: Floats) -> tuple[Integers, Integers]:
    # A finite sum proves that every cell is finite; an infinite one may be mere overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            none = np.zeros(X.shape[1], dtype=np.int64)
            return none, none
    return np.isnan(X).sum(axis=0, dtype=np.int64), np.isinf(X).sum(axis=0, dtype=np.int64)


def _added(a: Tally, b: Tally) -> Tally:
    totals = None
    if a.totals is not None and b.totals is not None:
        totals = add_exactly(iter((a.totals, b.totals)))
    return Tally(
        a.n_rows + b.n_rows,
        totals,
        a.missing + b.missing,
        a.infinite + b.infinite,
        a.label_missing + b.label_missing,
        a.label_unknown + b.label_unknown,
        _bounded(a.labels | b.labels),
    )


def _bounded(labels: frozenset[ClassName]) -> frozenset[ClassName]:
    if len(labels) > MOST_CLASSES:
        raise InputError(
            f"The label column has more than {MOST_CLASSES} distinct values; "
            "name the column that holds the class."
        )
    return labels


def refuse_unusable(found: Tally, layout: Layout, where: str) -> None:
    """Refuse rows that cannot be used, with counts per column and never a value."""
    if found.n_rows == 0:
        raise InputError(f"{where} has no rows; give a table with data.")
    words = [f"{shown([name])} ({text})" for name, text in _described(found, layout)]
    if words:
        more = f" and {len(words) - _LISTED} more columns" if len(words) > _LISTED else ""
        raise InputError(
            f"{where} has unusable cells: {', '.join(words[:_LISTED])}{more}; "
            "remove or impute those rows first."
        )
    if found.label_unknown:
        raise InputError(
            f"{found.label_unknown} rows carry a label that is not in the class list; "
            "add it to the list or remove the rows."
        )


def _described(found: Tally, layout: Layout) -> Iterator[tuple[str, str]]:
    if found.label_missing:
        yield layout.label or "labels", f"{found.label_missing} missing"
    for name, missing, infinite in zip(
        layout.features, found.missing.tolist(), found.infinite.tolist(), strict=True
    ):
        counts = [f"{missing} missing"] * bool(missing) + [f"{infinite} infinite"] * bool(infinite)
        if counts:
            yield name, ", ".join(counts)
