"""Soft labels bent, cell by cell, until they agree with the noisy table of label counts.

A clustering says how likely each row is to carry each label, p_nk; the table says how many rows of cell a carry label k,
T_ak = sum_n w_n y_nk + noise. The labels
    q_nk ~ p_nk exp(w_n lambda_ak),   lambda_a = argmin  sum_n ln Z_n - lambda_a^T T_a + sigma_a^2 ||lambda_a||^2 / 2
are the posterior mode of labels drawn from p once T is seen. Noise of size sigma pulls by 1 / sigma at most: it moves rows that
may well carry another label, and never one that cannot (a class far away). Every cell is a problem of its own, and convex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.proven.label.cell_table import CellTable
from privgmm.proven.label.statistics import softmax_rows
from privgmm.proven.label.tuning import Tuning
from privgmm.types import Codes, Floats


@dataclass(frozen=True, eq=False)
class Bend:
    """lambda (cells, K): q_nk ~ p_nk exp(w_n lambda_ak); a label beyond the K classes (none of them) is not counted."""

    slopes: Floats

    def labels(self, likely: Floats, cells: Codes, shares: Floats) -> Floats:
        """(n, L) bent labels of rows in these cells (n,), of these shares (n,), whose labels were as ``likely`` (n, L)."""
        return softmax_rows(_scores(self.slopes, _logs(likely), cells, shares))[0]


def fit_bend(
    likely: Floats, cells: Codes, shares: Floats, table: CellTable, tuning: Tuning
) -> Bend:
    """Bend ``likely`` labels until they agree with the table as far as its noise says.

    The rows of a cell stand for all that the table counts there.
    """
    problem = _Problem(likely, cells, shares, table)
    slopes = np.zeros(table.counts.shape)
    value, q = problem.at(slopes)
    for _ in range(tuning.newton_steps):
        gradient, curvature = problem.derivatives(slopes, q)
        if (np.abs(gradient) <= tuning.tilt_close * table.sigma[:, None]).all():
            break
        step = -np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        falls, size = (step * gradient).sum(axis=1), np.ones(len(step))
        while True:
            found = problem.at(slopes + size[:, None] * step)
            short = (found[0] > value + 1e-4 * size * falls) & (size > 1e-6)
            if not short.any():
                break
            size[short] /= 2
        slopes = slopes + size[:, None] * step
        value, q = found
    return Bend(slopes)


class _Problem:
    """What the slopes lambda (cells, K) are fitted by."""

    def __init__(self, likely: Floats, cells: Codes, shares: Floats, table: CellTable) -> None:
        self.table, self.cells, self.shares = table, cells, shares
        self.logs = _logs(likely)
        held = np.bincount(cells, shares, minlength=table.sizes.size)
        # Where rows are a choice of all rows each stands for more than one.
        self.weight = table.sizes / np.maximum(held, 1e-300)
        order = np.argsort(cells, kind="stable")
        ends = np.cumsum(np.bincount(cells, minlength=table.sizes.size))
        self.rows = [order[a:b] for a, b in zip(np.append(0, ends), ends, strict=False)]

    def at(self, slopes: Floats) -> tuple[Floats, Floats]:
        """Its value in every cell, and the labels (n, L)."""
        q, log_z = softmax_rows(_scores(slopes, self.logs, self.cells, self.shares))
        value = self.weight * np.bincount(self.cells, log_z, minlength=len(slopes))
        value -= (slopes * self.table.counts).sum(axis=1)
        return value + 0.5 * self.table.sigma**2 * (slopes**2).sum(axis=1), q

    def derivatives(self, slopes: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Gradients (cells, K) and curvatures (cells, K, K)."""
        n_cells, n_classes = slopes.shape
        noise = self.table.sigma**2
        first, second = np.empty(slopes.shape), np.empty((n_cells, n_classes, n_classes))
        for a, rows in enumerate(self.rows):
            mine, w = q[rows, :n_classes], self.shares[rows, None]
            first[a] = self.weight[a] * (mine * w).sum(axis=0)
            spread = (mine * w**2).sum(axis=0)
            second[a] = self.weight[a] * (np.diag(spread) - (mine * w).T @ (mine * w))
        second += noise[:, None, None] * np.eye(n_classes)
        return first - self.table.counts + noise[:, None] * slopes, second


def _logs(likely: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(likely, 1e-300)))


def _scores(slopes: Floats, logs: Floats, cells: Codes, shares: Floats) -> Floats:
    score = logs.copy()
    score[:, : slopes.shape[1]] += shares[:, None] * slopes[cells]
    return score
