"""How often an attacker guesses right, and how often any attacker could at most; and pictures of an audit.

The attacker is shown an output of D or of D' (a fair coin decides) and says which. Ceilings are
those of the trade-off function: mu-GDP (Dong, Roth, Su 2022) or (epsilon, delta)-DP (Kairouz et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from privgmm.audit.verdict import (
    CONFIDENCE,
    Attack,
    AuditLine,
    binomial_lower,
    binomial_upper,
    thresholds,
)
from privgmm.files import whole_file
from privgmm.privacy import mu_from_epsilon
from privgmm.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Okabe and Ito's palette, safe for colour-blind readers.
_FIRST, _SECOND = "#0072B2", "#D55E00"


FALSE_ALARMS = (1e-2, 1e-3)


@dataclass(frozen=True)
class Rate:
    """A measured probability with its Clopper-Pearson interval, and what no attack may exceed.

    ``limit`` is the ceiling plus what may be chance: the rate of false alarms is itself estimated from the runs.
    """

    value: float
    low: float
    high: float
    ceiling: float
    limit: float

    @property
    def broken(self) -> bool:
        """Whether attackers were right significantly more often than the guarantee allows."""
        return self.low > self.limit

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.__dict__, "broken": self.broken}


@dataclass(frozen=True)
class Success:
    """One line of the table of attacks. ``hits``: the share of true alarms, by the allowed share of false ones."""

    query: str
    attacker: str
    neighbours: str
    trials: int
    epsilon: float
    delta: float
    accuracy: Rate
    hits: dict[float, Rate]

    @property
    def broken(self) -> bool:
        """Some rate is above its ceiling with the stated confidence: the claim is false."""
        return self.accuracy.broken or any(rate.broken for rate in self.hits.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "query": self.query,
            "attacker": self.attacker,
            "neighbours": self.neighbours,
            "trials": self.trials,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "accuracy": self.accuracy.as_dict(),
            "hits": {f"{alarm:g}": rate.as_dict() for alarm, rate in self.hits.items()},
            "broken": self.broken,
        }


def most_hits(false_alarms: float | Floats, epsilon: float, delta: float, gaussian: bool) -> Floats:
    """The largest probability of a true alarm at each of these probabilities of a false one."""
    alarms = np.asarray(false_alarms, dtype=np.float64)
    if gaussian:
        return np.asarray(ndtr(mu_from_epsilon(epsilon, delta) + ndtri(alarms)))
    grown = math.exp(min(epsilon, 700.0))
    line = np.minimum(grown * alarms + delta, 1 - (1 - delta - alarms) / grown)
    return np.minimum(line, 1.0)


def best_accuracy(epsilon: float, delta: float, gaussian: bool) -> float:
    """The largest probability of a right guess between two equally likely tables."""
    if gaussian:
        return float(ndtr(mu_from_epsilon(epsilon, delta) / 2))
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def successes(attacks: Sequence[Attack], epsilon: float, delta: float) -> list[Success]:
    """How often each attack is right. Its threshold is chosen on one half of the runs and judged on the other.

    All intervals hold together with probability CONFIDENCE (Bonferroni).
    """
    alpha = (1 - CONFIDENCE) / max(len(attacks) * (1 + len(FALSE_ALARMS)), 1)
    return [_success(attack, epsilon, delta, alpha) for attack in attacks]


def _success(attack: Attack, epsilon: float, delta: float, alpha: float) -> Success:
    half = min(attack.low.size, attack.high.size) // 2
    # Whether large scores speak for D or for D' is learnt from the first half too.
    upward = np.mean(attack.high[:half]) >= np.mean(attack.low[:half])
    low, high = (side if upward else -side for side in (attack.low, attack.high))
    chosen, rest = (low[:half], high[:half]), (low[half : 2 * half], high[half : 2 * half])
    hits = {}
    for alarms in FALSE_ALARMS:
        if alarms * half >= 1:
            at = float(np.sort(chosen[0])[-math.floor(alarms * half) - 1])
            claim = alarms, epsilon, delta, attack.gaussian
            hits[alarms] = _hits(*rest, at, alpha, claim)
    accuracy = _accuracy(
        *rest, _best_threshold(*chosen), alpha, best_accuracy(epsilon, delta, attack.gaussian)
    )
    return Success(
        attack.query,
        attack.attacker,
        attack.neighbours,
        2 * half,
        epsilon,
        delta,
        accuracy,
        hits,
    )


def _best_threshold(low: Floats, high: Floats) -> float:
    a, b = np.sort(high), np.sort(low)
    at = thresholds(a, b)
    gain = np.searchsorted(b, at, side="right") - np.searchsorted(a, at, side="right")
    return float(at[gain.argmax()])


def _accuracy(low: Floats, high: Floats, at: float, alpha: float, ceiling: float) -> Rate:
    n = low.size
    right = int((high > at).sum()), int((low <= at).sum())
    lower = sum(float(binomial_lower(k, n, alpha / 4)) for k in right) / 2
    upper = sum(float(binomial_upper(k, n, alpha / 4)) for k in right) / 2
    return Rate(sum(right) / (2 * n), lower, upper, ceiling, ceiling)


def _hits(
    low: Floats, high: Floats, at: float, alpha: float, claim: tuple[float, float, float, bool]
) -> Rate:
    n = low.size
    true, false = int((high > at).sum()), int((low > at).sum())
    most = float(binomial_upper(false, n, alpha / 2))
    lower, upper = binomial_lower(true, n, alpha / 4), binomial_upper(true, n, alpha / 4)
    return Rate(
        true / n,
        float(lower),
        float(upper),
        float(most_hits(*claim)),
        float(most_hits(most, *claim[1:])),
    )


def write_picture(attacks: Sequence[Attack], rows: Sequence[AuditLine], path: Path) -> None:
    """Write histograms of the scores as .svg, .png or .pdf, by the name's ending."""
    from matplotlib.figure import Figure

    columns = min(3, len(rows))
    lines = math.ceil(len(rows) / columns)
    figure = Figure(figsize=(4.6 * columns, 2.7 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, attack, row in zip(panels, attacks, rows, strict=False):
        both = np.concatenate([attack.low, attack.high])
        # Heavy tails would squeeze the middle into one bin.
        left, right = np.quantile(both, [0.002, 0.998])
        edges = np.linspace(left, right, min(60, 4 + math.isqrt(both.size)))
        for scores, colour, name in (
            (attack.low, _FIRST, "on D"),
            (attack.high, _SECOND, "on D'"),
        ):
            panel.hist(scores, np.unique(edges), color=colour, alpha=0.5, label=name)
        verdict = "REFUTED" if row.refuted else "not refuted"
        panel.set_title(
            f"{row.query}\n{row.neighbours}\nepsilon >= {row.epsilon_lower:.2f}, claimed {row.epsilon_claimed:g}: {verdict}",
            fontsize=8,
        )
        panel.set(yticks=[], xlabel="score")
        panel.spines[["top", "right", "left"]].set_visible(False)
    for panel in panels[len(rows) :]:
        panel.set_visible(False)
    panels[0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def write_successes(guesses: Sequence[Success], path: Path) -> None:
    """Write how often every attacker is right, with intervals, beside the ceilings that the claim sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 1.1 + 0.42 * len(guesses)), layout="constrained")
    right, hits = figure.subplots(1, 2, sharey=True)
    at = np.arange(len(guesses))[::-1]
    alarms = FALSE_ALARMS[0]
    for y, guess in zip(at, guesses, strict=True):
        for panel, rate in ((right, guess.accuracy), (hits, guess.hits.get(alarms))):
            if rate is not None:
                colour = _SECOND if rate.broken else _FIRST
                panel.plot([rate.low, rate.high], [y, y], color=colour, lw=2)
                panel.plot(rate.value, y, "o", color=colour, ms=5)
    for panel, luck, ceilings in (
        (right, 0.5, {guess.accuracy.ceiling for guess in guesses}),
        (hits, alarms, {g.hits[alarms].ceiling for g in guesses if alarms in g.hits}),
    ):
        panel.axvline(luck, color="0.6", lw=0.8, ls=":")
        for ceiling in ceilings:
            panel.axvline(ceiling, color="0.2", lw=1)
        panel.tick_params(axis="y", length=0)
        panel.spines[["top", "right", "left"]].set_visible(False)
    right.set_yticks(at, [f"{g.query}\n{g.attacker}: {g.neighbours}" for g in guesses], fontsize=7)
    right.set_xlabel("share of right guesses")
    hits.set_xlabel(f"share of true alarms at {alarms:g} false ones")
    figure.suptitle(
        f"epsilon {guesses[0].epsilon:g}; dotted: luck, line: ceiling, orange: surely above it",
        fontsize=9,
    )
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower() or "svg", dpi=120)
