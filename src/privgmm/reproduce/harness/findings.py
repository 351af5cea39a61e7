"""Checks on a table: each returns a Finding with the numbers that decide it.

KL over data sets has heavy tails: one data set with a class of a few rows can outweigh all others in a mean.
So every check quotes means and medians, trials are compared data set by data set where the sweep
keeps the data sets, and a rank test decides where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.stats import page_trend_test, wilcoxon

from privgmm.reproduce.harness.experiment import Finding, Verdict
from privgmm.reproduce.harness.table import FigureTable, interval
from privgmm.types import Floats

# A larger ratio divides by a KL that is zero up to rounding, so its digits mean nothing.
_HUGE = 1e6
LEVEL = 0.01  # of the rank tests
_LEAST_TRIALS = 5  # a rank test of fewer decides nothing
WITHOUT_R1SMG = ("laplace", "gaussian", "colored-gaussian")


def yes_if(held: bool) -> Verdict:
    """The verdict of a claim that the numbers decide."""
    return "yes" if held else "no"


def short(value: float, digits: int = 3) -> str:
    """A number for a reader: 29.4, 0.032, 1.2e5."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "–"
    if 100 <= abs(value) < 1e4:
        return f"{value:.0f}"
    return f"{value:.{digits}g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def path(values: Sequence[float] | np.ndarray) -> str:
    """Numbers along a sweep."""
    return " → ".join(short(float(v)) for v in values)


def swept(table: FigureTable) -> str:
    """The paper's symbol of what is swept."""
    name = table.rows[0].x_name
    return {"epsilon": "ε", "n": "N", "k": "K"}.get(name, name)


def below_baselines(table: FigureTable, rivals: tuple[str, ...] = WITHOUT_R1SMG) -> Finding:
    """Mean and median KL of published are below every baseline's at every x.

    The paper leaves R1SMG out of all figures but two, so its claim there is about the other three.
    """
    ratios = {
        (m, x): max(
            table.mean(method="published", x=x) / table.mean(method=m, x=x),
            table.median(method="published", x=x) / table.median(method=m, x=x),
        )
        for m in rivals
        for x in table.xs
    }
    ratios = {at: ratio for at, ratio in ratios.items() if np.isfinite(ratio)}
    (rival, x), worst = max(ratios.items(), key=lambda item: item[1])
    evidence = f"largest ratio to a baseline {short(worst)}, {rival} at {x:g}"
    lost = [f"{m} at {x:g}" for (m, x), ratio in ratios.items() if ratio >= 1]
    if lost:
        evidence += f"; not below {', '.join(lost)}"
    claim = f"published is below {', '.join(rivals)} at every {swept(table)}"
    return Finding(claim, yes_if(not lost), evidence)


def trend(
    table: FigureTable,
    direction: str,
    what: str,
    method: str = "published",
    same_data: bool = False,
) -> Finding:
    """KL falls or rises over the sweep.

    With ``same_data`` the sweep keeps each trial's data set and KL is an expectation, so there is no noise
    to excuse a step: mean and median must move in the direction at every one. Otherwise each x has
    its own data sets, and ranks decide: Page's test for the trend over the sweep, and no single step
    against it by Wilcoxon's test (level 0.01, divided by the number of steps).
    """
    values = table.matrix(method)
    mean, median = values.mean(axis=0), np.median(values, axis=0)
    sign = 1 if direction == "rises" else -1
    text = f"mean {path(mean)}; median {path(median)}"
    claim = f"KL of {method} {direction} {what}"
    if same_data:
        steps = np.concatenate([sign * np.diff(mean), sign * np.diff(median)])
        return Finding(claim, yes_if(bool(steps.size and (steps > 0).all())), text)
    verdict, words = _ranked(sign * values)
    return Finding(claim, verdict, f"{text}; {words}")


def _ranked(values: np.ndarray) -> tuple[Verdict, str]:
    """Whether the columns of ``values`` rise, by ranks within each row."""
    trials, points = values.shape
    if trials < _LEAST_TRIALS or points < 3:
        return "open", f"{trials} trials at {points} points decide nothing"
    along, against = (
        float(page_trend_test(v, method="asymptotic").pvalue) for v in (values, -values)
    )
    back, _ = sides(np.diff(values, axis=1))
    words = f"Page's trend test p = {along:.1g}"
    if against < LEVEL or min(back) < LEVEL / len(back):
        return "no", f"{words}, a step against it p = {min(back):.1g}"
    return ("yes" if along < LEVEL else "open"), words


