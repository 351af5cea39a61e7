"""The two output distributions of every attack, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from privgmm.audit.verdict import Attack, Row
from privgmm.files import whole_file

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
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower() or "svg", dpi=120)
