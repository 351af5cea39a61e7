"""Synthetic rows beside real rows: wine, covertype, HMEQ and the paper's mixtures, scored by ../shared/compare.py.

    PRIVGMM_DATA=../shared/data python -m bench.synthetic [wine|covertype|hmeq|hmeq-levels|mixtures ...]
        [--seeds 0,1,2] [--rows 1000000] [--unit record|label] [--bells]

Means over seeded releases. With ``--rows`` so many rows of the first release are also drawn and held against the statement;
with ``--bells`` rows are drawn from the Gaussians alone. HMEQ's three counts are stated as integers, and as levels in
hmeq-levels. What is stated of the tables is theirs by nature: ranges of the data's description, whole numbers, decimals, levels.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from privgmm import Column, Schema, datasets, release

RUNS = 3
_WINE_DECIMALS = (1, 2, 2, 1, 3, 0, 0, 5, 2, 2, 1)
_COVERTYPE = (
    (1500, 0, 0, 0, -200, 0, 0, 0, 0, 0),
    (4000, 360, 70, 1400, 600, 7200, 255, 255, 255, 7200),
)
# Counts of credit events: whole numbers that HMEQ's own description lists as levels.
_HMEQ_COUNTS = {"DEROG": 10, "DELINQ": 15, "NINQ": 17}
_HMEQ_DECIMALS = {"YOJ": 1, "MORTDUE": 0, "VALUE": 0, "LOAN": 0, "CLNO": 0}


def data() -> Path:
    """The folder of PRIVGMM_DATA."""
    return Path(os.environ["PRIVGMM_DATA"])


def wine() -> tuple[pd.DataFrame, pd.DataFrame, Schema, list[str]]:
    """Train, test, statement and categories of the wine table."""
    folder = data() / "tables"
    bounds = pd.read_csv(folder / "wine_bounds.csv")
    columns = tuple(
        Column(name, "number", float(lo), float(hi), decimals=places)
        for (name, lo, hi), places in zip(
            bounds.itertuples(index=False), _WINE_DECIMALS, strict=True
        )
    )
    classes = ("red-high", "red-low", "white-high", "white-low")
    train, test = (pd.read_csv(folder / f"wine_{part}.csv") for part in ("train", "test"))
    return train, test, Schema("kind", classes, None, columns), []


def covertype() -> tuple[pd.DataFrame, pd.DataFrame, Schema, list[str]]:
    """The same of 50,000 rows of covertype."""
    stored = np.load(data() / "covtype.npz")
    order = np.random.default_rng(0).permutation(581012)
    names = [f"c{j}" for j in range(10)]

    def frame(rows: Any) -> pd.DataFrame:
        return pd.DataFrame(stored["x_num"][rows], columns=names).assign(y=stored["y"][rows])

    columns = tuple(
        Column(name, "integer", float(lo), float(hi))
        for name, lo, hi in zip(names, *_COVERTYPE, strict=True)
    )
    schema = Schema("y", tuple(range(1, 8)), None, columns)
    return frame(order[:50_000]), frame(order[50_000:70_000]), schema, []


def hmeq(as_levels: bool = False) -> tuple[pd.DataFrame, pd.DataFrame, Schema, list[str]]:
    """The same of the home equity loans; counts of credit events are integers, or levels."""
    folder = data() / "tables"
    stated = json.loads((folder / "hmeq_domain.json").read_text())
    columns = []
    for name, facts in stated.items():
        missing = name != "LOAN"
        if name in _HMEQ_COUNTS and not as_levels:
            columns.append(Column(name, "integer", 0.0, _HMEQ_COUNTS[name], missing=missing))
        elif "lower" in facts:
            lo, hi = float(facts["lower"]), float(facts["upper"])
            places = _HMEQ_DECIMALS.get(name)
            columns.append(Column(name, "number", lo, hi, decimals=places, missing=missing))
        elif name != "BAD":
            levels = tuple(facts["categories"])
            columns.append(Column(name, "category", levels=levels, missing=missing))
    train, test = (pd.read_csv(folder / f"hmeq_{part}.csv") for part in ("train", "test"))
    return (
        train,
        test,
        Schema("BAD", ("1", "0"), None, tuple(columns)),
        ["REASON", "JOB", *_HMEQ_COUNTS],
    )


def mixtures() -> tuple[pd.DataFrame, pd.DataFrame, Schema, list[str]]:
    """The same of 10,000 rows of the paper's generator, in the ball of radius 20; every class is a bell."""
    X, y = datasets.synthetic(n=15_000, n_classes=5, dim=3, seed=70_000)
    names = [f"x{j}" for j in range(3)]
    rows = pd.DataFrame(X, columns=names).assign(y=y)
    schema = Schema("y", tuple(range(5)), None, tuple(Column(name) for name in names))
    return rows[:10_000].reset_index(drop=True), rows[10_000:], schema, []


