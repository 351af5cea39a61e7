"""The random map on the class weights: Prop. 3, (eq24)-(eq27), with lambda-smoothing over S."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from privgmm.published.objective import weight_loss
from privgmm.types import Floats


@dataclass(frozen=True, eq=False)
class WeightsMap:
    """f(. | pi(D)) = (1 - lambda) f' + lambda / |S|, f' on pi(D) and its neighbours.

    candidates : (J+1, K) weights, row 0 is pi(D)
    column : (J+1,) f', the column j* of F' (normalised)
    other : (J+1,) any other column of F' (they are all equal in Prop. 3)
    n : N, the resolution of the grid S
    """

    candidates: Floats
    column: Floats
    other: Floats
    smoothing: float
    n: int

    @property
    def weights(self) -> Floats:
        """pi(D), the fitted weights."""
        return np.asarray(self.candidates[0])

    def mean_weights(self) -> Floats:
        """E[pi~] under f; a uniform composition has mean 1/K in every part."""
        k = self.weights.size
        near = self.column @ self.candidates
        return np.asarray((1 - self.smoothing) * near + self.smoothing / k)

    def expected_loss(self) -> float:
        """E[sum_k pi~_k ln(pi~_k / pi_k)] under f, exactly, without listing S."""
        near = self.column @ weight_loss(self.candidates, self.weights)
        if self.smoothing == 0:
            return float(near)
        k = self.weights.size
        far = k * _entropy_of_a_part(self.n, k) - np.log(self.weights).mean()
        return float((1 - self.smoothing) * near + self.smoothing * far)

    def draw(self, rng: np.random.Generator) -> Floats:
        """One pi~ from f."""
        if rng.random() < self.smoothing:
            return np.asarray(uniform_composition(self.n, self.weights.size, rng) / self.n)
        return np.asarray(self.candidates[rng.choice(self.column.size, p=self.column)])


def printed_column(g: Floats, epsilon_0: float) -> Floats:
    """F'_{i,j*} exactly as (eq26) prints it. Its entries do not sum to one."""
    neighbours = g.size - 1
    positive = 1 / (1 + neighbours * np.exp(epsilon_0))
    negative = 1 / (1 + neighbours * np.exp(-epsilon_0))
    return np.asarray(np.where(g >= 0, positive, negative))


def transition_columns(g: Floats, epsilon_0: float) -> tuple[Floats, Floats]:
    """The column j* of F' and the column shared by all j != j*, (eq26) and (eq27) repaired.

    Repair: F_ij = Pr(i given j), so columns must sum to one, not rows. Column j* is (eq26) divided
    by its sum. The other columns are e^theta F_ij* where g_i >= 0 and e^-phi F_ij* elsewhere, with
    the largest theta, phi <= eps_0 that let them sum to one; as printed theta = phi = eps_0, which
    no normalisation keeps within (eq17). When all g_i have one sign, all columns are uniform.
    """
    column = printed_column(g, epsilon_0)
    column = column / column.sum()
    up = column[g >= 0].sum()
    down = column[g < 0].sum()
    if up == 0 or down == 0:
        return column, column
    growth = min(np.exp(epsilon_0), (1 - down * np.exp(-epsilon_0)) / up)
    shrink = (1 - up * growth) / down
    return column, column * np.where(g >= 0, growth, shrink)


def uniform_composition(n: int, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A uniform draw from N S: n as an ordered sum of k positive integers (stars and bars)."""
    cuts = np.sort(rng.choice(n - 1, size=k - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=n)


def _entropy_of_a_part(n: int, k: int) -> float:
    """E[x ln x] of one part x = m/N of a uniform composition: Pr(m) = C(N-m-1, K-2) / C(N-1, K-1)."""
    if k == 1:
        return 0.0
    m = np.arange(1, n - k + 2)
    log_pmf = _log_binomial(n - m - 1, k - 2) - _log_binomial(np.array(n - 1), k - 1)
    return float((np.exp(log_pmf) * (m / n) * np.log(m / n)).sum())


def log_grid_size(n: int, k: int) -> float:
    """ln |S| = ln C(N-1, K-1)."""
    return float(_log_binomial(np.array(n - 1), k - 1))


def _log_binomial(a: NDArray[np.intp], b: int) -> Floats:
    return np.asarray(gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0))
