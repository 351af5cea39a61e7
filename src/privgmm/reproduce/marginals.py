"""Marginal densities of a released mixture: the rows of one trial, and their distance from the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from privgmm.model import Mixture, fit
from privgmm.model.mixture import Floats
from privgmm.reproduce.experiment import Row, Study, Task
from privgmm.reproduce.methods import RESAMPLED
from privgmm.reproduce.sweep import kl_rows
from privgmm.reproduce.table import Table


def marginal_rows(
    study: Study, task: Task, X: Floats, y: NDArray[np.intp], features: range
) -> list[Row]:
    """Mean and standard deviation of each (class, feature), and how far they are from the fit's.

    The fit itself stands in the table as the method "non-private".
    """
    fitted, counts = fit(X, y), np.bincount(y)
    out: list[Row] = []
    for row, mixture in kl_rows(study, task, X, y, task.x):
        shown = fitted if row.method == RESAMPLED else mixture
        if shown is None:
            out.append(row)
            continue
        for k in range(shown.n_classes):
            for j in features:
                mean, sd = _normal(shown, k, j)
                apart = total_variation(mean, sd, *_normal(fitted, k, j))
                out.append(
                    replace(
                        row,
                        kl=None,
                        kl_means=None,
                        class_name=str(shown.classes[k]),
                        class_size=int(counts[k]),
                        feature=j,
                        mean=mean,
                        sd=sd,
                        distance=apart,
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


def mean_distance(table: Table, method: str, **equal: object) -> float:
    return table.mean("distance", method=method, **equal)
