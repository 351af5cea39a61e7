"""The ways into a release: the command on files, the call on frames and arrays; all that comes out is kept."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import gzip
import io
import json
import logging
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from robustness.fuzz.case import Command
from robustness.fuzz.command import logged, run_here

import privgmm
from privgmm.ledger import Ledger
from privgmm.model.columns import Column

from .tables import LABEL, PERSON, Table, arrays, arrow, csv_bytes, objects, sheet_bytes, write

OUTPUT, LEDGER, NOW = "r.json", "l.db", "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class Wishes:
    """What the release is asked for, in words that a command and a call share."""

    unit: str
    adjacency: str = "replace"
    classes: tuple[str, ...] = ()
    components: int | None = None
    bounds: tuple[float, float] | None = None
    radius: float | None = None
    preprocess: tuple[str, ...] = ()
    public_steps: str | None = None
    epsilon: float = 1.0
    delta: float = 1e-5
    person: str | None = None
    max_rows: int | None = None
    per_class: int | str = 1
    # What a schema says of the features, where some are categories or may be missing.
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Everything that came out, by name: exit code, words, logs, warnings and files."""

    shown: dict[str, bytes] = field(default_factory=dict)

    @property
    def released(self) -> bool:
        return OUTPUT in self.shown


Door = Callable[[Table, Wishes], Outcome]


def command(form: str, *more: str, made: Callable[[Table], bytes] | None = None) -> Door:
    """``privgmm release`` on a file or folder of this form, or on the bytes ``made``; the form "-" is standard input."""

    def door(table: Table, wishes: Wishes) -> Outcome:
        with _new_folder() as folder:
            name = form if form == "-" else f"t{form}"
            given = b"" if made is None else made(table)
            if made is None:
                write(table, folder / name)
            elif form != "-":
                (folder / name).write_bytes(given)
            if wishes.public_steps is not None:
                (folder / "steps.json").write_text(wishes.public_steps)
            if wishes.columns:
                (folder / "schema.toml").write_text(_schema_text(wishes.columns))
            arguments = ("release", name, *_arguments(table, wishes), *more, "-o", OUTPUT)
            with (
                mock.patch("privgmm.ledger.records._now", return_value=NOW),
                mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(given))),
            ):
                if LEDGER in more:
                    Ledger.create(LEDGER, 20.0, 1e-4)
                seen = run_here(Command(arguments))
            shown = {
                "exit code": repr(seen.code),
                "stdout": seen.out,
                "stderr": seen.err,
                "log": seen.log,
                "exception": seen.raised,
            }
            return Outcome({k: v.encode() for k, v in shown.items()} | _written(folder))

    return door


def call(made: Callable[[Table], dict[str, Any]]) -> Door:
    """``privgmm.release`` on what ``made`` makes of the table."""

    def door(table: Table, wishes: Wishes) -> Outcome:
        code = raised = ""
        rows = made(table)
        if wishes.components is not None:
            rows = {name: part for name, part in rows.items() if name not in ("y", "label")}
        with (
            _new_folder() as folder,
            warnings.catch_warnings(record=True) as warned,
            logged() as log,
        ):
            warnings.simplefilter("always")
            try:
                privgmm.release(**rows, **_keywords(wishes)).save(OUTPUT)
            except Exception as problem:
                code, raised = type(problem).__name__, str(problem)
            shown = {
                "exception": code,
                "its words": raised,
                "warnings": "\n".join(f"{w.category.__name__}: {w.message}" for w in warned),
                "log": "\n".join(log),
            }
            return Outcome({k: v.encode() for k, v in shown.items()} | _written(folder))

    return door


def _arguments(table: Table, wishes: Wishes) -> list[str]:
    found = [
        f"--unit={wishes.unit}",
        f"--adjacency={wishes.adjacency}",
        f"--epsilon={wishes.epsilon!r}",
        f"--delta={wishes.delta!r}",
        f"--columns={','.join(table.features)}",
        # A refusal is seen by whoever runs the command, and outside the promise.
        "--on-bad-row=drop",
    ]
    if wishes.components is None:
        found += [f"--label={LABEL}", f"--classes={','.join(wishes.classes)}"]
    else:
        found.append(f"--components={wishes.components}")
    if wishes.person is not None:
        found.append(f"--person={wishes.person}")
    if wishes.max_rows is not None:
        found += ["--count=rows", f"--max-rows={wishes.max_rows}"]
    if wishes.per_class != 1:
        found.append(f"--components-per-class={wishes.per_class}")
    if wishes.columns:
        found.append("--schema=schema.toml")
    if wishes.bounds is not None:
        found.append(f"--bounds={wishes.bounds[0]!r},{wishes.bounds[1]!r}")
    if wishes.radius is not None:
        found.append(f"--radius={wishes.radius!r}")
    if wishes.public_steps is not None:
        found.append("--preprocess=steps.json")
    elif wishes.preprocess:
        found.append(f"--preprocess={','.join(wishes.preprocess)}")
    return found


