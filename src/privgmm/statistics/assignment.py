"""Rows without labels: a public rule gives each row its class, from that row alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.statistics.lots import lots
from privgmm.statistics.rowwise import linear_map, squared_norm
from privgmm.statistics.source import Codes, Floats, Integers, Kernel


@dataclass(frozen=True, eq=False)
class GaussianRule:
    """x goes to the class of largest offset_k - ||W_k (x - centre_k)||^2 / 2.

    With W_k the lower whitening factor of class k and offset_k = ln pi_k + ln det W_k this is the
    most probable component; with equal W_k and zero offsets it is the nearest centre. With a ``salt``
    every score gets a Gumbel number that depends on the row and the salt only, and x goes to class k
    in proportion to exp(score): over many rows, the shares of a mixture's responsibilities.
    """

    centres: Floats
    whiten: Floats
    offsets: Floats
    salt: int | None = None

    def __call__(self, X: Floats) -> Codes:
        best = np.full(X.shape[0], -np.inf)
        codes = np.zeros(X.shape[0], dtype=np.intp)
        turned = np.ascontiguousarray(X.T)
        drawn = None if self.salt is None else lots(turned, self.salt)
        for k in range(self.centres.shape[0]):
            z = linear_map(turned - self.centres[k][:, None], self.whiten[k])
            score = self.offsets[k] - squared_norm(z) / 2
            if drawn is not None:
                score += next(drawn)
            better = score > best
            codes[better] = k
            best[better] = score[better]
        return codes


def mixture_rule(
    weights: Floats, centres: Floats, whiten: Floats, salt: int | None = None
) -> GaussianRule:
    """The rule of a mixture whose covariances are (W_k^T W_k)^-1."""
    log_det = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    return GaussianRule(centres, whiten, np.log(weights) + log_det, salt)


@dataclass(frozen=True, eq=False)
class Assigned:
    """A class-blocked kernel whose classes come from a rule instead of labels."""

    kernel: Kernel
    rule: GaussianRule

    def __call__(self, X: Floats, codes: Codes) -> Integers:
        return self.kernel(X, self.rule(X))
