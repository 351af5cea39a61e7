"""``python -m bench.tuning``: every tuned number of record level, halved and doubled, on tables of many shapes.

For each number of ``privgmm.proven.record.tuning`` and both changes: J = reverse + forward KL against (eq2), as a geometric mean over
the releases below, relative to what the chosen value gives, and the release that changes most. The same seeds are used throughout,
so a number that no table needs says 1.000. ``--page docs/tuning.md`` writes the page; ``--groups tails,prior`` measures some.

Groups left out are measured elsewhere: ``intervals`` by bench/coverage.py, ``inside`` by bench/components.py.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench import second_moments, tables
from privgmm import fit, kl_divergence, release
from privgmm.proven.record.tuning import TUNING

LEFT_OUT = ("intervals", "inside")
# Releases of the tables of bench/tables.py: those generated, that a release takes about a second of.
_SHAPES = (
    "zero-one", "zeros", "survey", "modes", "t3", "dummies", "scales", "factors", "breast-cancer", "rare", "visits", "claims",
    "codes", "inflated",
)  # fmt: skip
_ONE_CLASS = ("bells", "wrong entries", "Zipf counts", "log-normal d=1", "unlike scales")
_EPSILONS = (2.0,)
_MIXTURES, _MIXTURE_EPSILONS = 2, (0.5, 1.0, 2.0, 4.0)
# A J below this is as good as perfect.
_LEAST = 1e-4


@dataclass(frozen=True)
class Trial:
    """One number, its path below TUNING, and the value that is tried instead."""

    path: tuple[str, ...]
    chosen: Any
    tried: Any

    @property
    def name(self) -> str:
        return ".".join(self.path)


def trials(groups: list[str] | None = None) -> Iterator[Trial]:
    """Both changes of every number, in the order of the file."""
    for path, value in _numbers(TUNING, ()):
        if path[0] not in LEFT_OUT and (not groups or path[0] in groups):
            for times in (0.5, 2.0):
                # The last round takes all that is left; there is no more.
                if (path[-1], value, times) != ("share", 1.0, 2.0):
                    yield Trial(path, value, _changed(value, times))


def _numbers(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for one in fields(group):
        value = getattr(group, one.name)
        if is_dataclass(value):
            yield from _numbers(value, (*path, one.name))
        elif value != math.inf and value not in (0, 0.0):
            yield (*path, one.name), value


def _changed(value: Any, times: float) -> Any:
    """Half or double; of a probability near one, what is left of one; of a share, its odds."""
    if isinstance(value, tuple):
        return tuple(_changed(one, times) for one in value)
    if isinstance(value, int):
        return max(1, round(value * times))
    if 0.45 < value < 1:
        odds = times * value / (1 - value)
        return odds / (1 + odds)
    return value * times


def _set(trial: Trial) -> None:
    group: Any = TUNING
    for name in trial.path[:-1]:
        group = getattr(group, name)
    # Frozen for all but this experiment, which runs in a process of its own.
    object.__setattr__(group, trial.path[-1], trial.tried)


def releases() -> Iterator[tuple[str, Callable[[], float]]]:
    """Names and J's of all releases."""
    for epsilon in _MIXTURE_EPSILONS:
        for run in range(_MIXTURES):
            made = tables.synthetic(1000, 1000 + run)
            yield f"mixtures, epsilon {epsilon:g}", lambda made=made, e=epsilon: _j(*made, e)
    for name in _SHAPES:
        made = tables.TABLES[name].make(1000)
        for epsilon in _EPSILONS:
            yield f"{name}, epsilon {epsilon:g}", lambda made=made, e=epsilon: _j(*made, e)
    for name in _ONE_CLASS:
        rows = second_moments.TABLES[name](np.random.default_rng(1000))
        X, stated = rows.X, {"bounds": (-rows.extent, rows.extent)}
        if rows.extent == 1.0 and X.shape[1] > 1:
            stated = {"radius": 1.0}
        made = X, np.zeros(len(X), dtype=int), stated
        for epsilon in _EPSILONS:
            yield f"{name}, epsilon {epsilon:g}", lambda made=made, e=epsilon: _j(*made, e)


def _j(X: np.ndarray, y: np.ndarray, stated: dict[str, Any], epsilon: float) -> float:
    asked = {"delta": tables.DELTA, "classes": range(y.max() + 1), **stated}
    p = fit(X, y)
    q = release(X, y, epsilon=epsilon, unit="record", seed=1, **asked).mixture
    return kl_divergence(p, q) + kl_divergence(q, p)


def measured(trial: Trial | None) -> dict[str, list[float]]:
    """ln J of every release, by name, with one number changed."""
    warnings.simplefilter("ignore")
    if trial is not None:
        _set(trial)
    found: dict[str, list[float]] = {}
    for name, run in releases():
        found.setdefault(name, []).append(math.log(max(run(), _LEAST)))
    return found


def line(trial: Trial, found: dict[str, list[float]], usual: dict[str, list[float]]) -> str:
    """One line of the page."""
    change = {name: float(np.mean(found[name]) - np.mean(usual[name])) for name in usual}
    all_of_them = math.exp(
        np.mean([x - z for name in usual for x, z in zip(found[name], usual[name], strict=True)])
    )
    most = max(change, key=lambda name: abs(change[name]))
    worst = "" if abs(change[most]) < 5e-4 else f"{most}: {math.exp(change[most]):.2f}"
    return f"| `{trial.name}` | {_told(trial.chosen)} | {_told(trial.tried)} | {all_of_them:.3f} | {worst} |"


def _told(value: Any) -> str:
    return ", ".join(f"{x:.4g}" for x in (value if isinstance(value, tuple) else (value,)))


HEAD = "| number | chosen | tried | J, times | changes most |\n|---|---|---|---|---|"


def lines(groups: list[str] | None, workers: int) -> Iterator[str]:
    """The table, line by line."""
    wanted = list(trials(groups))
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        usual = pool.submit(measured, None)
        running = pool.map(measured, wanted)
        for trial, found in zip(wanted, running, strict=True):
            yield line(trial, found, usual.result())


def main() -> None:
    """Print the table, or write the page around it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", default="")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    text = [HEAD]
    print(HEAD)
    for one in lines([g for g in asked.groups.split(",") if g], asked.workers):
        print(one, flush=True)
        text.append(one)
    if asked.page:
        before = asked.page.read_text().partition(HEAD)[0]
        asked.page.write_text(before + "\n".join(text) + "\n")


if __name__ == "__main__":
    main()
