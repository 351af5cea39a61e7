"""Section V-C: half-day electricity profiles in six K-means classes (figures 9 and 10, Table I).

The paper's 1409 homes are not public. With PRIVGMM_DATA the profiles are 1025 other homes from four
countries; without it a synthetic stand-in. Their K-means classes do not have Table I's sizes, on which the
paper's statement about small classes rests, so ``ami-sizes`` repeats the marginals on classes of those sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privgmm.reproduce.figures.data import ami, ami_source, table_one, table_one_source
from privgmm.reproduce.figures.methods import (
    PROVEN,
    PUBLISHED,
    RESAMPLED,
    case_of,
    kl_by_epsilon,
    marginal_rows,
    rows_of,
)
from privgmm.reproduce.harness.drawing import (
    LOOKS,
    label,
    new_figure,
    panel,
    panel_legend,
    print_below,
    small_print,
    styled,
)
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.harness.findings import short, yes_if
from privgmm.reproduce.harness.table import FigureTable

_DRAWN = (RESAMPLED, PUBLISHED, PROVEN)
_HOURS = 12
_LARGE = 4  # "Classes 1-4"; the two others are the small ones


def run(study: Study, task: Task) -> list[Row]:
    """Every method on the homes."""
    data = ami()
    return [row for row, _ in rows_of(study, task, case_of(task, data.X, data.y, task.x))]


def run_marginals(study: Study, task: Task) -> list[Row]:
    """The marginals of every hour, of the homes or of the table with Table I's class sizes."""
    data = table_one() if study.settings["sizes"] == "Table I" else ami()
    return marginal_rows(study, task, case_of(task, data.X, data.y, task.x), range(_HOURS))


def _by_size(table: FigureTable) -> list[str]:
    """Class names, largest class first."""
    sizes = {r.class_name: r.class_size or 0 for r in table.rows if r.class_name is not None}
    return sorted(sizes, key=lambda name: -sizes[name])


def _check_marginals(table: FigureTable) -> tuple[Finding, ...]:
    """Which classes are small is decided by their order of size; what "closely" means is given in numbers."""
    names = _by_size(table)
    sizes = [int(table.where(class_name=name).values("class_size")[0]) for name in names]
    apart, ours = (
        [table.mean("distance", method=m, class_name=name) for name in names]
        for m in (PUBLISHED, PROVEN)
    )
    text, own = (", ".join(short(v) for v in values) for values in (apart, ours))
    small = table.where(method=PUBLISHED, class_name=names[-1])
    hours = [small.mean("distance", feature=hour) for hour in range(_HOURS)]
    lost = [str(s) for s, a, b in zip(sizes, ours, apart, strict=True) if a >= b]
    return (
        Finding("published follows the fit more closely in each of the four largest classes than in "
                "the two smallest", yes_if(max(apart[:_LARGE]) < min(apart[_LARGE:])),
                f"mean total variation in classes of {', '.join(map(str, sizes))} rows: {text}"),
        Finding("in the smallest class it diverges in some dimensions",
                yes_if(max(hours) > max(apart[:_LARGE])),
                f"by hour, from {short(min(hours))} to {short(max(hours))}; at most "
                f"{short(max(apart[:_LARGE]))} on average in a large class"),
        Finding("proven is nearer to the fit than published in every class", yes_if(not lost),
                f"{own} against {text}" + (f"; not in classes of {', '.join(lost)}" if lost else ""),
                by="privgmm"),
    )  # fmt: skip


