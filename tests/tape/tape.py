"""The tape: answers of a curator recorded on one table, and given again to whoever asks on its neighbour."""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from privgmm.privacy.curator import Curator

from .describe import Facts, described

Floats = NDArray[np.float64]
# From exact totals and noise scales to the answer that goes on the tape.
Manner = Callable[[np.random.Generator, Floats, Floats], Floats]

# Buckets of a fingerprint: two rows share one by chance once in so many.
_BUCKETS = 1 << 14
# How many buckets may change by one between neighbours.
_ROWS_MOVED = {"label": 2, "replace": 2, "add-remove": 1}
# Sums of float quotients; a broken sensitivity misses by far more.
_ROUNDING = 1e-9


class SidePathError(AssertionError):
    """A run on a neighbour showed something that no answer told it."""


@dataclass(frozen=True)
class Asked:
    """One query as the curator got it, the exact totals of the table, and the answer given.

    ``rows`` is a fingerprint of the rows as the query sees them, after every map.
    """

    facts: Facts
    steps: Floats
    sensitivity: float
    exact: Floats
    rows: NDArray[np.int64]
    answer: Floats


@dataclass
class Tape:
    """Answers in order; ``manner`` makes them from exact totals with a generator of its own.

    A neighbour may differ in ``most_rows`` rows, where they are of one person.
    """

    manner: Manner
    seed: int = 0
    most_rows: int = 1
    asked: list[Asked] = field(default_factory=list)


@dataclass(frozen=True)
class Fingerprint:
    """A kernel: each row, to the bit, adds one to a bucket. Rows that are the same fill the same buckets."""

    def __call__(self, X: Floats, codes: NDArray[np.intp]) -> NDArray[np.int64]:
        rows = zip(np.ascontiguousarray(X), codes.tolist(), strict=True)
        places = [zlib.crc32(x.tobytes(), code & 0xFFFF) % _BUCKETS for x, code in rows]
        return np.bincount(np.array(places, dtype=np.intp), minlength=_BUCKETS).astype(np.int64)


class _Fingerprints:
    """The fingerprint of what a curator looks at, taken anew only when it looks at something else."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, NDArray[np.int64]]] = []

    def __call__(self, curator: Curator) -> NDArray[np.int64]:
        source = curator._source
        if not self._known or self._known[-1][0] is not source:
            self._known.append((source, source.total(Fingerprint())))
        return self._known[-1][1]


_ANSWER = Curator.answer


@contextlib.contextmanager
def recording(tape: Tape) -> Iterator[None]:
    """Whatever a curator is asked meanwhile goes on the tape."""
    rng = np.random.default_rng(tape.seed)
    fingerprint = _Fingerprints()

    def answer(curator: Curator, query: Any, mu: float) -> Floats:
        steps = np.asarray(query.steps, dtype=np.float64)
        sensitivity = query.sensitivity(curator.adjacency)
        facts, rows = _facts(curator, query, mu), fingerprint(curator)

        def given(exact: Floats) -> Floats:
            found = tape.manner(rng, exact, steps * sensitivity / mu)
            tape.asked.append(Asked(facts, steps, sensitivity, exact, rows, found))
            return found

        return _answered(curator, query, mu, given)

    with mock.patch.object(Curator, "answer", answer):
        yield


@contextlib.contextmanager
def replaying(tape: Tape) -> Iterator[list[str]]:
    """Curators answer from the tape; the list says what the neighbour asked or held otherwise."""
    faults: list[str] = []
    position = 0
    fingerprint = _Fingerprints()

    def answer(curator: Curator, query: Any, mu: float) -> Floats:
        nonlocal position
        if position == len(tape.asked):
            faults.append(f"query {position} ({query.name}) is one more than the tape holds")
            raise SidePathError(faults[-1])
        before, number = tape.asked[position], position
        position += 1

        def given(exact: Floats) -> Floats:
            words = _compared(
                before, curator, query, mu, exact, fingerprint(curator), tape.most_rows
            )
            faults.extend(f"query {number}: {query.name}: {one}" for one in words)
            if before.answer.shape != exact.shape:
                raise SidePathError(faults[-1])
            return before.answer

        return _answered(curator, query, mu, given)

    with mock.patch.object(Curator, "answer", answer):
        yield faults
    if position < len(tape.asked):
        faults.append(f"only {position} of {len(tape.asked)} queries were asked")


def _answered(curator: Curator, query: Any, mu: float, given: Callable[[Floats], Floats]) -> Floats:
    """The curator's own answer, checks and bookkeeping and all, with ``given`` where it adds noise."""

    def noised(exact: list[int], shift: int, *_: Any) -> Floats:
        return given(np.array([total / (1 << shift) for total in exact])).copy()

    with mock.patch("privgmm.privacy.curator._noised", noised):
        return _ANSWER(curator, query, mu)


