"""The table of ``privgmm audit --inference``: how often attackers guess right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privgmm.audit.success import Rate, Success


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


_KNOWS = {"informed": "all other rows", "realistic": "one row"}


def _cells(rate: Rate | None) -> tuple[str, str]:
    """Per cent: value and interval, then the ceiling; nothing where the runs were too few."""
    if rate is None:
        return "", ""
    value, low, high = (100 * part for part in (rate.value, rate.low, rate.high))
    return f"{value:.1f} ({low:.1f}-{high:.1f})", f"{100 * rate.ceiling:.1f}"
