"""``privgmm audit``: try to refute a privacy claim, and show the outcome as a table, a picture or JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privgmm.errors import InputError

if TYPE_CHECKING:
    from privgmm.audit import AuditLine
    from privgmm.audit.success import Rate, Success

PLOT_KINDS = (".svg", ".png", ".pdf")
_KNOWS = {"informed": "all other rows", "realistic": "one row"}


def run(
    mechanism: str,
    unit: str,
    epsilon: float,
    delta: float,
    trials: int,
    as_json: bool = False,
    output: Path | None = None,
    seed: int | None = None,
    inference: bool = False,
    seconds: float = 30.0,
) -> None:
    """``privgmm audit``: attacks, one row each."""
    if output is not None and output.suffix.lower() not in PLOT_KINDS:
        raise InputError(f"Name the picture {', '.join(PLOT_KINDS)}, got {output.name!r}.")
    if not 0 <= seconds < math.inf:
        raise InputError(f"Seconds must be a number from 0 on, got {seconds:g}.")
    from privgmm.audit import CONFIDENCE, judge, successes
    from privgmm.audit import attacks as mount
    from privgmm.checks import checked_seed
    from privgmm.cli.terminal import working

    checked_seed(seed)

    with working(f"Attacking the {mechanism} mechanism"):
        attacks = mount(mechanism, unit, epsilon, delta, trials, seed, seconds, inference)
    rows = judge(attacks, epsilon, delta)
    guesses = successes(attacks, epsilon, delta) if inference else []
    if output is not None:
        from privgmm.audit.success import write_picture, write_successes

        if inference:
            write_successes(guesses, output)
        else:
            write_picture(attacks, rows, output)
    if as_json:
        found: dict[str, Any] = {
            "mechanism": mechanism,
            "unit": unit,
            "confidence": CONFIDENCE,
            "rows": [row.as_dict() for row in rows],
        }
        if inference:
            found["guesses"] = [guess.as_dict() for guess in guesses]
        print(json.dumps(found, indent=1))
    elif inference:
        print_guesses(mechanism, unit, guesses)
    else:
        _print_table(mechanism, unit, rows)


def _print_table(mechanism: str, unit: str, rows: list[AuditLine]) -> None:
    from rich.console import Console
    from rich.table import Table

    from privgmm.audit import CONFIDENCE

    table = Table(title=f"Audit of the {mechanism} mechanism, unit {unit}")
    for heading in ("what was attacked", "neighbours"):
        table.add_column(heading, overflow="fold")
    for heading in ("trials", "claimed", "at least", "verdict"):
        table.add_column(heading, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(
            row.query,
            row.neighbours,
            f"{row.trials}",
            f"{row.epsilon_claimed:g}",
            f"{row.epsilon_lower:.3f}",
            "REFUTED" if row.refuted else "stands",
        )
    Console(width=None if sys.stdout.isatty() else 110, highlight=False).print(table)
    refuted = sum(row.refuted for row in rows)
    print(
        f"Epsilon at delta={rows[0].delta:g}; all lower bounds hold together with probability "
        f"{CONFIDENCE:g}."
    )
    if refuted:
        print(f"{refuted} of {len(rows)} claims are refuted: what was claimed is false.")
    else:
        print("No claim is refuted. An audit can refute a claim, never prove one.")


def print_guesses(mechanism: str, unit: str, guesses: Sequence[Success]) -> None:
    """How often attackers guessed right, beside the ceiling."""
    from rich.console import Console
    from rich.table import Table

    from privgmm.audit.success import FALSE_ALARMS
    from privgmm.audit.verdict import CONFIDENCE

    table = Table(title=f"What attackers infer from the {mechanism} mechanism, unit {unit}")
    table.add_column("what was attacked", overflow="fold")
    headings = ["knows", "trials", "right", "ceiling"]
    for alarms in FALSE_ALARMS:
        headings += [f"hits at {alarms:g}", "ceiling"]
    for heading in [*headings, "verdict"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for guess in guesses:
        cells = [guess.query, _KNOWS[guess.attacker], f"{guess.trials}"]
        for rate in (guess.accuracy, *(guess.hits.get(alarms) for alarms in FALSE_ALARMS)):
            cells += _cells(rate)
        table.add_row(*cells, "BROKEN" if guess.broken else "stands")
    Console(width=None if sys.stdout.isatty() else 150, highlight=False).print(table)
    print(
        "Right: share of right guesses between two equally likely tables; hits: share of true alarms at "
        f"this share of false ones.\nIntervals hold together with probability {CONFIDENCE:g}; "
        f"epsilon={guesses[0].epsilon:g}, delta={guesses[0].delta:g}."
    )
    broken = sum(guess.broken for guess in guesses)
    if broken:
        print(f"{broken} of {len(guesses)} attackers break the ceiling: what was claimed is false.")
    else:
        print("No attacker is surely above the ceiling that the claim sets.")


def _cells(rate: Rate | None) -> tuple[str, str]:
    """A rate in per cent with its interval, and its ceiling; empty where there were too few runs."""
    if rate is None:
        return "", ""
    value, low, high = (100 * part for part in (rate.value, rate.low, rate.high))
    return f"{value:.1f} ({low:.1f}-{high:.1f})", f"{100 * rate.ceiling:.1f}"
