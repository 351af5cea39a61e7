"""What is stated about a table, by a schema, by arguments or by both: each fact once, or the same twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.mixture import class_names
from privgmm.model.schema import Schema, schema_of
from privgmm.types import ClassName


@dataclass(frozen=True)
class Statement:
    """A table as stated: names of its label, person and features, classes and bounds.

    ``columns`` is what a schema says of the features, empty without one. ``bounds`` is as
    ``privgmm.release`` takes it.
    """

    label: str | None = None
    classes: Sequence[ClassName] | None = None
    names: Sequence[str] | None = None
    bounds: Any = None
    person: str | None = None
    columns: tuple[Column, ...] = ()


def stated(
    schema: object,
    given: Statement,
    record_level: bool,
    radius: float | None = None,
) -> Statement:
    """The arguments ``given`` together with a schema (an object, a path or None).

    At record level every number needs a range, unless a ball is stated; a missing one is asked for
    by name.
    """
    if schema is None:
        return given
    known = schema_of(schema)
    if given.bounds is not None and any(column.lo is not None for column in known.columns):
        raise InputError("The schema states bounds already; state them there or apart, not both.")
    names = _once("feature columns", known.names or None, given.names and tuple(given.names))
    classes = None if given.classes is None else class_names(given.classes)
    bounds = given.bounds
    if bounds is None and radius is None and record_level and known.columns:
        bounds = _bounds(known)
    return Statement(
        _once("label columns", known.label, given.label),
        _once("classes", known.classes, classes),
        names,
        bounds,
        _once("person columns", known.person, given.person),
        known.columns,
    )


def stated_columns(
    columns: tuple[Column, ...], names: Sequence[str], bounds: Any
) -> tuple[Column, ...]:
    """What is known of every feature: the schema's columns, or numbers in the stated ``bounds`` (a pair or None)."""
    if columns:
        return columns
    if bounds is None:
        return tuple(Column(name) for name in names)
    lows, highs = (np.broadcast_to(np.asarray(side, float), (len(names),)) for side in bounds)
    return tuple(
        Column(name, "number", float(lo), float(hi))
        for name, lo, hi in zip(names, lows, highs, strict=True)
    )


def _once(what: str, there: Any, here: Any) -> Any:
    """A fact of the schema or of an argument; both may only say the same."""
    if there is not None and here is not None and there != here:
        raise InputError(
            f"The schema and the arguments state different {what}; change one, or leave one out."
        )
    return there if here is None else here


def _bounds(schema: Schema) -> tuple[list[float], list[float]]:
    numbers = [column for column in schema.columns if column.type != "category"]
    open_ = [repr(column.name) for column in numbers if column.lo is None]
    if open_:
        listed = ", ".join(open_[:10]) + (f" and {len(open_) - 10} more" if len(open_) > 10 else "")
        raise InputError(
            f"State lo and hi of {listed} in the schema, where values may lie by what is known about such "
            "tables; or state a radius instead of ranges."
        )
    # A category is read as the positions of its levels.
    pairs = [
        (c.lo or 0.0, c.hi if c.hi is not None else float(len(c.levels))) for c in schema.columns
    ]
    return [lo for lo, _ in pairs], [hi for _, hi in pairs]
