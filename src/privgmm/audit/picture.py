"""Pictures: the two output distributions of every attack; how often attackers guess right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privgmm.audit.success import Success
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
    figure = Figure(figsize=(4.2 * columns, 2.6 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel, attack, row in zip(panels, attacks, rows, strict=False):
        both = np.concatenate([attack.low, attack.high])
        # Heavy tails would squeeze the middle into one bin.
        left, right = np.quantile(both, [0.002, 0.998])
        edges = np.linspace(left, right, 60)
        for scores, colour, name in (
            (attack.low, _FIRST, "on D"),
            (attack.high, _SECOND, "on D'"),
        ):
            panel.hist(scores, np.unique(edges), color=colour, alpha=0.5, label=name)
        verdict = "REFUTED" if row.refuted else "not refuted"
        panel.set_title(
            f"{row.query}\nepsilon >= {row.epsilon_lower:.2f}, claimed {row.epsilon_claimed:g}: {verdict}",
            fontsize=8,
        )
        panel.set(yticks=[], xlabel="score")
        panel.spines[["top", "right", "left"]].set_visible(False)
    for panel in panels[len(rows) :]:
        panel.set_visible(False)
    panels[0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def write_successes(guesses: Sequence[Success], path: Path) -> None:
    """Write the share of right guesses of every attacker, its interval, and the ceiling."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 0.9 + 0.42 * len(guesses)), layout="constrained")
    panel = figure.subplots()
    at = np.arange(len(guesses))[::-1]
    rates = [guess.accuracy for guess in guesses]
    for y, guess, rate in zip(at, guesses, rates, strict=True):
        colour = _SECOND if guess.broken else _FIRST
        panel.plot([rate.low, rate.high], [y, y], color=colour, lw=2, solid_capstyle="butt")
        panel.plot(rate.value, y, "o", color=colour, ms=5)
    ceiling = rates[0].ceiling
    panel.axvline(0.5, color="0.6", lw=0.8, ls=":")
    panel.axvline(ceiling, color="0.2", lw=1)
    panel.annotate(
        f"ceiling {ceiling:.3f}", (ceiling, 1), (3, 2), xycoords=("data", "axes fraction"),
        textcoords="offset points", fontsize=8, color="0.2",
    )  # fmt: skip
    panel.set_yticks(at, [f"{g.query}\n{g.attacker}: {g.neighbours}" for g in guesses], fontsize=7)
    panel.set_xlabel(f"share of right guesses (one half is luck), epsilon {guesses[0].epsilon:g}")
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower() or "svg", dpi=120)