def trends(
    table: FigureTable, direction: str, what: str, methods: Sequence[str], same_data: bool = False
) -> Finding:
    """``trend`` for several methods in one finding, which holds if it holds for each."""
    found = {
        m: trend(table, direction, what, m, same_data) for m in methods if table.matrix(m).size
    }
    verdict = all_of(f.verdict for f in found.values())
    evidence = "; ".join(
        f"{m} median {path(np.median(table.matrix(m), axis=0))}"
        + ("" if f.verdict == "yes" else f" ({f.verdict})")
        for m, f in found.items()
    )
    return Finding(f"KL of {', '.join(found)} {direction} {what}", verdict, evidence)


def sides(apart: Floats) -> tuple[list[float], list[float]]:
    """p-values, for each column, of lying below zero and of lying above it: Wilcoxon's signed-rank test."""
    less, greater = (
        [float(wilcoxon(column, alternative=side).pvalue) for column in apart.T]
        for side in ("less", "greater")
    )
    return less, greater


def below(mine: Floats, rival: Floats | float) -> Verdict:
    """Whether ``mine`` (trials, points) is below ``rival`` at every point, by ranks over the data sets.

    The test is of the log ratios. "yes" if every point is below at level 0.01, which is then also the
    level of the whole (an intersection-union test); "no" if some point is above at 0.01 divided by the
    number of points; else the trials do not decide.
    """
    if mine.shape[0] < _LEAST_TRIALS:
        return "open"
    less, greater = sides(np.log(mine) - np.log(rival))
    if max(less) < LEVEL:
        return "yes"
    return "no" if min(greater) < LEVEL / len(greater) else "open"


def beyond(values: Floats, bound: float, side: Literal["below", "above"]) -> Verdict:
    """Whether KL is on one side of a stated number at every point: by ranks, and in the mean.

    The paper states numbers of means, and the mean of a heavy-tailed quantity is uncertain: "yes" also needs the
    bootstrap limit of the mean (level 0.01 at each point) to be on that side.
    """
    ranks = below(values, bound) if side == "below" else below(1 / values, 1 / bound)
    spans = [interval(column, 1 - 2 * LEVEL) for column in values.T]
    sure = all(high < bound if side == "below" else low > bound for low, high in spans)
    return "open" if ranks == "yes" and not sure else ranks


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim that is made of several."""
    found = set(verdicts)
    return "no" if "no" in found else "open" if "open" in found else "yes"


def by_reading(claim: str, readings: Mapping[str, tuple[Verdict, str]]) -> Finding:
    """The finding of a claim that can be read in several ways, with the verdict and the numbers of each reading.

    Its verdict is "depends" if it holds under one reading and fails under another.
    """
    listed = tuple((name, found, numbers) for name, (found, numbers) in readings.items())
    told: dict[Verdict, str] = {"yes": "with", "no": "not with", "open": "not decided with"}
    names = {v: [name for name, found, _ in listed if found == v] for v in told}
    if len(names["yes"]) == len(listed):
        return Finding(claim, "yes", "under every reading", readings=listed)
    if len(names["no"]) == len(listed):
        return Finding(claim, "no", "under no reading", readings=listed)
    quoted = {v: ", ".join(f"“{name}”" for name in found) for v, found in names.items()}
    text = "; ".join(f"{told[v]} {listing}" for v, listing in quoted.items() if listing)
    verdict: Verdict = "depends" if names["yes"] and names["no"] else "open"
    return Finding(claim, verdict, text, readings=listed)


def proven_below_published(table: FigureTable) -> Finding:
    """What this package demands: mean KL of proven is below that of published at every x; points where it is not are named."""
    xs = [x for x in table.xs if table.where(method="proven", x=x).values("kl").size]
    pairs = [(x, *(table.mean("kl", method=m, x=x) for m in ("proven", "published"))) for x in xs]
    lost = [f"{x:g} ({short(a)} against {short(b)})" for x, a, b in pairs if not a < b]
    ratios = sorted(b / a if a > 0 else np.inf for _, a, b in pairs)
    ends = [short(r) if r < _HUGE else f"over {_HUGE:.0e}" for r in (ratios[:1] + ratios[-1:])]
    won = f"published is {' to '.join(ends)} times larger" if pairs else "no numbers"
    return Finding(
        f"proven is below published at every {swept(table)}",
        yes_if(bool(pairs) and not lost),
        f"not at {', '.join(lost)}" if lost else won,
        by="privgmm",
    )


def kl_findings(table: FigureTable) -> tuple[Finding, ...]:
    """What the paper states of a KL figure of its real data sets, and what we add."""
    return below_baselines(table), proven_below_published(table)
