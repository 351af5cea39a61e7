"""Cases made to be told apart: odd classes, rows at the edge of everything, every way in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privgmm.model.columns import ABSENT, Column

from .check import Case
from .doors import ALL_DOORS, Wishes
from .tables import PERSON, LabelType, Row, Table

# One of several values: a generator of random numbers chooses, or hypothesis.
Choose = Callable[[Sequence[Any]], Any]

# Each list is stated by the user; what labels look like must not matter.
CLASSES: tuple[tuple[str, ...], ...] = (
    ("a", "b"),
    ("01", "10", "11"),
    ("1", "2", "other"),
    ("1", "2"),
    ("true", "false"),
    ("1.0", "2.5"),
    ("0.1", "x", "1e1"),
)
CELLS = (
    "0", "0.25", "-0.0", "2", "-2", "1e300", "-1e300", "5e-324", "1.9999999999999998", "3e0", "1e-400", " 1", "+1", ".5",
    "123456789012345678901234567890", "9007199254740993", repr(ABSENT),
)  # fmt: skip
# Rows that count for nothing: missing cells, no numbers, labels outside every list.
BAD_CELLS = (
    "", "abc", "nan", "inf", "1e999", "0x1A", "NULL", "1,5", "\u0661", "TRUE", "2020-01-01", "a\nb", "\0", "1_0",
)  # fmt: skip
BAD_LABELS = ("", "zz", "001", "NaN", "A", " a", "1.00", "True")
# Spellings of levels that were stated, and of some that were not.
LEVELS = ("never", "u", "3", "3.0", "03", "3e0", "", "NA", "U", " u", "zz", "true")
MIXED = (
    Column("x0", "number", -2.0, 2.0, missing=True),
    Column("x1", "category", levels=("never", "u", "3"), missing=True),
    Column("x2", "category", levels=("u", "3", "NA")),
)
NEIGHBOURS = 3


def case(choose: Choose) -> Case:
    """A table of about thirty rows, of persons or not, and neighbours of it."""
    adjacency = choose(("label", "replace", "add-remove"))
    columns = choose((MIXED, (), ()))
    persons = choose((True, False))
    labelled = bool(columns) or adjacency == "label" or choose((True, True, False))
    classes = choose(CLASSES)
    dim = len(columns) or choose((1, 2))
    preprocess, steps = ((), None) if columns else _preprocessing(choose, adjacency, dim)
    # Features of one row are constant, which is public at label level, and refused there.
    fewest = 12 if adjacency == "label" and preprocess else 1
    table = _table(choose, classes, dim, columns, persons, fewest)
    wishes = Wishes(
        "label" if adjacency == "label" else "record",
        "replace" if adjacency == "label" else adjacency,
        classes if labelled else (),
        None if labelled else 2,
        *(((None, None)) if columns else _region(choose, adjacency, bool(preprocess or steps))),
        preprocess,
        steps,
        choose((1.0, 8.0)),
        person=PERSON if persons else None,
        max_rows=choose((None, 1, 3)) if persons else None,
        per_class=choose((1, 1, 2, "auto")) if labelled and not columns else 1,
        columns=columns,
    )
    new = [_neighbour(choose, table, adjacency, classes) for _ in range(NEIGHBOURS)]
    return Case(
        choose(_doors(wishes)),
        wishes,
        table,
        tuple(new),
        choose(("drawn", "drawn", "far", "anything", "nothing")),
        choose(range(1000)),
        max(len(one.rows) for one in (table, *new)) if persons else 1,
    )


def _doors(wishes: Wishes) -> tuple[str, ...]:
    """Ways in for what is asked: an array has no named columns, and Dask's frames hold numbers."""
    if wishes.columns:
        return tuple(name for name in ALL_DOORS if name not in ("numpy", "dask frame"))
    in_memory = wishes.preprocess or wishes.public_steps is not None
    return tuple(name for name in ALL_DOORS if not (in_memory and "dask" in name))


def _table(
    choose: Choose,
    classes: tuple[str, ...],
    dim: int,
    columns: tuple[Column, ...],
    persons: bool,
    fewest: int,
) -> Table:
    """Rows inside the bounds; some classes may have no row but a neighbour's."""
    rng = np.random.default_rng(choose(range(1000)))
    used = classes[choose((0, 0, 1)) :]
    n = choose((30, 12, 31, fewest))
    X = np.round(rng.uniform(-1.5, 1.5, (n, dim)), 3)
    texts = tuple(j for j, column in enumerate(columns) if column.type == "category")
    rows = [
        Row(
            tuple(
                str(rng.choice(columns[j].levels)) if j in texts else repr(float(x))
                for j, x in enumerate(row)
            ),
            used[int(rng.integers(len(used)))],
            f"Q{rng.integers(4)}z" if persons else "",
        )
        for row in X
    ]
    whole: LabelType = (
        "integer" if all(c.isdecimal() and c == str(int(c)) for c in classes) else "text"
    )
    return Table(tuple(rows), dim, choose(("text", whole)), persons, texts)


def _region(choose: Choose, adjacency: str, boxed: bool) -> tuple[Any, Any]:
    if adjacency == "label":
        return None, None
    return choose((((-2.0, 2.0), None),) if boxed else (((-2.0, 2.0), None), (None, 2.5)))


def _preprocessing(choose: Choose, adjacency: str, dim: int) -> tuple[tuple[str, ...], str | None]:
    """Steps by name, or public ones as JSON; at record level a PCA must be public."""
    wanted = choose(("", "", "log", "standardise", "log standardise", "pca", "public"))
    if wanted == "public" or (wanted == "pca" and adjacency != "label"):
        turn = np.linalg.qr(np.arange(1.0, dim * dim + 1).reshape(dim, dim) + np.eye(dim))[0]
        steps = [
            {"kind": "standardise", "mean": [0.25] * dim, "scale": [1.5] * dim},
            {"kind": "pca", "mean": [0.1] * dim, "components": turn[:1].tolist()},
        ]
        return (), json.dumps(steps if wanted == "pca" else steps[:1])
    named = {"log": "log:5", "standardise": "standardise", "pca": "pca:1"}
    return tuple(named[word] for word in wanted.split()), None


def _neighbour(choose: Choose, table: Table, adjacency: str, classes: tuple[str, ...]) -> Table:
    labels = (*classes, *BAD_LABELS)

    def odd(who: str) -> Row:
        cells = (
            str(choose(LEVELS)) if j in table.texts else _cell(choose) for j in range(table.dim)
        )
        return Row(tuple(cells), choose(labels), who)

    at = choose((0, len(table.rows) - 1, len(table.rows) // 2))
    old = table.rows[at]
    if table.of_persons:
        # All rows of one person: other labels, other rows, however many, or none; or of somebody new.
        others = [row for row in table.rows if row.who != old.who]
        if adjacency == "label":
            return table._with(
                [
                    replace(row, label=choose(labels)) if row.who == old.who else row
                    for row in table.rows
                ]
            )
        new = [odd(old.who) for _ in range(choose((1, 2, 5)))]
        if adjacency == "replace":
            return table._with([*others[:at], *new, *others[at:]])
        return choose(
            (
                table._with(others),
                table._with([*table.rows, *(replace(row, who="Q9z") for row in new)]),
            )
        )
    if adjacency == "label":
        return table.replaced(at, replace(old, label=choose(labels)))
    if adjacency == "replace":
        return table.replaced(at, odd(""))
    row = odd("")
    return choose((table.without(at), table.joined(at, row), table.joined(len(table.rows), row)))


def _cell(choose: Choose) -> str:
    return str(choose(choose((CELLS, CELLS, BAD_CELLS))))
