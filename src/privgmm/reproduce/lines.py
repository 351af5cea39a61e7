"""Line figures: mean over trials against x, with 95 % intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from privgmm.reproduce.experiment import Experiment
from privgmm.reproduce.methods import PROVEN, PUBLISHED
from privgmm.reproduce.style import LOOKS, label, new_figure, styled
from privgmm.reproduce.table import Table

Y_LABELS = {
    "kl": "KL(released ‖ fitted)",
    "kl_unclipped": "KL(released ‖ fit of unclipped rows)",
    "accuracy": "test accuracy",
}
# A sweep whose largest x is this many times its smallest is drawn on a log axis.
_LOG_SPAN = 8
# A smaller KL tells no reader anything; it is drawn here and the small print says so.
KL_FLOOR = 1e-4


def draw_lines(experiment: Experiment, table: Table) -> Any:
    """One panel, one curve a method, legend beside it."""
    with styled():
        figure = new_figure(7.2, 3.7)
        axes = figure.add_subplot()
        curves(axes, table, experiment.methods, experiment.y)
        label_axes(axes, table, experiment.x_label, Y_LABELS[experiment.y])
        if experiment.y.startswith("kl"):
            axes.set_yscale("log")
            ring_lost_points(axes, table, experiment.y)
        headings(figure, axes, experiment, table)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    return figure


def curves(axes: Any, table: Table, methods: tuple[str, ...], column: str) -> None:
    for method in methods:
        curve, look = table.curve(method, column), LOOKS[method]
        if not curve.x.size:
            continue
        floor = KL_FLOOR if column.startswith("kl") else 0.0
        mean, low, high = (np.maximum(v, floor) for v in (curve.mean, curve.low, curve.high))
        style = {"color": look.colour, "lw": look.width, "ls": look.dash}
        axes.fill_between(curve.x, low, high, color=look.colour, alpha=0.16, lw=0)
        axes.plot(curve.x, mean, marker=look.marker, ms=5, label=label(method, column), **style)


def ring_lost_points(axes: Any, table: Table, column: str) -> None:
    """A ring around each point of proven that is not below published."""
    pairs = [
        (x, *(table.mean(column, method=m, x=x) for m in (PROVEN, PUBLISHED))) for x in table.xs
    ]
    lost = [(x, max(mine, KL_FLOOR)) for x, mine, rival in pairs if mine >= rival]
    if lost:
        style = {"ls": "", "marker": "o", "ms": 11, "mfc": "none", "mec": "#000000", "mew": 1.1}
        axes.plot(*zip(*lost, strict=True), label="proven is not below published", **style)


def label_axes(axes: Any, table: Table, x_label: str, y_label: str) -> None:
    xs = table.xs
    if xs[0] > 0 and xs[-1] / xs[0] >= _LOG_SPAN:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)


def headings(figure: Any, axes: Any, experiment: Experiment, table: Table) -> None:
    """Title above, and in small print what the figure was made from."""
    axes.set_title(experiment.title)
    print_below(figure, small_print(table, experiment.y))


def small_print(table: Table, column: str) -> str:
    """Where the rows came from, what was averaged, and what was cut off."""
    text = f"{table.rows[0].data}\nmean of {table.trials} trials, bands: 95 % interval of the mean"
    if column.startswith("kl") and any(
        (table.curve(method, column).low < KL_FLOOR).any() for method in table.methods
    ):
        text += f"; values below {KL_FLOOR:g} are drawn there"
    return text


def print_below(figure: Any, text: str) -> None:
    figure.supxlabel(text, fontsize=7.5, color="#555555", x=0.01, ha="left", linespacing=1.4)
