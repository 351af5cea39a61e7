"""Drawing marginal densities: one panel, and the legend of a grid of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from privgmm.model.mixture import Floats
from privgmm.reproduce.methods import RESAMPLED
from privgmm.reproduce.style import LOOKS
from privgmm.reproduce.table import Table

_BINS = 14


def panel(axes: Any, values: Floats, table: Table, methods: tuple[str, ...], shown: int) -> None:
    """Histogram of the true values, the fit's density, and ``shown`` released densities a method."""
    from matplotlib.ticker import MaxNLocator

    axes.hist(values, bins=_BINS, density=True, color="#D0D0D0", lw=0)
    top = axes.get_ylim()[1]
    middle, spread = values.mean(), values.std()
    low, high = middle - 4.5 * spread, middle + 4.5 * spread
    grid = np.linspace(low, high, 241)
    for method in methods:
        mine, look = table.where(method=method), LOOKS[method]
        for i, row in enumerate(r for r in mine.rows if r.trial < shown and r.mean is not None):
            if row.mean is None or row.sd is None or (method == RESAMPLED and i):
                continue
            density = norm.pdf(grid, row.mean, row.sd)
            top = max(top, density.max()) if method == RESAMPLED else top
            axes.plot(
                grid, density, color=look.colour, ls=look.dash,
                lw=1.1 if method == RESAMPLED or shown == 1 else 0.9,
                alpha=1.0 if method == RESAMPLED or shown == 1 else 0.55,
                zorder=3 if method == RESAMPLED else 2,
            )  # fmt: skip
    axes.set_xlim(low, high)
    # A released density that is far too narrow is cut off rather than flattening the histogram.
    axes.set_ylim(0, 1.12 * top)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(False)


def legend(figure: Any, methods: tuple[str, ...], loc: str = "outside upper center") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = {RESAMPLED: "fit without privacy"} | {m: m for m in ("proven", "published")}
    handles: list[Any] = [Patch(color="#D0D0D0", label="true values")]
    handles += [
        Line2D([], [], color=LOOKS[m].colour, ls=LOOKS[m].dash, lw=1.6,
               label=names.get(m, LOOKS[m].label))
        for m in methods
    ]  # fmt: skip
    figure.legend(handles=handles, loc=loc, ncols=len(handles))
