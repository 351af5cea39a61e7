"""Forecasts as a picture: how far off a mean is, KL and accuracy against epsilon, one line per table size."""

from __future__ import annotations

from pathlib import Path

from privgmm.files import whole_file
from privgmm.plan.rehearsal import Forecast

# Okabe and Ito's palette, safe for colour-blind readers.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def write_chart(rows: list[Forecast], path: Path, target_kl: float | None = None) -> None:
    """Write the chart as .svg, .png or .pdf, by the name's ending."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(13, 3.8), layout="constrained")
    off, left, right = figure.subplots(1, 3)
    for index, n in enumerate(sorted({row.n for row in rows})):
        of_size = sorted((row for row in rows if row.n == n), key=lambda r: r.epsilon)
        epsilons = [row.epsilon for row in of_size]
        style = {"color": _COLOURS[index % len(_COLOURS)], "marker": "o", "label": f"n = {n:,}"}
        off.plot(epsilons, [row.mean.typical for row in of_size], **style)
        off.fill_between(
            epsilons,
            [row.mean.typical for row in of_size],
            [row.mean.most for row in of_size],
            color=style["color"],
            alpha=0.15,
            linewidth=0,
        )
        left.plot(epsilons, [row.kl_mean for row in of_size], **style)
        right.plot(epsilons, [row.accuracy for row in of_size], **style)
        right.axhline(
            of_size[0].accuracy_without_privacy, color=style["color"], linewidth=0.8, linestyle=":"
        )
    if target_kl is not None:
        left.axhline(target_kl, color="0.4", linestyle="--", linewidth=1)
        left.annotate(
            "target",
            (1, target_kl),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
        )
    off.set(
        xscale="log",
        yscale="log",
        xlabel="epsilon",
        ylabel="a mean is off by (standard deviations)",
        title="typical; shaded: up to nine in ten",
    )
    left.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="expected KL(released || fitted)")
    right.set(xscale="log", xlabel="epsilon", ylabel="accuracy (dotted: without privacy)")
    off.legend(frameon=False)
    for axes in (off, left):
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
    for axes in (off, left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(sorted({row.epsilon for row in rows}))
        axes.xaxis.set_major_formatter("{x:g}")
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".").lower() or "svg", dpi=150)
