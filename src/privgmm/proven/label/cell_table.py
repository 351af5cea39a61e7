"""The noisy table of label counts per public cell, what it says by itself, and soft labels bent to agree with it.

Bent labels: a clustering says how likely each row is to carry each label, p_nk; the table says how many rows of cell a carry label k,
T_ak = sum_n w_n y_nk + noise. The labels
    q_nk ~ p_nk exp(w_n lambda_ak),   lambda_a = argmin  sum_n ln Z_n - lambda_a^T T_a + sigma_a^2 ||lambda_a||^2 / 2
are the posterior mode of labels drawn from p once T is seen. Noise of size sigma pulls by 1 / sigma at most: it moves rows that
may well carry another label, and never one that cannot (a class far away). Every cell is a problem of its own, and convex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from privgmm.privacy import Curator
from privgmm.proven.label.statistics import softmax_rows
from privgmm.proven.label.tuning import Tuning
from privgmm.queries.cell_counts import CellCountsQuery
from privgmm.types import Codes, Floats


@dataclass(frozen=True, eq=False)
class CellTable:
    """counts (cells, K), their public sizes (cells,), and the noise's standard deviation sigma (cells,).

    totals_public : every row's label is in the class list, so a cell's counts add up to its size.
    """

    counts: Floats
    sizes: Floats
    sigma: Floats
    totals_public: bool

    @property
    def n_labels(self) -> int:
        """Classes of a row: those listed and, unless totals are public, "none of them"."""
        return int(self.counts.shape[1]) + (not self.totals_public)

    def with_another(self, other: CellTable) -> CellTable:
        """The average of two independent answers to one query, weighted by precision: as good as one answer for both budgets together."""
        one, two = self.sigma**-2, other.sigma**-2
        counts = (self.counts * one[:, None] + other.counts * two[:, None]) / (one + two)[:, None]
        return CellTable(counts, self.sizes, (one + two) ** -0.5, self.totals_public)

    def grouped(self, group: Codes) -> CellTable:
        """The table of larger cells: cell a becomes part of cell group[a]."""
        member = np.eye(int(group.max()) + 1)[group].T
        return CellTable(
            member @ self.counts,
            member @ self.sizes,
            np.sqrt(np.maximum(member @ self.sigma**2, 1e-300)),
            self.totals_public,
        )

    def purity_at_most(self) -> float:
        """Unbiased sum_al T_al^2 / sum_a n_a^2 (1 when every cell has one label) plus two s.e.

        Labels l are the classes and, unless totals are public, "none of them": T_a0 = n_a - sum_k T_ak.
        """
        K = self.counts.shape[1]
        noise = self.sigma**2
        # The estimate of a single cell may be negative; only the sum over all cells is used.
        own = (self.counts**2).sum(axis=1)
        if self.totals_public:
            own -= noise * (K - 1)
            slope, bend = own, 2 * (K - 1)
        else:
            # With e the noise of the classes, squares change by 2 (T_k - T_0) e_k + e^T (I + 1 1^T) e.
            rest = self.sizes - self.counts.sum(axis=1)
            own += rest**2 - noise * 2 * K
            slope = ((self.counts - rest[:, None]) ** 2).sum(axis=1) - noise * K * (K + 3)
            bend = 2 * K * (K + 3)
        error = math.sqrt(max(float(4 * noise @ slope + bend * (noise @ noise)), 0.0))
        return (float(own.sum()) + 2 * error) / float((self.sizes**2).sum())


def count_cells(
    curator: Curator,
    query: CellCountsQuery,
    sizes: Floats,
    sensitivity: float,
    mu: float,
    totals_public: bool,
) -> CellTable:
    """Ask for label counts per cell, for mu; the noise has the standard deviation ``sensitivity`` / mu.

    Where every label is listed, the counts of a cell must add up to its public size. Moving all of them by the same
    amount until they do removes a part of the noise. With rows of unlisted labels the sums are private and stay noisy.
    """
    sigma = np.full(sizes.size, sensitivity / mu)
    table = curator.answer(query, mu).reshape(sizes.size, -1)
    if totals_public:
        table += (sizes - table.sum(axis=1))[:, None] / table.shape[1]
    return CellTable(table, sizes, sigma, totals_public)


def class_shares(table: CellTable, tuning: Tuning, rng: np.random.Generator) -> Floats:
    """(cells, labels) posterior mean of class shares per cell, given noisy counts."""
    total = share_draws(table, tuning, rng).sum(axis=0)
    return np.asarray(total / total.sum(axis=1, keepdims=True))


def share_draws(table: CellTable, tuning: Tuning, rng: np.random.Generator) -> Floats:
    """(S, cells, labels) draws of class shares per cell, given noisy counts.

    Prior Dirichlet(alpha): of two entries with a given sum, the fraction is Beta(alpha, alpha),
    so disjoint pairs are redrawn exactly on a grid of prior quantiles.
    """
    n_cells, n_labels = table.counts.shape[0], table.n_labels
    seen, noise = table.counts, np.tile(table.sigma[:, None], n_labels)
    if not table.totals_public:
        # The other rows of a cell have no listed label; the noise of their number is that of all classes together.
        seen = np.hstack([seen, (table.sizes - seen.sum(axis=1))[:, None]])
        noise[:, -1] *= math.sqrt(n_labels - 1)
    grid = tuning.share_grid
    t = betaincinv(tuning.share_alpha, tuning.share_alpha, (np.arange(grid) + 0.5) / grid)
    shares = np.full((n_cells, n_labels), 1 / n_labels)
    seen = seen / np.maximum(table.sizes, 1)[:, None]
    weight = (table.sizes[:, None] / noise) ** 2 / 2
    draws = np.empty((tuning.share_sweeps, *shares.shape))
    for sweep in range(tuning.share_burn + tuning.share_sweeps):
        order = rng.permutation(n_labels)
        half = n_labels // 2
        i, j = order[:half], order[half : 2 * half]
        both = shares[:, i] + shares[:, j]
        left = both[:, :, None] * t
        error = weight[:, i, None] * (left - seen[:, i, None]) ** 2
        error += weight[:, j, None] * (both[:, :, None] - left - seen[:, j, None]) ** 2
        pick = np.argmax(rng.gumbel(size=left.shape) - error, axis=2)
        shares[:, i] = np.take_along_axis(left, pick[:, :, None], axis=2)[:, :, 0]
        shares[:, j] = both - shares[:, i]
        if sweep >= tuning.share_burn:
            draws[sweep - tuning.share_burn] = shares
    return draws


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
    problem = _BendProblem(likely, cells, shares, table)
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


class _BendProblem:
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