def _schema_text(columns: tuple[Column, ...]) -> str:
    """Those columns as TOML, whose texts, numbers and lists are spelled as in JSON."""
    lines = []
    for column in columns:
        stated = {k: v for k, v in dataclasses.asdict(column).items() if v not in (None, ())}
        lines.append(f"[columns.{stated.pop('name')}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in stated.items()]
    return "\n".join(lines)


def _keywords(wishes: Wishes) -> dict[str, Any]:
    from privgmm.transform import public_steps

    steps: Any = wishes.preprocess
    if wishes.public_steps is not None:
        steps = public_steps(json.loads(wishes.public_steps))
    classes = None if wishes.components is not None else list(wishes.classes)
    return {
        "unit": wishes.unit,
        "adjacency": wishes.adjacency,
        "epsilon": wishes.epsilon,
        "delta": wishes.delta,
        "classes": classes,
        "n_components": wishes.components,
        "components_per_class": wishes.per_class,
        "schema": privgmm.Schema(columns=wishes.columns) if wishes.columns else None,
        "bounds": wishes.bounds,
        "radius": wishes.radius,
        "preprocessing": steps,
        "on_bad_row": "drop",
        "count": "persons" if wishes.max_rows is None else "rows",
        "max_rows": wishes.max_rows,
    }


def _numpy(table: Table) -> dict[str, Any]:
    X, y = arrays(table)
    return {"X": X, "y": y, **_whose(table, np.array([row.who or None for row in table.rows]))}


def _pandas(table: Table) -> dict[str, Any]:
    import pandas

    frame = arrow(table).to_pandas()
    for at in table.texts:
        frame[table.features[at]] = pandas.Series(objects(table, at), dtype=object)
    return {
        "X": frame[list(table.features)],
        "y": frame[LABEL],
        **_whose(table, frame.get(PERSON)),
    }


def _polars(table: Table) -> dict[str, Any]:
    import polars

    frame = polars.from_arrow(arrow(table))
    # The whole frame, of which the columns are chosen by name.
    return {
        "X": frame,
        "label": LABEL,
        "columns": list(table.features),
        **_whose(table, PERSON),
    }


def _dask(table: Table) -> dict[str, Any]:
    import dask.dataframe

    frame = dask.dataframe.from_pandas(arrow(table).to_pandas(), npartitions=3, sort=False)
    return {
        "X": frame,
        "label": LABEL,
        "columns": list(table.features),
        "client": _client(),
        **_whose(table, PERSON),
    }


def _whose(table: Table, ids: Any) -> dict[str, Any]:
    return {"person": ids} if table.of_persons else {}


@cache
def _client() -> Any:
    """Workers in this process: started once, and soon."""
    from distributed import Client, LocalCluster

    # The scheduler lives here, and its log names every client that comes and goes.
    logging.getLogger("distributed").propagate = False
    cluster = LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None)
    client = Client(cluster)
    atexit.register(lambda: (client.close(), cluster.close()))
    return client


def _streamed(door: Door) -> Door:
    """Read anew in every pass, as files are that do not fit into memory."""

    def streaming(table: Table, wishes: Wishes) -> Outcome:
        with mock.patch("privgmm.data.reading.Files.fits", return_value=False):
            return door(table, wishes)

    return streaming


def _on_dask(table: Table, wishes: Wishes) -> Outcome:
    """The same workers through the command; it names them as a user would."""
    address = f"--scheduler={_client().scheduler.address}"
    return command(".csv", "--engine=dask", address)(table, wishes)


DOORS: dict[str, Door] = {
    "csv": command(".csv"),
    "csv and ledger": command(".csv", "--ledger", LEDGER),
    "parquet": command(".parquet"),
    "folder": command(""),
    "numpy": call(_numpy),
    "pandas": call(_pandas),
    "polars": call(_polars),
    "dask frame": call(_dask),
    "csv on dask": _on_dask,
}
# Slower, or read by the same code: for some tests and for hostile neighbours.
MORE_DOORS: dict[str, Door] = {
    "xlsx": command(".xlsx", made=sheet_bytes),
    "standard input": command("-", made=csv_bytes),
    "packed csv": command(".csv.gz", made=lambda table: gzip.compress(csv_bytes(table))),
    "cp1252 csv": command(
        ".csv", "--separator=;", "--encoding=cp1252", made=partial(csv_bytes, separator=";", encoding="cp1252")
    ),
    "streamed csv": _streamed(command(".csv")),
    "streamed folder": _streamed(command("")),
    "streamed parquet": _streamed(command(".parquet")),
    "utf-16 csv": command(".csv", "--encoding=utf-16", made=partial(csv_bytes, encoding="utf-16")),
}  # fmt: skip
ALL_DOORS = DOORS | MORE_DOORS
# Preprocessing happens in memory; a Dask collection is refused.
IN_MEMORY = tuple(name for name in DOORS if "dask" not in name)


@contextlib.contextmanager
def _new_folder() -> Iterator[Path]:
    """An empty folder to work in: names are the same in every run, paths never show."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(home)


def _written(folder: Path) -> dict[str, bytes]:
    """Files beside the input, half-written ones too; of a ledger what it says."""
    inputs = ("t.csv", "t.csv.gz", "t.xlsx", "t.parquet", "steps.json", "schema.toml")
    return {
        path.name: _said(path) if path.name == LEDGER else path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in inputs
    }


def _said(ledger: Path) -> bytes:
    """Every row of every table; the pages of an SQLite file also hold what it was before."""
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        return "\n".join(connection.iterdump()).encode()
