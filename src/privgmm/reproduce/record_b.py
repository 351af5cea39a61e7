"""Section V-E: record level, KL against the clipping bound B at epsilon = 1 (figure 14).

Published protects a change of one row's features (its label and the weights are left as they are);
proven protects the replacement of a whole row, label included, in the ball of radius B.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm import datasets
from privgmm.model import Mixture, fit, kl_divergence
from privgmm.model.mixture import Floats
from privgmm.reproduce.data import generated_source
from privgmm.reproduce.experiment import Experiment, Finding, Row, Study, Task
from privgmm.reproduce.findings import proven_below_published, trend
from privgmm.reproduce.lines import (
    Y_LABELS,
    curves,
    label_axes,
    print_below,
    ring_lost_points,
    small_print,
)
from privgmm.reproduce.methods import DELTA, PROVEN, PUBLISHED, RESAMPLED, refitted
from privgmm.reproduce.seeds import stream
from privgmm.reproduce.style import new_figure, styled
from privgmm.reproduce.table import Table

_METHODS = (PROVEN, PUBLISHED, RESAMPLED)


def run(study: Study, task: Task) -> list[Row]:
    """KL to the fit of the clipped rows (the paper's) and to the fit of the rows as they were."""
    X, y = datasets.synthetic(
        n=int(study.number("n")), n_classes=int(study.number("k")), dim=int(study.number("d")),
        seed=stream(task.seed, "synthetic", task.trial),
    )  # fmt: skip
    clipped = clip(X, task.x)
    whole, fitted = fit(X, y), fit(clipped, y)
    out = []
    for method in study.methods:
        seed = stream(task.seed, study.name, task.x, task.trial, method)
        mixture = _released(method, clipped, y, fitted, study.number("epsilon"), task.x, seed)
        row = Row(
            study.name, study.x_name, task.x, method, task.trial, study.source(),
            epsilon=study.number("epsilon"),
            kl=kl_divergence(mixture, fitted),
            kl_unclipped=kl_divergence(mixture, whole),
        )  # fmt: skip
        out.append(row)
    return out


def clip(X: Floats, bound: float) -> Floats:
    """Each row scaled by min{1, B / ||x||}; the paper's formula lacks the 1."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X * np.minimum(1, bound / np.maximum(norms, np.finfo(np.float64).tiny)))


def _released(
    method: str,
    X: Floats,
    y: NDArray[np.intp],
    fitted: Mixture,
    epsilon: float,
    bound: float,
    seed: int,
) -> Mixture:
    if method == RESAMPLED:
        return refitted(fitted, np.bincount(y), seed)
    if method == PROVEN:
        import privgmm

        return privgmm.release(
            X, y, epsilon=epsilon, delta=DELTA, unit="record", radius=bound,
            classes=list(fitted.classes), seed=seed,
        ).mixture  # fmt: skip
    from privgmm import published

    design = published.design(
        X, y, epsilon=epsilon, delta=DELTA, adjacency="record-change", radius=bound
    )
    return design.draw(seed=seed)


def _check(table: Table) -> tuple[Finding, ...]:
    paper = trend(table, "falls", "as B grows (a smaller B means more noise)")
    return paper, proven_below_published(table)


def draw(experiment: Experiment, table: Table) -> Any:
    """Against the clipped fit, as in the paper, and against the fit that the reader wants."""
    with styled():
        figure = new_figure(8.6, 3.6)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, column in zip(panels, ("kl", "kl_unclipped"), strict=True):
            curves(axes, table, experiment.methods, column)
            label_axes(axes, table, experiment.x_label, "KL divergence")
            axes.set_yscale("log")
            ring_lost_points(axes, table, column)
            axes.set_title(
                Y_LABELS[column] if column != "kl" else "KL(released ‖ fit of clipped rows)"
            )
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
        print_below(figure, small_print(table, "kl"))
    return figure


EXPERIMENTS = (
    Experiment(
        "record-b",
        "Record level: KL against the clipping bound (ε = 1)",
        "A smaller B requires larger Gaussian noise, which increases KL.",
        Study("record-b", "B", (5, 10, 15, 20, 30, 40), _METHODS,
              {"n": 1000, "k": 5, "d": 3, "epsilon": 1.0, "delta": 1e-5}, generated_source, run),
        _METHODS, _check, draw, "clipping bound B",
    ),
)  # fmt: skip