TABLES = {
    "wine": (wine, (1.0, 4.0)),
    "covertype": (covertype, (1.0,)),
    "hmeq": (hmeq, (1.0,)),
    "hmeq-levels": (lambda: hmeq(as_levels=True), (1.0,)),
    "mixtures": (mixtures, (1.0,)),
}


def scorer() -> Any:
    """The function ``compare`` of ../shared/compare.py."""
    path = data().parent / "compare.py"
    spec = importlib.util.spec_from_file_location("compare", path)
    if spec is None or spec.loader is None or not path.exists():
        sys.exit(f"The scores are those of {path}, which is not there.")
    scores = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scores)
    return scores.compare


def outside(rows: Any, schema: Schema) -> int:
    """How many rows of a pyarrow.Table break the statement in any cell."""
    bad = np.zeros(rows.num_rows, dtype=bool)
    bad |= ~rows[schema.label].to_pandas().astype(str).isin(list(map(str, schema.classes or ())))
    for column in schema.columns:
        cells = rows[column.name].to_pandas()
        absent = cells.isna().to_numpy()
        if not column.missing:
            bad |= absent
        if column.type == "category":
            bad |= ~(cells.isin(column.levels).to_numpy() | absent)
            continue
        x = cells.to_numpy(dtype=float, na_value=np.nan)
        right = np.isfinite(x)
        if column.lo is not None:
            right &= (x >= column.lo) & (x <= column.hi)
        if column.step is not None:
            right &= x == np.round(x, column.decimals or 0)
        bad |= ~(right | absent)
    return int(bad.sum())


def main() -> None:
    """Print one line of means per table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--unit", choices=["record", "label"], default="record")
    parser.add_argument("--bells", action="store_true")
    asked = parser.parse_args()
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    compare = scorer()
    warnings.simplefilter("ignore")
    for name in asked.tables:
        load, epsilons = TABLES[name]
        train, test, schema, categories = load()
        for epsilon in epsilons:
            found, broken = [], ""
            for seed in seeds:
                start = time.perf_counter()
                more: dict[str, Any] = {}
                if asked.unit == "record":
                    more = {
                        "adjacency": "add-remove",
                        "radius": 20.0 if name == "mixtures" else None,
                    }
                r = release(
                    train, schema=schema, unit=asked.unit,
                    epsilon=epsilon, delta=1e-5, seed=seed, **more,
                )  # fmt: skip
                if asked.bells:
                    r = replace(r, margins=None)
                rows = r.sample_table(len(train), seed=seed).to_pandas()
                took = time.perf_counter() - start
                score = compare(rows, train, test, schema.label, categories)
                found.append({**score, "seconds": took})
                if asked.rows and not broken:
                    wrong = outside(r.sample_table(asked.rows, seed=seed), schema)
                    broken = f"{wrong} of {asked.rows} rows break the statement"
            means = {key: np.mean([one[key] for one in found]) for key in found[0]}
            print(
                f"{name} {asked.unit}{' bells' * asked.bells} epsilon={epsilon:g}",
                *(f"{k} {v:.3f}" for k, v in means.items()),
                broken,
                flush=True,
            )


if __name__ == "__main__":
    main()