def draw_marginals(experiment: Experiment, table: FigureTable) -> Any:
    """A column for each class, largest first, and a row for each hour: one release of each method."""
    data, names = ami(), _by_size(table)
    with styled():
        # Fixed margins: solving the constraints of 72 panels takes longer than the trials.
        figure = new_figure(7.6, 10.6, arranged=False)
        margins = {"left": 0.05, "right": 0.985, "bottom": 0.05, "top": 0.915}
        figure.subplots_adjust(**margins, wspace=0.12, hspace=0.62)
        figure.suptitle(experiment.title, x=0.01, y=0.992, ha="left")
        panel_legend(figure, _DRAWN, loc="upper center", ncols=4,
                     bbox_to_anchor=(0.5, 0.975))  # fmt: skip
        grid = figure.subplots(_HOURS, len(names))
        for c, name in enumerate(names):
            rows = data.y == int(name)
            for hour in range(_HOURS):
                axes = grid[hour, c]
                mine = table.where(class_name=name, feature=hour)
                panel(axes, data.X[rows, hour], mine, _DRAWN, 1)
                axes.tick_params(labelsize=6.5, length=2)
                if c == 0:
                    axes.set_ylabel(f"hour {hour + 1}", fontsize=8)
            grid[0, c].set_title(f"{rows.sum()} homes", fontsize=9, fontweight="normal")
        print_below(figure, f"log consumption; {table.rows[0].data}")
    return figure


def draw_sizes(experiment: Experiment, table: FigureTable) -> Any:
    """The distance of each of the twelve marginals, class by class, largest class first."""
    names = _by_size(table)
    with styled():
        figure = new_figure(7.4, 3.7)
        axes = figure.add_subplot()
        for offset, method in ((-0.14, PUBLISHED), (0.14, PROVEN)):
            look = LOOKS[method]
            for c, name in enumerate(names):
                mine = table.where(method=method, class_name=name)
                values = [mine.mean("distance", feature=hour) for hour in range(_HOURS)]
                axes.plot(
                    np.full(_HOURS, c + offset),
                    values,
                    ls="",
                    marker=look.marker,
                    ms=4,
                    color=look.colour,
                    alpha=0.6,
                    label=label(method) if c == 0 else None,
                )
                axes.hlines(np.mean(values), c + offset - 0.11, c + offset + 0.11,
                            color=look.colour, lw=2)  # fmt: skip
        sizes = [table.where(class_name=name).rows[0].class_size for name in names]
        axes.set_xticks(
            range(len(names)),
            [
                f"class {name}\n{size} rows"
                for name, size in zip([int(n) + 1 for n in names], sizes, strict=True)
            ],
        )
        axes.set_ylabel("total variation from the fit's marginal")
        axes.set_ylim(bottom=0)
        axes.grid(axis="x", visible=False)
        figure.suptitle(experiment.title, x=0.01, ha="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center")
        print_below(
            figure,
            small_print(table, "distance").replace(
                "bands: 95 % interval of the mean", "a mark for each hour, a line for their mean"
            ),
        )
    return figure  # fmt: skip


def _marginals(name: str, source: Any, sizes: str) -> Study:
    return Study(name, "epsilon", (2,), (PROVEN, PUBLISHED, RESAMPLED),
                 {"k": 6, "delta": 1e-5, "sizes": sizes}, source, run_marginals)  # fmt: skip


_DIVERGE = (
    "In classes 1 to 4 the densities closely follow the fit; in the small classes 5 and 6 they "
    "diverge in some dimensions."
)
EXPERIMENTS = (
    kl_by_epsilon(
        "ami-epsilon",
        "Load profiles: KL against the privacy level",
        "The proposed method significantly improves KL over the baselines.",
        {"k": 6, "delta": 1e-5}, ami_source, run,
    ),
    Experiment(
        "ami-marginals",
        "Load profiles: released marginals per hour and class at ε = 2",
        _DIVERGE, _marginals("ami-marginals", ami_source, "K-means"),
        (PROVEN, PUBLISHED, RESAMPLED), _check_marginals, draw_marginals, "privacy level ε",
        "distance",
    ),
    Experiment(
        "ami-sizes",
        "Load profiles: distance of the marginals with the class sizes of Table I, ε = 2",
        f"Table I gives the classes 687, 428, 102, 147, 14 and 31 homes. {_DIVERGE}",
        _marginals("ami-sizes", table_one_source, "Table I"),
        (PROVEN, PUBLISHED, RESAMPLED), _check_marginals, draw_sizes, "privacy level ε",
        "distance",
    ),
)  # fmt: skip
