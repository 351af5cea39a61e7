"""Fill the numbers about the published method: ``python tools/audit_page.py [--measure | --facts]``.

``--measure`` attacks the published method and its baselines at every epsilon and unit (ten audits of less
than a minute each), computes the facts behind the argument, and writes docs/audit.csv; ``--facts`` computes these only
(seconds). Tables and marked numbers of the pages are then written from that file; a test checks that they
are what it says.
"""

from __future__ import annotations

import csv
import io
import math
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
PAGES = ("guarantees.md", "published.md")
_BLOCK = re.compile(r"(<!-- audit: ([a-z]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_MARK = re.compile(r"(<!-- fact: ([a-z0-9 ]+) -->)(.*?)(<!-- / -->)")
_COLUMNS = ("unit", "epsilon", "attack", "guessed right", "ceiling", "above the ceiling",
            "epsilon at least", "refuted", "runs", "value")  # fmt: skip
_FACT = "fact"  # stands for the unit of a line that holds a fact
_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
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


def facts() -> list[Row]:
    """What the argument of docs/guarantees.md quotes, each computed from the published method itself."""
    found = {**_of_the_paper(), **_of_the_audit()}
    return [{"unit": _FACT, "attack": name, "value": text} for name, text in found.items()]


def _of_the_paper() -> dict[str, str]:
    """The same quantities as the last section of docs/results.md."""
    from privgmm.reproduce.page import notes

    printed, exact = notes.printed_and_true()
    values, _ = notes.unconstrained()
    drift, iterations = notes.stall()
    assert drift < 1e-9, "the page says that epsilon_0 stays where it starts"
    out = {f"impossible {d}": f"{100 * notes.impossible_share(d):.1f}" for d in (1, 3, 10)}
    out |= {f"rank one {d}": _small(notes.r1smg_delta(d)) for d in (5, 8, 12)}
    return out | {
        "impossible": f"{100 * (1 - math.exp(-1 / 3)):.1f}",
        "printed": f"{printed:.2f}",
        "true": _small(exact),
        "floor": f"{sum(values) / len(values):.2f} (from {min(values):.2f} to {max(values):.2f})",
        "iterations": str(iterations),
        "column": f"{notes.column_total():.2f}",
    }


def _of_the_audit() -> dict[str, str]:
    """On the audit's own table, and on the paper's synthetic setting."""
    import numpy as np

    from privgmm import datasets, published
    from privgmm.audit.published import log_probability, tables
    from privgmm.audit.scores import outside_support

    first, second, _ = tables("label")
    asked = {"epsilon": 1.0, "delta": DELTA, "classes": [0, 1, 2]}
    design, rng = published.design(first.X, first.y, **asked), np.random.default_rng(0)
    outside = [outside_support(design.draw(rng), second.fitted) > 0 for _ in range(1000)]
    kept, removed = (
        published.design(second.X[:stop], second.y[:stop], adjacency="record-remove", **asked)
        for stop in (None, -1)
    )
    X, y = datasets.synthetic(1000, 5, 3, seed=0)
    counts = np.bincount(y)
    flipped = y.copy()
    flipped[np.flatnonzero(y == counts.argmax())[0]] = counts.argsort()[-2]
    law, other = (published.design(X, labels, 1.0, DELTA).weights_map for labels in (y, flipped))
    logs = np.array([(log_probability(w, law), log_probability(w, other)) for w in law.candidates])
    apart, chance = logs[:, 0] - logs[:, 1], np.exp(logs[:, 0])
    rule = {
        e: _gaussian_delta(e, e / math.sqrt(2 * math.log(2 / DELTA))) for e in (1.0, 10.0, 20.0)
    }
    return {
        "outlier": f"{100 * np.mean(outside):.0f}",
        "noise with": f"{np.trace(kept.mean_noise[2]):.0f}",
        "noise without": f"{np.trace(removed.mean_noise[2]):.0f}",
        "two flips": f"{100 * chance[apart > 20].sum():.0f}",
        "ratio": f"{apart.max():.0f}",
        "weights": f"{np.maximum(chance - math.e * np.exp(logs[:, 1]), 0).sum():.2f}",
        **{f"rule {e:g}": _small(delta) for e, delta in rule.items()},
    }


def _gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of N(0, 1) against N(mu, 1), exactly."""
    from scipy.stats import norm

    below, above = norm.cdf(-epsilon / mu + mu / 2), norm.cdf(-epsilon / mu - mu / 2)
    return float(below - math.exp(epsilon) * above)


def _small(value: float) -> str:
    """0.093, 8.4·10⁻³."""
    if value >= 0.01:
        return f"{value:.2g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}·10{str(int(power)).translate(_DIGITS)}"


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
    """The page with its tables and marked numbers as the rows have them."""
    tables = {"guesses": _guesses, "bounds": _bounds}
    said = {r["attack"]: r["value"] for r in rows if r["unit"] == _FACT}
    at = {(r["attack"], r["unit"], float(r["epsilon"])): r for r in rows if r["unit"] != _FACT}
    text = _BLOCK.sub(lambda found: found[1] + tables[found[2]](at) + found[4], text)
    return _MARK.sub(lambda found: found[1] + said[found[2]] + found[4], text)


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
    attacked = [row for row in stored() if row["unit"] != _FACT]
    if "--measure" in arguments:
        attacked = measured()
    if {"--measure", "--facts"} & set(arguments):
        out = io.StringIO()
        writer = csv.DictWriter(out, [*_COLUMNS], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows([*attacked, *facts()])
        (DOCS / "audit.csv").write_text(out.getvalue(), encoding="utf-8")
    for name in PAGES:
        page = DOCS / name
        page.write_text(filled(page.read_text(encoding="utf-8"), stored()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