def _facts(curator: Curator, query: Any, mu: float) -> Facts:
    return {
        "adjacency": curator.adjacency,
        "mu": repr(mu),
        "sensitivity": repr(query.sensitivity(curator.adjacency)),
        **{f"steps{at}": fact for at, fact in described(np.asarray(query.steps)).items()},
        **{f"query{at}": fact for at, fact in described(query).items()},
        **{f"kernel{at}": fact for at, fact in described(query.kernel).items()},
        # The coordinates in which the rows are asked must be public too.
        **{f"map{at}": fact for at, fact in described(_maps(curator._source)).items()},
    }


def _maps(source: Any) -> list[Any]:
    """Every map between the table and the query, the last one first."""
    mapping = getattr(source, "mapping", None)
    return [] if mapping is None else [mapping, *_maps(source.source)]


def _compared(
    before: Asked,
    curator: Curator,
    query: Any,
    mu: float,
    exact: Floats,
    rows: NDArray[np.int64],
    most_rows: int,
) -> Iterator[str]:
    facts = _facts(curator, query, mu)
    for name in sorted(before.facts.keys() | facts.keys()):
        first, second = before.facts.get(name, "nothing"), facts.get(name, "nothing")
        if first != second:
            yield f"{name} is {second}, on the tape {first}"
    apart = int(np.abs(rows - before.rows).sum())
    if apart > most_rows * _ROWS_MOVED[curator.adjacency]:
        yield f"the rows it sees differ in {apart} places, so some map is not rowwise"
    if exact.shape != before.exact.shape:
        yield f"{exact.size} totals, on the tape {before.exact.size}"
        return
    moved = float(np.linalg.norm((exact - before.exact) / before.steps))
    if not moved <= before.sensitivity * (1 + _ROUNDING):
        yield f"totals move by {moved:.6g}, the sensitivity is {before.sensitivity:.6g}"


def drawn(rng: np.random.Generator, exact: Floats, scales: Floats) -> Floats:
    """The noise of a release."""
    return _on_lattice(exact + scales * rng.standard_normal(exact.size), scales)


def far(rng: np.random.Generator, exact: Floats, scales: Floats) -> Floats:
    """Noise that no release will ever see, but could."""
    return _on_lattice(exact + 20 * scales * rng.standard_normal(exact.size), scales)


def anything(rng: np.random.Generator, exact: Floats, scales: Floats) -> Floats:
    """A vector of the lattice that has nothing to do with the table."""
    return _on_lattice(
        scales * 10 ** rng.uniform(-3, 3, exact.size) * rng.choice([-1, 1], exact.size), scales
    )


def nothing(rng: np.random.Generator, exact: Floats, scales: Floats) -> Floats:
    """All totals zero."""
    return np.zeros(exact.size)


MANNERS: dict[str, Manner] = {manner.__name__: manner for manner in (drawn, far, anything, nothing)}


def _on_lattice(values: Floats, scales: Floats) -> Floats:
    """Multiples of a power of two far below the noise, as the curator's answers are; at most one."""
    quantum = np.array([2.0 ** min(math.floor(math.log2(scale)) - 40, 0) for scale in scales])
    return np.asarray(np.rint(values / quantum) * quantum)
