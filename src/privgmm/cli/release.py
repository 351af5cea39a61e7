"""``privgmm release``: read the table, charge the ledger, publish."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privgmm.cli.progress import Progress, passing
from privgmm.cli.terminal import plain
from privgmm.errors import InputError
from privgmm.files import check_target
from privgmm.model.mixture import ClassName
from privgmm.releases.guarantee import Unit


@dataclass(frozen=True)
class Options:
    """The command line of ``privgmm release``."""

    data: Path
    label: str | None
    unit: Unit
    epsilon: float
    delta: float
    components: int | None
    bounds: str | None
    radius: float | None
    center: Path | None
    classes: str | None
    columns: str | None
    preprocess: str | None
    mechanism: Literal["proven", "published"]
    adjacency: Literal["replace", "add-remove"]
    weights: Literal["kl", "counts"]
    ledger: Path | None
    engine: str
    scheduler: str | None
    seed: int | None
    output: Path


def run(options: Options) -> None:
    from privgmm.curate import release
    from privgmm.privacy.accounting import check_epsilon_delta

    check_epsilon_delta(options.epsilon, options.delta)
    check_target(
        options.output,
        options.data,
        options.ledger,
        options.center,
        options.bounds,
        options.preprocess,
    )
    if options.label is None and options.components is None:
        raise InputError("Name the label column with --label, or give --components without one.")
    if options.scheduler is not None and options.engine != "dask":
        raise InputError("A scheduler goes with --engine dask.")
    with _client(options) as client, passing("Releasing") as progress:
        result = release(
            **_rows(options, progress, client),
            epsilon=options.epsilon,
            delta=options.delta,
            unit=options.unit,
            radius=options.radius,
            center=None if options.center is None else _center(options.center),
            mechanism=options.mechanism,
            adjacency=options.adjacency,
            weights=options.weights,
            seed=options.seed,
            n_components=options.components,
            label_name=options.label or "component",
            ledger=options.ledger,
        )
        result.save(options.output)
    if options.mechanism == "published":
        print("Note: the published method's guarantee is not proven; do not rely on it.")
    print(f"Wrote {plain(options.output)}: {result.guarantee.promise}")


def _rows(options: Options, progress: Progress, client: Any) -> dict[str, Any]:
    """The arguments that say which rows: a path where passes will do, arrays otherwise."""
    columns, steps = _listed(options.columns), _steps(options.preprocess)
    if client is not None or (options.mechanism == "proven" and not steps):
        from privgmm.statistics.opening import file_features

        names = file_features(options.data, columns, options.label)
        return {
            "X": options.data,
            "label": options.label,
            "columns": columns,
            "classes": _listed(options.classes),
            "bounds": _bounds(options.bounds, names),
            "preprocessing": steps,
            "client": client,
            "progress": progress,
        }
    from privgmm.frames import read_table

    table = read_table(options.data, columns=columns, label=options.label)
    return {
        "X": table.X,
        "y": table.labels,
        "classes": _classes(options.classes, table.labels),
        "bounds": _bounds(options.bounds, table.feature_names),
        "preprocessing": steps,
        "feature_names": table.feature_names,
    }


def _client(options: Options) -> AbstractContextManager[Any]:
    if options.engine == "local":
        return nullcontext()
    from privgmm.statistics.dask_opening import connected

    return connected(options.scheduler)


def _steps(text: str | None) -> list[Any]:
    """log,standardise,pca:5 -- or a JSON file of steps with public parameters."""
    if text is None:
        return []
    if text.endswith(".json"):
        from privgmm.transform import public_steps

        return list(public_steps(Path(text)))
    return [part.strip() for part in text.split(",")]


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _classes(text: str | None, labels: NDArray[np.generic] | None) -> list[ClassName] | None:
    """The stated class list in the type of the label column."""
    names = _listed(text)
    if names is None or labels is None or labels.dtype.kind not in "iufb":
        return None if names is None else list(names)
    try:
        if labels.dtype.kind == "b":
            return [{"true": True, "false": False}[name.lower()] for name in names]
        return [float(n) if labels.dtype.kind == "f" else int(n) for n in names]
    except (KeyError, ValueError):
        raise InputError(
            "The label column holds numbers, so --classes must list numbers."
        ) from None


def _bounds(text: str | None, features: tuple[str, ...]) -> Any:
    """LO,HI for all columns, or a CSV file with the columns ``column,lo,hi``."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) == 2:
        try:
            return float(parts[0]), float(parts[1])
        except ValueError:
            pass
    return _bounds_file(Path(text), features)


def _bounds_file(path: Path, features: tuple[str, ...]) -> tuple[list[float], list[float]]:
    import csv

    hint = f"{path} must be a CSV file with the columns column,lo,hi and a line for every feature"
    try:
        with path.open(newline="", encoding="utf-8") as handle:
            ranges = {
                row["column"]: (float(row["lo"]), float(row["hi"]))
                for row in csv.DictReader(handle)
            }
    except (OSError, KeyError, TypeError, ValueError, csv.Error):
        raise InputError(f"{hint}; or give --bounds LO,HI.") from None
    missing = [name for name in features if name not in ranges]
    if missing:
        raise InputError(f"{hint}; {len(missing)} features have none.")
    return [ranges[name][0] for name in features], [ranges[name][1] for name in features]


def _center(path: Path) -> list[float]:
    """The numbers of a one-row CSV file, a header being allowed."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [float(cell) for cell in lines[-1].split(",")]
    except (OSError, ValueError, IndexError):
        raise InputError(f"{path} must hold one row of numbers, the center of the ball.") from None
