"""``python -m bench``: measure, print a table of ratios, write results.json and docs/performance.md."""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.measure import Row

_HERE = Path(__file__).parent
SPEED = ("start", "sampling", "streaming", "solver", "releases")
OTHERS = ("growth", "utility")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pyarrow", "cvxpy", "clarabel", "scs")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    every = ",".join((*SPEED, *OTHERS))
    parser.add_argument("--full", nargs="?", const=every, default="", metavar="MODULES",
                        help="the large sizes, of all modules or of some: a,b,c")  # fmt: skip
    parser.add_argument("--only", default=every, metavar="MODULES", help="measure these: a,b,c")
    parser.add_argument("--keep", action="store_true",
                        help="keep what the results file holds of modules not measured now")  # fmt: skip
    parser.add_argument("--out", type=Path, default=_HERE / "results.json")
    parser.add_argument("--page", type=Path, default=_HERE.parent / "docs" / "performance.md")
    options = parser.parse_args(arguments)
    results = measured(options.only.split(","), options.full.split(","))
    if options.keep and options.out.exists():
        results = merged(json.loads(options.out.read_text(encoding="utf-8")), results)
    options.out.write_text(json.dumps(_without_nan(results), indent=1) + "\n", encoding="utf-8")
    results = json.loads(options.out.read_text(encoding="utf-8"))
    from bench.page import write_page

    write_page(results, options.page)
    print(f"Wrote {options.out} and {options.page}.")
    return 1 if results["failed"] else 0


def measured(names: list[str], large: list[str]) -> dict[str, Any]:
    """Run the named modules one after the other; one that fails is named and the rest go on."""
    results: dict[str, Any] = {
        "machine": _machine(), "speed": [], "growth": [], "utility": [],
        "failed": [], "modules": {},
    }  # fmt: skip
    for name in names:
        start, full = time.perf_counter(), name in large
        try:
            if name == "growth":
                results["growth"] = _tagged(name, import_module("bench.growth").curves(full))
            elif name == "utility":
                found = import_module("bench.utility").utilities(full)
                results["utility"] = _tagged(name, found)
                _print_utility(results["utility"])
            else:
                rows = _tagged(name, _rows(name, full))
                results["speed"] += rows
                _print_speed(rows)
        except Exception as problem:
            print(f"{name} failed: {type(problem).__name__}: {problem}", file=sys.stderr)
            results["failed"].append(name)
        results["modules"][name] = {
            "when": _now(), "seconds": round(time.perf_counter() - start, 1), "full": full,
            "load": round(os.getloadavg()[0], 2),
        }  # fmt: skip
    return results


def _tagged(module: str, rows: list[Row]) -> list[Row]:
    return [{"module": module, **row} for row in rows]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``new``, and of ``old`` the modules that ``new`` did not measure; each keeps its own date."""
    for part in ("speed", "growth", "utility"):
        kept = [row for row in old[part] if row["module"] not in new["modules"]]
        new[part] = kept + new[part]
    new["failed"] += [name for name in old["failed"] if name not in new["modules"]]
    new["modules"] = {**old["modules"], **new["modules"]}
    return new


def _rows(name: str, full: bool) -> list[Row]:
    rows = import_module(f"bench.{name}").rows
    found: list[Row] = rows(full) if inspect.signature(rows).parameters else rows()
    return found


def _print_speed(rows: list[Row]) -> None:
    for row in rows:
        versus = "" if math.isnan(row["ratio"]) else f"{row['ratio']:9.3g}x of {row['peer']}"
        print(f"{row['name']:<58} {row['seconds']:9.3g} s {versus}  {goal_text(row)} {row['note']}")


def _print_utility(rows: list[Row]) -> None:
    for row in rows:
        print(
            f"KL {row['setting']:<32} {row['method']:<24} mean {row['mean']:9.4g}  "
            f"median {row['median']:9.4g}  ({row['data_sets']} data sets)"
        )


def goal_text(row: Row) -> str:
    goal = row.get("goal")
    if goal is None:
        return ""
    return f"[asked {goal:g}x: {'met' if row['ratio'] >= goal else 'MISSED'}]"


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    sys.exit(main())
