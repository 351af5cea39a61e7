"""Section V-B: Iris (figures 7 and 8)."""

from __future__ import annotations

from typing import Any

from privgmm.reproduce.data import iris, iris_source
from privgmm.reproduce.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.findings import kl_findings, short
from privgmm.reproduce.lines import draw_lines, print_below
from privgmm.reproduce.marginals import marginal_rows, mean_distance
from privgmm.reproduce.methods import ALL, BASELINES, PROVEN, PUBLISHED, RESAMPLED
from privgmm.reproduce.panels import legend, panel
from privgmm.reproduce.style import new_figure, styled
from privgmm.reproduce.sweep import kl_rows
from privgmm.reproduce.table import Table

_SPECIES = ("setosa", "versicolor", "virginica")
_DRAWN = (RESAMPLED, "colored-gaussian", PUBLISHED, PROVEN)
_SHOWN = 10


def run(study: Study, task: Task) -> list[Row]:
    data = iris()
    return [row for row, _ in kl_rows(study, task, data.X, data.y, task.x)]


def run_marginals(study: Study, task: Task) -> list[Row]:
    data = iris()
    return marginal_rows(study, task, data.X, data.y, range(1))


def _check_marginals(table: Table) -> tuple[Finding, ...]:
    apart = {m: mean_distance(table, m) for m in (PROVEN, PUBLISHED, *BASELINES)}
    text = ", ".join(f"{m} {short(v)}" for m, v in apart.items())
    nearer = all(apart[PUBLISHED] < apart[m] for m in BASELINES)
    return (
        Finding("published marginals are nearer to the fit than the baselines'", nearer,
                f"mean total variation {text}"),
        Finding("proven marginals are nearer to the fit than the published ones",
                apart[PROVEN] < apart[PUBLISHED],
                f"{short(apart[PROVEN])} against {short(apart[PUBLISHED])}", by="privgmm"),
    )  # fmt: skip


def draw_marginals(experiment: Experiment, table: Table) -> Any:
    """Three panels: sepal length in each species."""
    data = iris()
    with styled():
        figure = new_figure(7.6, 3.1)
        legend(figure, _DRAWN)
        for k, species in enumerate(_SPECIES):
            axes = figure.add_subplot(1, 3, k + 1)
            mine = table.where(class_name=str(k), feature=0)
            panel(axes, data.X[data.y == k, 0], mine, _DRAWN, min(_SHOWN, table.trials))
            axes.set_title(f"Iris {species}")
            axes.set_xlabel("sepal length, standardised")
        axes = figure.axes[0]
        axes.set_ylabel("density")
        shown = min(_SHOWN, table.trials)
        print_below(figure, f"{table.rows[0].data}; ε = 2; {shown} releases of each method")
    return figure


EXPERIMENTS = (
    Experiment(
        "iris-epsilon",
        "Iris: KL against the privacy level",
        "The proposed method has a smaller KL than the baselines under the same constraint.",
        Study("iris-epsilon", "epsilon", (0.5, 1, 2, 4, 8), ALL, {"n": 150, "delta": 1e-5},
              iris_source, run),
        ALL, kl_findings, draw_lines, "privacy level ε",
    ),
    Experiment(
        "iris-marginals",
        "Iris: released marginals of sepal length at ε = 2",
        "The proposed method's marginal densities follow the true values more closely than the "
        "baseline's.",
        Study("iris-marginals", "epsilon", (2,), ALL, {"n": 150, "delta": 1e-5},
              iris_source, run_marginals),
        ALL, _check_marginals, draw_marginals, "privacy level ε", "distance",
    ),
)  # fmt: skip
