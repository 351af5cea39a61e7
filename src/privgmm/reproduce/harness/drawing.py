"""The look of all figures: line figures with intervals, panels of densities, and saving them.

Okabe-Ito colours (safe for colour-blind readers), one marker a method; no window, no global state.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from scipy.stats import norm

from privgmm.files import whole_file
from privgmm.reproduce.harness.experiment import Experiment
from privgmm.reproduce.harness.table import FigureTable
from privgmm.types import Floats


@dataclass(frozen=True)
class Look:
    """How a method is drawn, and its name in a legend."""

    label: str
    colour: str
    marker: str
    width: float = 1.4
    dash: str = "-"


LOOKS = {
    "proven": Look("proven (this package)", "#0072B2", "o", 2.2),
    "published": Look("published (the paper)", "#D55E00", "s", 2.2),
    "published-departures": Look("published, departures only", "#D55E00", "X", 1.4, "--"),
    "published-joint": Look("published, solved jointly", "#D55E00", "", 1.2, ":"),
    "published-departures-joint": Look("published, departures, jointly", "#D55E00", "x", 1.2, ":"),
    "published-scalable": Look("published, scalable (eqr5)", "#D55E00", "d", 1.2, "-."),
    "published-8B": Look("published, 8B as printed", "#D55E00", "X", 1.4, "--"),
    "published-shaped": Look("published, shapes before clipping", "#D55E00", "", 1.2, ":"),
    "laplace": Look("i.i.d. Laplace", "#8C8C8C", "v"),
    "gaussian": Look("i.i.d. Gaussian", "#E69F00", "^"),
    "colored-gaussian": Look("colored Gaussian", "#009E73", "D"),
    "r1smg": Look("R1SMG", "#CC79A7", "P"),
    "r1smg-l2": Look("R1SMG, L2 sensitivity", "#CC79A7", "p", 1.4, "--"),
    "non-private": Look("no privacy: refit of fresh rows", "#000000", "", 1.2, "--"),
}

Y_LABELS = {
    "kl": "KL(released ‖ fitted)",
    "kl_unclipped": "KL(released ‖ fit of unclipped rows)",
    "accuracy": "test accuracy",
    "distance": "total variation of a marginal",
}
# A sweep whose largest x is this many times its smallest is drawn on a log axis.
_LOG_SPAN = 8
# A smaller KL makes no difference to a reader; it is drawn at this height, and the small print says so.
KL_FLOOR = 1e-4
# A method that is this many times above all others would flatten their curves; it is named and not drawn.
_OFF_AXIS = 100.0
_BINS = 14
# KL is skewed over data sets: open marks show the median of these beside the mean.
_WITH_MEDIAN = ("proven", "published")

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.titlesize": 10,
    "figure.titleweight": "bold",
    "svg.hashsalt": "privgmm",  # the same table gives the same bytes
    "figure.facecolor": "white",
}


def styled() -> Any:
    """The house style as a context, for code that adds axes and text."""
    return matplotlib.rc_context(_RC)


def new_figure(width: float, height: float, arranged: bool = True) -> Any:
    """An empty figure in the house style."""
    with styled():
        return Figure(figsize=(width, height), layout="constrained" if arranged else None)


def save_figure(figure: Any, stem: Path) -> None:
    """Write ``stem.svg`` and ``stem.png``."""
    with styled():
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
            with whole_file(stem.with_suffix(f".{kind}")) as path:
                path.write_bytes(buffer.getvalue())


def label(method: str, column: str = "kl") -> str:
    """The name in a legend; an accuracy's reference is the fit itself and not its refit."""
    if method == "non-private" and column.startswith("accuracy"):
        return "no privacy: the fit itself"
    return LOOKS[method].label if method in LOOKS else method


