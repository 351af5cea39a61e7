"""Section V-B: Iris (figures 7 and 8)."""

from __future__ import annotations

from typing import Any

from privgmm.reproduce.figures import methods
from privgmm.reproduce.figures.data import iris, iris_source
from privgmm.reproduce.harness.drawing import (
    new_figure,
    panel,
    panel_legend,
    print_below,
    styled,
)
from privgmm.reproduce.harness.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.harness.findings import short, yes_if
from privgmm.reproduce.harness.table import FigureTable

_SPECIES = ("setosa", "versicolor", "virginica")
_DRAWN = (methods.RESAMPLED, "colored-gaussian", methods.PUBLISHED, methods.PROVEN)
_SHOWN = 10


def run(study: Study, task: Task) -> list[Row]:
    """Every method on the standardised table."""
    data = iris()
    return [
        row
        for row, _ in methods.rows_of(study, task, methods.case_of(task, data.X, data.y, task.x))
    ]


def run_marginals(study: Study, task: Task) -> list[Row]:
    """The marginals of sepal length."""
    data = iris()
    return methods.marginal_rows(
        study, task, methods.case_of(task, data.X, data.y, task.x), range(1)
    )


def _check_marginals(table: FigureTable) -> tuple[Finding, ...]:
    apart = {
        m: table.mean("distance", method=m)
        for m in (methods.PROVEN, methods.PUBLISHED, *methods.BASELINES)
    }
    text = ", ".join(f"{m} {short(v)}" for m, v in apart.items())
    return (
        Finding("published marginals are nearer to the fit than every baseline's",
                yes_if(all(apart[methods.PUBLISHED] < apart[m] for m in methods.BASELINES)),
                f"mean total variation {text}"),
        Finding("proven marginals are nearer to the fit than the published ones",
                yes_if(apart[methods.PROVEN] < apart[methods.PUBLISHED]),
                f"{short(apart[methods.PROVEN])} against {short(apart[methods.PUBLISHED])}", by="privgmm"),
    )  # fmt: skip


def draw_marginals(experiment: Experiment, table: FigureTable) -> Any:
    """Three panels: sepal length in each species."""
    data = iris()
    with styled():
        figure = new_figure(8.8, 3.2)
        figure.suptitle(experiment.title, x=0.01, ha="left")
        panel_legend(figure, _DRAWN, loc="outside right center")
        shown = min(_SHOWN, table.trials)
        for k, species in enumerate(_SPECIES):
            axes = figure.add_subplot(1, 3, k + 1)
            mine = table.where(class_name=str(k), feature=0)
            panel(axes, data.X[data.y == k, 0], mine, _DRAWN, shown)
            axes.set_title(f"Iris {species}", fontweight="normal")
            axes.set_xlabel("sepal length, standardised")
        figure.axes[0].set_ylabel("density")
        print_below(figure, f"{table.rows[0].data}; {shown} releases of each method")
    return figure


EXPERIMENTS = (
    methods.kl_by_epsilon(
        "iris-epsilon",
        "Iris: KL against the privacy level",
        "The proposed method has a smaller KL than the baselines under the same constraint.",
        {"n": 150, "delta": 1e-5}, iris_source, run,
    ),
    Experiment(
        "iris-marginals",
        "Iris: released marginals of sepal length at ε = 2",
        "The proposed method's marginal densities follow the true values more closely than the "
        "baseline's.",
        Study("iris-marginals", "epsilon", (2,), methods.ALL, {"n": 150, "delta": 1e-5},
              iris_source, run_marginals),
        methods.ALL, _check_marginals, draw_marginals, "privacy level ε", "distance",
    ),
)  # fmt: skip
