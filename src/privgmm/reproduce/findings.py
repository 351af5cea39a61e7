"""Checks on a table: each returns a Finding with the numbers that decide it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privgmm.reproduce.experiment import Finding
from privgmm.reproduce.methods import PROVEN, PUBLISHED
from privgmm.reproduce.table import Table

_HUGE = 1e6  # a ratio to a KL that is zero but for rounding is not worth its digits
WITHOUT_R1SMG = ("laplace", "gaussian", "colored-gaussian")


def short(value: float, digits: int = 3) -> str:
    """A number for a reader: 29.4, 0.032, 1.2e5."""
    if 100 <= abs(value) < 1e4:
        return f"{value:.0f}"
    return f"{value:.{digits}g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def swept(table: Table) -> str:
    """The paper's symbol of what is swept."""
    name = table.rows[0].x_name
    return {"epsilon": "ε", "n": "N", "k": "K"}.get(name, name)


def below_baselines(table: Table, rivals: tuple[str, ...] = WITHOUT_R1SMG) -> Finding:
    """The mean KL of published is below every baseline's at every x.

    The paper leaves R1SMG out of all figures but two, so its claim there is about the other three.
    """
    ratios = {
        (m, x): table.mean(method=PUBLISHED, x=x) / table.mean(method=m, x=x)
        for m in rivals
        for x in table.xs
    }
    ratios = {at: ratio for at, ratio in ratios.items() if np.isfinite(ratio)}
    (method, x), worst = max(ratios.items(), key=lambda item: item[1])
    evidence = f"largest ratio to a baseline {short(worst)}, {method} at {x:g}"
    lost = [f"{m} at {x:g}" for (m, x), ratio in ratios.items() if ratio >= 1]
    if lost:
        evidence += f"; not below {', '.join(lost)}"
    claim = f"published is below {', '.join(rivals)} at every {swept(table)}"
    return Finding(claim, not lost, evidence)


def below_r1smg(table: Table) -> Finding:
    """Not a claim of the paper, which drops R1SMG here: how the two compare."""
    return replace(below_baselines(table, ("r1smg",)), by="privgmm")


def trend(table: Table, direction: str, what: str, method: str = PUBLISHED) -> Finding:
    """The mean falls or rises over the sweep: end against start, and no step against it.

    A step counts against the trend when the next mean leaves the 95 % interval of this one on the
    wrong side, so that sampling noise of heavy-tailed KL does not decide.
    """
    curve = table.curve(method)
    sign = 1 if direction == "rises" else -1
    ends = sign * (curve.mean[-1] - curve.mean[0]) > 0
    edge = curve.low if direction == "rises" else curve.high
    steps = sign * (curve.mean[1:] - edge[:-1]) >= 0
    path = " → ".join(short(v) for v in curve.mean)
    return Finding(f"KL of {method} {direction} {what}", bool(ends and steps.all()), path)


def proven_below_published(table: Table, column: str = "kl") -> Finding:
    """Our own demand: proven is below published at every x; the points where it is not are named."""
    xs = [x for x in table.xs if table.where(method=PROVEN, x=x).values(column).size]
    pairs = [
        (x, table.mean(column, method=PROVEN, x=x), table.mean(column, method=PUBLISHED, x=x))
        for x in xs
    ]
    lost = [f"{x:g} ({short(a)} against {short(b)})" for x, a, b in pairs if not a < b]
    ratios = sorted(b / a for _, a, b in pairs)
    ends = [short(r) if r < _HUGE else f"over {_HUGE:.0e}" for r in (ratios[:1] + ratios[-1:])]
    won = f"published is {' to '.join(ends)} times larger" if pairs else "no numbers"
    return Finding(
        f"proven is below published at every {swept(table)}",
        bool(pairs) and not lost,
        f"not at {', '.join(lost)}" if lost else won,
        by="privgmm",
    )


def kl_findings(table: Table) -> tuple[Finding, ...]:
    """What a KL-against-epsilon figure without R1SMG states, and what we add."""
    return (
        below_baselines(table),
        trend(table, "falls", "in ε"),
        below_r1smg(table),
        proven_below_published(table),
    )
