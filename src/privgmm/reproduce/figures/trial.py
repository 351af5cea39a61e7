"""The trial that most figures share: every method on the same rows, its numbers, and its marginals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from privgmm.errors import InputError
from privgmm.model import Mixture, fit
from privgmm.reproduce.figures.methods import DRAWS, RESAMPLED, Case, Measured, measured, probe
from privgmm.reproduce.harness.experiment import Row, Study, Task, stream
from privgmm.types import Floats


def case_of(
    task: Task, X: Floats, y: NDArray[np.intp], epsilon: float, radius: float | None = None
) -> Case:
    """A label-level case whose test rows are drawn from the fit; ``radius`` is B of the scalable variant."""
    fitted = fit(X, y)
    return Case(
        X, y, fitted, epsilon, *probe(fitted, stream(task.seed, "probe", task.trial)), radius=radius
    )


def rows_of(study: Study, task: Task, case: Case) -> Iterator[tuple[Row, Measured | None]]:
    """A row for every method, with the releases behind it.

    A method that refuses the setting (R1SMG in fewer than 3 dimensions) gives a row with its
    reason and no number.
    """
    for method in study.methods:
        row = Row(
            study.name, study.x_name, task.x, method, task.trial, study.source(), case.epsilon
        )
        seed = stream(task.seed, study.name, task.x, task.trial, method)
        try:
            found = measured(method, case, seed)
        except InputError as refusal:
            yield replace(row, note=str(refusal)), None
            continue
        yield replace(row, **found.numbers), found


def marginal_rows(study: Study, task: Task, case: Case, features: range) -> list[Row]:
    """Each method's row, then mean, deviation and distance from the fit for each (class, feature).

    Mean and deviation are those of the first release; the distance is the mean over the releases. The
    fit itself stands in the table as the method "non-private".
    """
    counts = np.bincount(case.y)
    out: list[Row] = []
    for row, found in rows_of(study, task, case):
        out.append(row)
        if found is None:
            continue
        bare = Row(
            row.figure, row.x_name, row.x, row.method, row.trial, row.data, row.epsilon
        )  # numbers of the whole release stand in its own row
        shown = (case.fitted,) if row.method == RESAMPLED else found.releases[:DRAWS]
        for k in range(case.fitted.n_classes):
            for j in features:
                mean, sd = _normal(shown[0], k, j)
                apart = [
                    total_variation(*_normal(m, k, j), *_normal(case.fitted, k, j)) for m in shown
                ]
                out.append(
                    replace(
                        bare,
                        class_name=str(case.fitted.classes[k]),
                        class_size=int(counts[k]),
                        feature=j,
                        mean=mean,
                        sd=sd,
                        distance=float(np.mean(apart)),
                    )
                )
    return out


def total_variation(mean: float, sd: float, other_mean: float, other_sd: float) -> float:
    """Total variation of two normal laws, exactly: their densities cross at one or two points."""
    if np.isclose(sd, other_sd, rtol=1e-9):
        return float(2 * norm.cdf(abs(mean - other_mean) / (2 * sd)) - 1)
    # ln ratio of the densities: a x^2 + b x + c = 0
    a = 1 / other_sd**2 - 1 / sd**2
    b = 2 * (mean / sd**2 - other_mean / other_sd**2)
    c = other_mean**2 / other_sd**2 - mean**2 / sd**2 + 2 * np.log(other_sd / sd)
    root = np.sqrt(max(b * b - 4 * a * c, 0.0))
    cut = np.sort([(-b - root) / (2 * a), (-b + root) / (2 * a)])
    inside = np.diff(norm.cdf(cut, mean, sd)) - np.diff(norm.cdf(cut, other_mean, other_sd))
    return float(abs(inside[0]))


def _normal(mixture: Mixture, k: int, j: int) -> tuple[float, float]:
    return float(mixture.means[k, j]), float(np.sqrt(mixture.covariances[k, j, j]))
