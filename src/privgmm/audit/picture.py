"""Pictures of an audit: the two distributions of scores of every attack, and how often attackers guess right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privgmm.audit.success import FALSE_ALARMS, Success
from privgmm.audit.verdict import Attack, Row
from privgmm.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, safe for colour-blind readers.
_FIRST, _SECOND = "#0072B2", "#D55E00"


def write_picture(attacks: Sequence[Attack], rows: Sequence[Row], path: Path) -> None:
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
