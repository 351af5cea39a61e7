"""Section V-D, end to end: a network trained on synthetic rows, tested on real images (figure 13)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.model import Mixture, fit
from privgmm.model.mixture import Floats
from privgmm.reproduce.data import mnist, mnist_source
from privgmm.reproduce.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.lines import Y_LABELS, print_below, small_print
from privgmm.reproduce.methods import PROVEN, PUBLISHED, by_class, released
from privgmm.reproduce.network import accuracy_by_iteration
from privgmm.reproduce.seeds import stream
from privgmm.reproduce.style import new_figure, styled
from privgmm.reproduce.table import Table

_EPSILONS = "0.5, 1, 2, 4"
_REAL, _FITTED = "real rows", "non-private synthetic rows"
_METHODS = (PROVEN, PUBLISHED, _FITTED, _REAL)
# Small to large epsilon, dark to light, readable without hue.
_SHADES = ("#440154", "#31688E", "#35B779", "#C8B400")


def run(study: Study, task: Task) -> list[Row]:
    """All curves of one trial: the same start and order of batches for every training set."""
    data = mnist(task.trial, task.seed, int(task.x), int(study.number("d")))
    n, fitted = len(data.X), fit(data.X, data.y)

    def rows(method: str, epsilon: float | None, X: Floats, y: NDArray[np.intp]) -> list[Row]:
        start = stream(task.seed, "network", task.trial)
        steps = accuracy_by_iteration(X, y, data.X_test, data.y_test, start)
        return [
            Row(study.name, "iteration", i, method, task.trial, study.source(), epsilon, accuracy=a)
            for i, a in enumerate(steps, start=1)
        ]

    def synthetic_rows(mixture: Mixture, *names: object) -> tuple[Floats, NDArray[np.intp]]:
        return by_class(mixture, n, stream(task.seed, "rows", task.trial, *names))

    out = rows(_REAL, None, data.X, data.y)
    out += rows(_FITTED, None, *synthetic_rows(fitted, _FITTED))
    for epsilon in map(float, str(study.settings["epsilons"]).split(",")):
        for method in (PROVEN, PUBLISHED):
            seed = stream(task.seed, study.name, epsilon, task.trial, method)
            mixture, _ = released(method, data.X, data.y, fitted, epsilon, seed)
            out += rows(method, epsilon, *synthetic_rows(mixture, method, epsilon))
    return out


def _epsilons(table: Table) -> list[float]:
    return sorted({row.epsilon for row in table.rows if row.epsilon is not None})


def _final(table: Table, method: str, epsilon: float | None = None) -> float:
    return table.mean("accuracy", method=method, epsilon=epsilon, x=table.xs[-1])


def _check(table: Table) -> tuple[Finding, ...]:
    by = {m: [_final(table, m, e) for e in _epsilons(table)] for m in (PROVEN, PUBLISHED)}
    real, fitted = _final(table, _REAL), _final(table, _FITTED)

    def path(method: str) -> str:
        return " → ".join(f"{v:.3f}" for v in by[method])

    return (
        Finding("final accuracy of published is ordered by ε",
                by[PUBLISHED] == sorted(by[PUBLISHED]), f"{path(PUBLISHED)} as ε grows"),
        Finding("non-private synthetic rows train about as well as real rows (within 0.05)",
                abs(real - fitted) < 0.05, f"{fitted:.3f} against {real:.3f}"),
        Finding("proven trains at least as well as published at every ε",
                all(a >= b for a, b in zip(by[PROVEN], by[PUBLISHED], strict=True)),
                f"{path(PROVEN)} against {path(PUBLISHED)}", by="privgmm"),
    )  # fmt: skip


def draw(experiment: Experiment, table: Table) -> Any:
    """Published on the left, proven on the right; both with the two non-private references."""
    with styled():
        figure = new_figure(8.4, 3.6)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, method in zip(panels, (PUBLISHED, PROVEN), strict=True):
            for name, colour, dash in ((_REAL, "#000000", "-"), (_FITTED, "#D55E00", "--")):
                _line(axes, table.curve(name, "accuracy"), name, colour, dash)
            for epsilon, colour in zip(_epsilons(table)[::-1], _SHADES[::-1], strict=False):
                curve = table.curve(method, "accuracy", epsilon=epsilon)
                _line(axes, curve, f"ε = {epsilon:g}", colour, "-")
            axes.set_title(method)
            axes.set_xlabel("iteration (batches of 128)")
        panels[0].set_ylabel(Y_LABELS["accuracy"])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper",
                      title="trained on")  # fmt: skip
        print_below(figure, small_print(table, "accuracy"))
    return figure


def _line(axes: Any, curve: Any, label: str, colour: str, dash: str) -> None:
    axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.10, lw=0)
    axes.plot(curve.x, curve.mean, color=colour, ls=dash, lw=1.6, label=label)


EXPERIMENTS = (
    Experiment(
        "mnist-mlp",
        "Network trained on synthetic rows: accuracy against iteration",
        "A clear trade-off: a smaller ε gives a lower accuracy, consistently ordered; non-private "
        "synthetic rows come close to real ones.",
        Study("mnist-mlp", "rows", (5000,), _METHODS, {"d": 5, "k": 10, "delta": 1e-5, "epsilons": _EPSILONS},
              mnist_source, run),
        _METHODS, _check, draw, "iteration", "accuracy",
    ),
)  # fmt: skip
