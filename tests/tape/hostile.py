"""Cases made to be told apart: odd classes, rows at the edge of everything, every way in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .check import Case
from .doors import DOORS, IN_MEMORY, Wishes
from .tables import LabelType, Row, Table

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
CELLS = ("0", "0.25", "-0.0", "2", "-2", "1e300", "-1e300", "5e-324", "1.9999999999999998", "3e0")
# Rows that count for nothing: missing cells, no numbers, labels outside every list.
BAD_CELLS = ("", "abc", "nan", "inf", "1e999", "0x1A", "NULL", "1,5", "\u0661")
BAD_LABELS = ("", "zz", "001", "NaN", "A")
NEIGHBOURS = 3


def case(choose: Choose) -> Case:
    """A table of about thirty rows, and neighbours of it."""
    adjacency = choose(("label", "replace", "add-remove"))
    labelled = adjacency == "label" or choose((True, True, False))
    classes = choose(CLASSES)
    dim = choose((1, 2))
    preprocess, steps = _preprocessing(choose, adjacency, dim)
    door = choose(tuple(DOORS) if not preprocess and steps is None else IN_MEMORY)
    table = _table(choose, classes, dim)
    unlabelled = None if labelled else 2
    wishes = Wishes(
        "label" if adjacency == "label" else "record",
        "replace" if adjacency == "label" else adjacency,
        classes if labelled else (),
        unlabelled,
        *_region(choose, adjacency, bool(preprocess or steps)),
        preprocess,
        steps,
        choose((1.0, 8.0)),
    )
    changed = tuple(_neighbour(choose, table, adjacency, classes) for _ in range(NEIGHBOURS))
    return Case(
        door,
        wishes,
        table,
        changed,
        choose(("drawn", "drawn", "far", "anything", "nothing")),
        choose(range(1000)),
    )


def _table(choose: Choose, classes: tuple[str, ...], dim: int) -> Table:
    """Rows inside the bounds; some classes may have no row but a neighbour's."""
    rng = np.random.default_rng(choose(range(1000)))
    used = classes[choose((0, 0, 1)) :]
    n = choose((30, 12, 31, 1))
    X = np.round(rng.uniform(-1.5, 1.5, (n, dim)), 3)
    rows = [
        Row(tuple(repr(float(x)) for x in row), used[int(rng.integers(len(used)))]) for row in X
    ]
    whole: LabelType = (
        "integer" if all(c.isdecimal() and c == str(int(c)) for c in classes) else "text"
    )
    return Table(tuple(rows), dim, choose(("text", whole)))


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
    at = choose((0, len(table.rows) - 1, len(table.rows) // 2))
    label = choose((*classes, *BAD_LABELS))
    if adjacency == "label":
        return table.replaced(at, Row(table.rows[at].cells, label))
    row = Row(tuple(_cell(choose) for _ in range(table.dim)), label)
    if adjacency == "replace":
        return table.replaced(at, row)
    return choose((table.without(at), table.joined(at, row), table.joined(len(table.rows), row)))


def _cell(choose: Choose) -> str:
    return str(choose(choose((CELLS, CELLS, BAD_CELLS))))
