"""The noisy table of label counts per public cell, and what it says by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from privgmm.privacy import Curator
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
