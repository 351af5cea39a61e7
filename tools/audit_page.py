"""Fill the tables of docs/guarantees.md about the published method: ``python tools/audit_page.py [--measure]``.

``--measure`` attacks the published method and its baselines at every epsilon and unit (ten audits of less
than a minute each) and writes docs/audit.csv; without it the tables are written from that file. A test
checks that they are what the file says.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
TRIALS = 6000
NAMES = {
    "published method, covariances": "published method: covariances",
    "published method, weights": "published method: weights",
    "published method, means": "published method: means",
    "realistic": "published method, realistic attacker",
    "baseline laplace, means": "baseline Laplace: means",
    "baseline gaussian, means": "baseline Gaussian: means",
    "baseline colored-gaussian, means": "baseline coloured Gaussian: means",
    "baseline r1smg, means": "baseline R1SMG (12 columns): means",
}
_BLOCK = re.compile(r"(<!-- audit: ([a-z]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
Row = dict[str, str]


def measured() -> list[Row]:
    """A line for each attack: the least epsilon it shows, and how often its guess is right."""
    from privgmm.audit import attacks, judge, successes

    rows: list[Row] = []
    for unit in ("label", "record"):
        for epsilon in EPSILONS:
            found = attacks("published", unit, epsilon, DELTA, TRIALS, 0, 0.0, realistic=True)
            bounds = {row.as_dict()["query"]: row.as_dict() for row in judge(found, epsilon, DELTA)}
            for guess in (g.as_dict() for g in successes(found, epsilon, DELTA)):
                rows.append(_line(unit, epsilon, guess, bounds[guess["query"]]))
            print(f"{unit}, epsilon {epsilon:g}: {len(bounds)} attacks", flush=True)
    return rows


def _line(unit: str, epsilon: float, guess: dict[str, Any], bound: dict[str, Any]) -> Row:
    realistic = guess["attacker"] == "realistic"
    return {
        "unit": unit,
        "epsilon": f"{epsilon:g}",
        "attack": "realistic" if realistic else guess["query"],
        "guessed right": f"{guess['accuracy']['value']:.6f}",
        "ceiling": f"{guess['accuracy']['ceiling']:.6f}",
        "above the ceiling": str(guess["broken"]),
        "epsilon at least": f"{bound['epsilon_lower']:.4f}",
        "refuted": str(bound["refuted"]),
        "runs": str(guess["trials"]),
    }


def filled(text: str, rows: list[Row]) -> str:
    """The page with its tables as the rows have them."""
    tables = {"guesses": _guesses, "bounds": _bounds}
    at = {(r["attack"], r["unit"], float(r["epsilon"])): r for r in rows}
    return _BLOCK.sub(lambda found: found[1] + tables[found[2]](at) + found[4], text)


def _guesses(at: dict[tuple[str, str, float], Row]) -> str:
    """How often each attacker guesses right, in per cent, label / record."""
    lines = [f"| ε = | {' | '.join(f'{e:g}' for e in EPSILONS)} |", "|---" * 6 + "|"]
    for attack, name in NAMES.items():
        cells = [
            " / ".join(_percent(at.get((attack, unit, e))) for unit in ("label", "record"))
            for e in EPSILONS
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    ceilings = [float(at["realistic", "label", e]["ceiling"]) for e in EPSILONS]
    told = [f"*{100 * c:.1f}*" if c < 0.9995 else f"*{100 * c:.2f}*" for c in ceilings]
    return "\n".join([*lines, f"| *ceiling of the claim* | {' | '.join(told)} |"]) + "\n"


def _percent(row: Row | None) -> str:
    if row is None:
        return "–"
    text = f"{100 * float(row['guessed right']):.1f}"
    return f"**{text}**" if row["above the ceiling"] == "True" else text


def _bounds(at: dict[tuple[str, str, float], Row]) -> str:
    """The least epsilon that each attack shows at a claimed epsilon of 1."""
    lines = ["| attacked, claimed ε = 1 | label: ε is at least | record: ε is at least |",
             "|---|---|---|"]  # fmt: skip
    for attack, name in NAMES.items():
        if attack == "realistic":
            continue
        cells = []
        for unit in ("label", "record"):
            row = at.get((attack, unit, 1.0))
            if row is None:
                cells.append("(unchanged by this neighbour)")
                continue
            text = f"{float(row['epsilon at least']):.2f}".replace("0.00", "0")
            cells.append(f"**{text}**" if row["refuted"] == "True" else text)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def stored() -> list[Row]:
    """docs/audit.csv as it stands."""
    with (DOCS / "audit.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main(arguments: list[str]) -> None:
    if "--measure" in arguments:
        rows, out = measured(), io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        (DOCS / "audit.csv").write_text(out.getvalue(), encoding="utf-8")
    page = DOCS / "guarantees.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), stored()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
