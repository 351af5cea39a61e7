"""``privgmm audit``: try to refute a claim; a table, a picture, or JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from privgmm.errors import InputError

if TYPE_CHECKING:
    from privgmm.audit import Row

PLOT_KINDS = (".svg", ".png", ".pdf")


def run(
    mechanism: str,
    unit: str,
    epsilon: float,
    delta: float,
    trials: int,
    as_json: bool = False,
    output: Path | None = None,
    seed: int | None = None,
) -> None:
    if output is not None and output.suffix.lower() not in PLOT_KINDS:
        raise InputError(f"Name the picture {', '.join(PLOT_KINDS)}, got {output.name!r}.")
    from privgmm.audit import CONFIDENCE, audit
    from privgmm.cli.progress import working

    with working(f"Attacking the {mechanism} mechanism"):
        attacks, rows = audit(mechanism, unit, epsilon, delta, trials, seed)
    if output is not None:
        from privgmm.audit.picture import write_picture

        write_picture(attacks, rows, output)
    if as_json:
        print(
            json.dumps(
                {
                    "mechanism": mechanism,
                    "unit": unit,
                    "confidence": CONFIDENCE,
                    "rows": [row.as_dict() for row in rows],
                },
                indent=1,
            )
        )
    else:
        _print_table(mechanism, unit, rows)


def _print_table(mechanism: str, unit: str, rows: list[Row]) -> None:
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
