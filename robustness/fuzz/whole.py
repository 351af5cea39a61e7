"""Strange but readable tables all the way to a release, and inputs of other families as users give them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np

from .case import SECRET_NUMBER, SECRET_TEXT, Case, Command, Family, chance, pick
from .csvs import release as csv_release
from .documents import command as forged_document
from .documents import document
from .hostile import NAMES
from .ledgers import make as ledger_file
from .options import other
from .options import release as wrong_options
from .paths import inputs, outputs


def _text(rows: list[list[str]]) -> bytes:
    sink = io.StringIO(newline="")
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return sink.getvalue().encode("utf-8", "replace")


def _column(rng: np.random.Generator, n: int) -> list[str]:
    x = rng.normal(size=n)
    values: Any = pick(rng, (
        x, x, x, np.zeros(n), np.full(n, 7.25), x * 1e99, x * 1e-300, np.where(x > 1, 1e60, x),
        np.full(n, 5e-324), np.round(x), x * 1e12 + 1e15, np.where(x > 0, 1.0, 0.0), np.full(n, 1e308) * np.sign(x),
    ))  # fmt: skip
    return [repr(float(v)) for v in values]


def release(rng: np.random.Generator) -> Case:
    """The proven mechanism on columns without spread, copies, huge and tiny numbers, odd names."""
    n, d = pick(rng, (1, 2, 3, 10, 30, 60)), int(rng.integers(1, 4))
    columns = [_column(rng, n) for _ in range(d)]
    if d > 1 and chance(rng, 0.3):
        columns[1] = columns[0]
    classes = pick(
        rng,
        (
            ("u", "v"),
            ("1", "2"),
            ("true", "false"),
            ("=1+1", "@x"),
            ("é", "\U0001f600"),
            ("0.5", "2"),
        ),
    )
    used = classes[: pick(rng, (1, 2, 2))]
    names = (
        ["a", "b", "c"][:d]
        if chance(rng, 0.5)
        else [f"{pick(rng, NAMES[5:40])}{j}" for j in range(d)]
    )
    labels = [pick(rng, used) for _ in range(n)]
    rows = [
        [*names, "cls"],
        *([*cells, label] for *cells, label in zip(*columns, labels, strict=True)),
    ]
    options = ["--label=cls", f"--classes={','.join(classes)}", "--epsilon=1", "--delta=1e-5"]
    if chance(rng, 0.2):
        options.append("--preprocess=" + pick(rng, ("standardise", "pca:1", "log:5")))
    if chance(rng, 0.5):
        options.append("--unit=label")
    else:
        options += [
            "--unit=record",
            pick(rng, ("--bounds=-5,5", "--radius=3", "--radius=1e99", "--bounds=1e-99,2e-99")),
        ]
        options.append("--adjacency=" + pick(rng, ("replace", "add-remove")))
    return Command(
        ("release", "t.csv", *options, "-o", "r.json"), {"t.csv": _text(rows)}, ("r.json",)
    )


def wide(rng: np.random.Generator) -> Case:
    """A header of a hundred thousand columns, with and without rows, copies and cells to go with it."""
    width, n = 100_000, pick(rng, (0, 1, 2))
    names = [f"x{j}" for j in range(width)]
    if chance(rng, 0.3):
        names[-1] = names[0]
    row = [SECRET_NUMBER] * (width - pick(rng, (0, 0, 1))) + [pick(rng, ("u", SECRET_TEXT))]
    data = "\n".join(",".join(line) for line in [[*names, "cls"], *[row] * n]).encode()
    if chance(rng, 0.5):
        columns = ("--columns=" + pick(rng, ("x0,x5", "x0", "zz")),)
    else:
        # All of them cannot be released: the covariances alone would be 160 GB.
        columns = ("--ledger=none.db",)
    options = (
        "--label=cls",
        "--classes=u,v",
        "--unit=label",
        "--epsilon=1",
        "--delta=1e-5",
        "--mechanism=published",
    )
    return Command(
        ("release", "t.csv", *options, *columns, "-o", "r.json"), {"t.csv": data}, ("r.json",)
    )


def named(rng: np.random.Generator) -> Case:
    """Hostile names of columns and classes in a valid release: on screen, in a page, in a table."""
    import json

    from .documents import sealed

    words = [name for name in NAMES if "\0" not in name]
    body = json.loads(document("two"))
    chosen = [words[int(j)] for j in rng.permutation(len(words))[:5]]
    body["features"], body["label"], body["mixture"]["classes"] = chosen[:2], chosen[2], chosen[3:]
    arguments, made = pick(rng, (
        (("show", "r.json"), ()), (("show", "r.json", "--json"), ()), (("show", "r.json", "--registry"), ()),
        (("sample", "r.json", "-n", "40", "-o", "s.csv"), ("s.csv",)), (("report", "r.json", "-o", "p.html"), ("p.html",)),
    ))  # fmt: skip
    terminal = pick(rng, ("utf-8", "utf-8", "utf-8", "ascii", "latin-1"))
    return Command(arguments, {"r.json": sealed(body)}, made, encoding=terminal)


def alone(rng: np.random.Generator) -> Case:
    """Any command of the other families, in a process of its own."""
    while True:
        make = pick(
            rng,
            (
                csv_release,
                forged_document,
                ledger_file,
                wrong_options,
                other,
                outputs,
                inputs,
                release,
                named,
            ),
        )
        case = make(rng)
        # A process cannot be started with these at all.
        if isinstance(case, Command) and not any(
            "\0" in a or len(a) > 100_000 for a in case.arguments
        ):
            return replace(case, alone=True)


FAMILIES = (
    Family("whole releases", release, 100, 120.0),
    Family("names", named, 500, 60.0),
    Family("wide headers", wide, 10, 120.0),
    Family("processes", alone, 30, 120.0),
)