def draw_lines(experiment: Experiment, table: FigureTable, omitted: Sequence[str] = ()) -> Any:
    """One panel, one curve a method, legend beside it; ``omitted`` are named instead of drawn."""
    with styled():
        figure = new_figure(7.4, 3.9)
        axes = figure.add_subplot()
        column = experiment.y
        off = off_axis(table, experiment.methods, column, omitted)
        shown = tuple(m for m in experiment.methods if m not in off)
        curves(axes, table, shown, column)
        label_axes(axes, table, experiment.x_label, Y_LABELS[column])
        if column.startswith("kl"):
            axes.set_yscale("log")
            ring_lost_points(axes, table, column)
        figure.suptitle(experiment.title, x=0.01, ha="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
        print_below(figure, "\n".join([small_print(table, column), *off.values()]))
    return figure


def draw_pair(
    experiment: Experiment,
    table: FigureTable,
    columns: tuple[str, str],
    titles: tuple[str, str] | None,
) -> Any:
    """Two panels of the same methods, one column each; under ``titles`` they share an axis of KL."""
    with styled():
        figure = new_figure(9.6, 3.9)
        figure.suptitle(experiment.title, x=0.01, ha="left")
        panels = figure.subplots(1, 2, sharey=titles is not None)
        named: dict[str, Any] = {}
        for i, (axes, column) in enumerate(zip(panels, columns, strict=True)):
            curves(axes, table, experiment.methods, column)
            heading = Y_LABELS[column] if titles is None else "KL divergence"
            label_axes(axes, table, experiment.x_label, heading)
            if column.startswith("kl"):
                axes.set_yscale("log")
                ring_lost_points(axes, table, column)
            if titles is not None:
                axes.set_title(titles[i], fontweight="normal")
            handles, names = axes.get_legend_handles_labels()
            named |= {name: h for name, h in zip(names, handles, strict=True) if name not in named}
        refit, fit = (label("non-private", column) for column in columns)
        if refit != fit:  # one line, whose meaning differs between the panels
            named = {f"{refit}\n(right: the fit itself)" if n == refit else n: h
                     for n, h in named.items() if n != fit}  # fmt: skip
        figure.legend(list(named.values()), list(named), loc="outside right center")
        print_below(figure, small_print(table, columns[0]))
    return figure


def off_axis(
    table: FigureTable, methods: Sequence[str], column: str, omitted: Sequence[str] = ()
) -> dict[str, str]:
    """Methods that are not drawn, because they would stretch the axis or were asked to be omitted, each with its numbers in words."""
    if not column.startswith("kl"):
        return {}
    spans = {m: table.curve(m, column).mean for m in methods}
    spans = {m: mean for m, mean in spans.items() if mean.size}
    off = [m for m in omitted if m in spans]
    for method in sorted(spans, key=lambda m: -float(spans[m].min())):
        rest = [mean.max() for m, mean in spans.items() if m != method and m not in off]
        if method in off:
            continue
        if not rest or spans[method].min() < _OFF_AXIS * max(rest):
            break
        off.append(method)
    return {
        m: f"{label(m)} lies above the axis: {spans[m].min():.1e} to {spans[m].max():.1e}"
        for m in off
    }


def curves(axes: Any, table: FigureTable, methods: Sequence[str], column: str) -> None:
    """Mean over trials with its 95 % interval, one line a method."""
    for method in methods:
        curve, look = table.curve(method, column), LOOKS[method]
        if not curve.x.size:
            continue
        floor = KL_FLOOR if column.startswith("kl") else 0.0
        mean, low, high = (np.maximum(v, floor) for v in (curve.mean, curve.low, curve.high))
        style = {"color": look.colour, "lw": look.width, "ls": look.dash}
        if method in ("proven", "published", "non-private"):  # more bands would hide one another
            axes.fill_between(curve.x, low, high, color=look.colour, alpha=0.16, lw=0)
        axes.plot(curve.x, mean, marker=look.marker, ms=5, label=label(method, column), **style)
        if method in _WITH_MEDIAN and column.startswith("kl"):
            median = np.maximum(curve.median, floor)
            axes.plot(
                curve.x, median, ls="", marker=look.marker, ms=5, mfc="white", mec=look.colour
            )


def ring_lost_points(axes: Any, table: FigureTable, column: str) -> None:
    """A ring around each point of proven that is not below published."""
    pairs = [
        (x, *(table.mean(column, method=m, x=x) for m in ("proven", "published"))) for x in table.xs
    ]
    lost = [(x, max(mine, KL_FLOOR)) for x, mine, rival in pairs if mine >= rival]
    if lost:
        style = {"ls": "", "marker": "o", "ms": 11, "mfc": "none", "mec": "#000000", "mew": 1.1}
        axes.plot(*zip(*lost, strict=True), label="proven is not below published", **style)


def label_axes(axes: Any, table: FigureTable, x_label: str, y_label: str) -> None:
    """A tick at every point of the sweep; a log axis where the sweep is wide."""
    xs = table.xs
    if xs[0] > 0 and xs[-1] / xs[0] >= _LOG_SPAN:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)


def small_print(table: FigureTable, column: str) -> str:
    """Where the rows came from, what was averaged, and what was cut off."""
    text = (
        f"{table.rows[0].data}\nmean of {table.trials} trials, bands: 95 % interval of the mean; "
        "published and baselines: expectation over the noise"
    )
    if column.startswith("kl"):
        text += "\nopen marks: median over trials"
    if column.startswith("kl") and any(
        (table.curve(method, column).low < KL_FLOOR).any() for method in table.methods
    ):
        text += f"; values below {KL_FLOOR:g} are drawn there"
    return text


def print_below(figure: Any, text: str) -> None:
    """Small print under the figure."""
    figure.supxlabel(text, fontsize=7.5, color="#555555", x=0.01, ha="left", linespacing=1.4)


def panel(
    axes: Any, values: Floats, table: FigureTable, methods: tuple[str, ...], shown: int
) -> None:
    """Histogram of the true values, the fit's density, and ``shown`` released densities a method."""
    axes.hist(values, bins=_BINS, density=True, color="#D0D0D0", lw=0)
    top = axes.get_ylim()[1]
    middle, spread = values.mean(), values.std()
    low, high = middle - 4.5 * spread, middle + 4.5 * spread
    grid = np.linspace(low, high, 241)
    for method in methods:
        look, fit = LOOKS[method], method == "non-private"
        mine = [r for r in table.where(method=method).rows if r.trial < shown]
        for row in mine[:1] if fit else mine:
            if row.mean is None or row.sd is None:
                continue
            density = norm.pdf(grid, row.mean, row.sd)
            top = max(top, density.max()) if fit else top
            axes.plot(
                grid, density, color=look.colour, ls=look.dash, zorder=3 if fit else 2,
                lw=1.1 if fit or shown == 1 else 0.9, alpha=1.0 if fit or shown == 1 else 0.55,
            )  # fmt: skip
    axes.set_xlim(low, high)
    # A released density that is far too narrow is cut off rather than flattening the histogram.
    axes.set_ylim(0, 1.12 * top)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.grid(False)


def panel_legend(figure: Any, methods: tuple[str, ...], **place: Any) -> None:
    """One legend for a grid of panels."""
    names = {"non-private": "fit without privacy"} | {m: m for m in ("proven", "published")}
    handles: list[Any] = [Patch(color="#D0D0D0", label="true values")]
    handles += [
        Line2D([], [], color=LOOKS[m].colour, ls=LOOKS[m].dash, lw=1.6,
               label=names.get(m, LOOKS[m].label))
        for m in methods
    ]  # fmt: skip
    figure.legend(handles=handles, **place)
