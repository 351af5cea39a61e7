"""Attack through the front door: ``privgmm.release`` on pairs of files, and all that it publishes.

Two attackers look at each release. The first knows which fields of the document are the same in every
release of D, hence free of noise, and counts how many of them a release changes: on a neighbour of D none may change.
The second reads one released number, as in ``audit.pairs.Case``.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privgmm.audit.scores import FEWEST_RUNS, tossed
from privgmm.audit.verdict import Attack
from privgmm.curate import release
from privgmm.errors import InputError
from privgmm.model import Mixture
from privgmm.releases.document import dump
from privgmm.transform import Pca
from privgmm.types import Adjacency

# Releases of D from which the first attacker learns what never changes.
_REFERENCES = 3

# Fields that noisy answers decide: the numbers, which rounds were asked, what they cost, and the errors. A value here that was the
# same in a few releases may still change in the next one, so the first attacker leaves these fields to the tape (tests/tape).
_FROM_ANSWERS = (
    ".mixture.weights.", ".mixture.means.", ".mixture.covariances.", ".margins.", ".errors.", ".mechanisms.",
)  # fmt: skip
# The score of a refusal: whoever sees that a release was refused has learnt something too.
_REFUSED = 1e9

Leaves = dict[str, str]
Outcome = tuple[Leaves, float]


@dataclass(frozen=True, eq=False)
class FilePair:
    """Two neighbouring CSV files, how they are released, and a number that tells them apart."""

    what: str
    neighbours: str
    first: str
    second: str
    wishes: dict[str, Any]
    score: Callable[[Mixture], float]


def front_door_attacks(
    adjacency: Adjacency, epsilon: float, delta: float, seed: int | None, seconds: float
) -> list[Attack]:
    """Two attacks on each pair of files, with as many releases as the time allows."""
    found = []
    cases = file_pairs(adjacency)
    for case in cases:
        low, high, reference = _releases(case, (epsilon, delta), seed, seconds / len(cases))
        name = f"{case.what} ({adjacency})"
        fields = [[_unlike(reference, leaves) for leaves, _ in side] for side in (low, high)]
        numbers = [[number for _, number in side] for side in (low, high)]
        for what, sides in ((f"noise-free fields of {name}", fields), (name, numbers)):
            first, second = (tossed(side, np.random.default_rng(len(side))) for side in sides)
            found.append(Attack(what, case.neighbours, first, second, gaussian=True))
    return found


def file_pairs(adjacency: Adjacency) -> list[FilePair]:
    """Labels that look like numbers, classes that only one of the files holds, PCA, and private EM."""
    common: dict[str, Any] = {"columns": ["a", "b"]}
    steps = [Pca(np.zeros(2), np.array([[0.6, 0.8]]))]
    if adjacency == "label":
        rows = ["0,0,10", "0.1,0,10", "0,0.1,11"]
        how = {**common, "label": "kind", "classes": ["01", "10", "11"], "unit": "label"}
        name = "the only label 01 appears"
        files = _csv([*rows, "0,0,10"]), _csv([*rows, "0,0,01"])

        def share(mixture: Mixture) -> float:
            return float(mixture.weights[0])

        return [
            FilePair("a released file", name, *files, how, share),
            FilePair("a released file, PCA", name, *files, {**how, "preprocessing": ["pca:1"]}, share),
        ]  # fmt: skip
    how = {**common, "unit": "record", "adjacency": adjacency, "bounds": (-1.0, 1.0)}
    rows = ["0,0,1", "0,0,2"] * 3
    before = ["-1,-1,1"] if adjacency == "replace" else []
    name = (
        "a record at one bound " + ("crosses, and" if before else "enters as") + " the only other"
    )
    files = _csv([*rows, *before]), _csv([*rows, "1,1,other"])
    labels = {"label": "kind", "classes": ["1", "2", "other"], "preprocessing": steps}

    def mean(mixture: Mixture) -> float:
        return float((mixture.weights @ mixture.means).sum())

    return [
        FilePair("a released file, PCA", name, *files, {**how, **labels}, mean),
        FilePair("a released file, private EM", name, *files, {**how, "n_components": 2}, mean),
    ]


def _csv(rows: list[str]) -> str:
    return "\n".join(["a,b,kind", *rows]) + "\n"


def _releases(
    case: FilePair, claim: tuple[float, float], seed: int | None, seconds: float
) -> tuple[list[Outcome], list[Outcome], Leaves]:
    """Outcomes on D and on D', and the fields that the first few releases of D had in common."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for place, text in (("first", case.first), ("second", case.second)):
            paths.append(Path(folder, place, "table.csv"))
            paths[-1].parent.mkdir()
            paths[-1].write_text(text)
        run = _Runner(case, claim, seed)
        reference = _common([run(paths[0])[0] for _ in range(_REFERENCES)])
        low: list[Outcome] = []
        high: list[Outcome] = []
        started = time.monotonic()
        while len(low) < FEWEST_RUNS or time.monotonic() - started < seconds:
            low.append(run(paths[0]))
            high.append(run(paths[1]))
    return low, high, reference


class _Runner:
    """Releases a file whenever it is called, each time with new noise."""

    def __init__(self, case: FilePair, claim: tuple[float, float], seed: int | None) -> None:
        self._case, self._claim, self._seed = case, claim, seed
        self._runs = 0

    def __call__(self, path: Path) -> Outcome:
        self._runs += 1
        seed = None if self._seed is None else self._seed + self._runs
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                epsilon, delta = self._claim
                found = release(
                    path, epsilon=epsilon, delta=delta, seed=seed, **self._case.wishes
                )  # fmt: skip
            except InputError as refused:
                return {"refused": str(refused).replace(str(path), path.name)}, _REFUSED
        words = {"warnings": " ".join(str(warning.message) for warning in said)}
        document = json.loads(dump(found))
        leaves = {
            path: v
            for path, v in _leaves(document, "")
            if not any(part in path for part in _FROM_ANSWERS)
        }
        return words | leaves, self._case.score(found.mixture)


def _leaves(part: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every value of a document with the path to it; 1, 1.0 and "1" count as three different values."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _leaves(value, f"{path}.{key}")
    elif isinstance(part, list):
        yield f"{path}.length", str(len(part))
        for index, value in enumerate(part):
            yield from _leaves(value, f"{path}.{index}")
    else:
        yield path, repr(part)


def _common(outcomes: list[Leaves]) -> Leaves:
    """The fields that all outcomes have; one whose value varies is kept with an empty value, which stands for any."""
    paths = set.intersection(*(set(leaves) for leaves in outcomes))
    values = {path: {leaves[path] for leaves in outcomes} for path in paths}
    return {path: found.pop() if len(found) == 1 else "" for path, found in values.items()}


def _unlike(reference: Leaves, leaves: Leaves) -> float:
    """How many fields are missing, added, or have another value than in the reference."""
    moved = sum(bool(value) and leaves.get(path) != value for path, value in reference.items())
    return float(moved + len(leaves.keys() - reference.keys()))
