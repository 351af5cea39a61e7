"""Run families in turn and count: every case has a number, and the same number gives the same input."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .case import Case, Family, Verdict
from .oracle import judge

_SHOWN = 200


@dataclass
class Tally:
    """What became of one family's inputs."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def case_of(family: Family, number: int, seed: int) -> Case:
    with np.errstate(all="ignore"):  # hostile numbers overflow while they are made
        return family.make(np.random.default_rng([seed, zlib.crc32(family.name.encode()), number]))


def counts(families: tuple[Family, ...], inputs: int) -> dict[str, int]:
    """At least ``inputs`` in all, split by the families' shares, and at least one each."""
    whole = sum(family.share for family in families)
    return {family.name: max(1, -(-family.share * inputs // whole)) for family in families}


def soak(
    families: tuple[Family, ...], inputs: int, seed: int, most_seconds: float = float("inf")
) -> dict[str, Tally]:
    """All families, interleaved so that a run cut short has seen some of each."""
    wanted = counts(families, inputs)
    tallies = {family.name: Tally() for family in families}
    started = told = time.monotonic()
    for family, number in _interleaved(families, wanted):
        began = time.monotonic()
        if began - started > most_seconds:
            break
        if began - told > 20:
            told = began
            _progress(tallies, sum(wanted.values()), began - started)
        tally = tallies[family.name]
        verdict = judge(case_of(family, number, seed), family.seconds)
        tally.inputs += 1
        tally.accepted += verdict.accepted
        tally.refused += not verdict.accepted
        tally.seconds += time.monotonic() - began
        if verdict.faults:
            tally.faults.append(told_of(family, number, seed, verdict))
            print(tally.faults[-1], file=sys.stderr, flush=True)
    return tallies


def told_of(family: Family, number: int, seed: int, verdict: Verdict) -> str:
    replay = f"--family '{family.name}' --case {number} --seed {seed}"
    said = verdict.said if len(verdict.said) <= _SHOWN else verdict.said[:_SHOWN] + "..."
    what = f"FAULT {'; '.join(verdict.faults)}" if verdict.faults else "no fault"
    return f"{what}  [{replay}]  said: {said!r}"


def table(tallies: dict[str, Tally]) -> str:
    lines = [
        f"{'family':<30}{'inputs':>9}{'accepted':>10}{'refused':>9}{'faults':>8}{'seconds':>9}"
    ]
    rows = [*tallies.items(), ("all", _sum(tallies))]
    for name, t in rows:
        lines.append(
            f"{name:<30}{t.inputs:>9}{t.accepted:>10}{t.refused:>9}{len(t.faults):>8}{t.seconds:>9.1f}"
        )
    return "\n".join(lines)


def _sum(tallies: dict[str, Tally]) -> Tally:
    every = tallies.values()
    return Tally(
        sum(t.inputs for t in every),
        sum(t.accepted for t in every),
        sum(t.refused for t in every),
        [fault for t in every for fault in t.faults],
        sum(t.seconds for t in every),
    )


def _interleaved(
    families: tuple[Family, ...], wanted: dict[str, int]
) -> Iterator[tuple[Family, int]]:
    order = sorted(
        ((number + 0.5) / wanted[family.name], index, number)
        for index, family in enumerate(families)
        for number in range(wanted[family.name])
    )
    for _, index, number in order:
        yield families[index], number


def _progress(tallies: dict[str, Tally], wanted: int, seconds: float) -> None:
    done = _sum(tallies)
    print(
        f"{done.inputs:,} of {wanted:,} inputs in {seconds:.0f} s: {done.accepted:,} accepted, "
        f"{done.refused:,} refused, {len(done.faults)} faults",
        flush=True,
    )
