"""Maps of rows whose result for a row never depends on the rows around it, nor on the machine.

A row lies in a column of a (d, n) array, and every operation is an elementwise one of IEEE 754: add,
subtract, multiply, divide and square root are the same bits in any vector width on any machine,
while a BLAS product may sum in another order for another shape, and ``np.log`` differs between
processors in its last bit. Sensitivities are proven for maps of single rows, so a row that moved
because another one came or went, or because two workers of one cluster disagree, would break them.

``GaussianRule`` puts each row into a class. With a salt it does so at random, by lots: numbers hashed from the row, which are a fixed
public function of that row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privgmm.types import Codes, Floats

# Rows as the columns of a (d, n) array.
Columns = Floats

Words = NDArray[np.uint64]

# Constants of SplitMix64: the step between words, then the shifts and factors of its mixer.
WORD_STEP = 0x9E3779B97F4A7C15
_SHIFTS = (30, 27, 31)
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
# Rows projected at a time: few enough that some hundred columns of them stay in cache.
_BLOCK = 512
# Rows put into classes at a time, for the same reason.
_RULE_BLOCK = 8192
# ln 2 in two parts; the first has 32 significant bits, so its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
_SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
# 2 atanh(s) / s = 2 + (2/3) s^2 + (2/5) s^4 + ...; |s| <= 0.172 makes the next term 1e-18.
_ATANH = tuple(2.0 / k for k in range(21, 0, -2))
_TABLE_BITS = 16


def of_class(X: Floats, codes: Codes, k: int) -> Floats:
    """The rows of class k, in their order; a view where they lie side by side."""
    rows = np.flatnonzero(codes == k)
    if rows.size and rows[-1] - rows[0] < rows.size:
        return X[rows[0] : rows[-1] + 1]
    # take() of positions is several times faster than indexing rows with booleans.
    return np.take(X, rows, axis=0)


def columns(X: Floats, centre: Floats) -> Columns:
    """(d, n) array of x - centre."""
    z = np.ascontiguousarray(X.T)
    return z - centre[:, None]


def linear_map(z: Columns, lower: Floats) -> Columns:
    """L z for a lower-triangular L, column by column; overwrites and returns z."""
    scratch = np.empty(z.shape[1])
    # From the last coordinate to the first, so that z_j for j < i is still the input when row i needs it.
    for i in range(z.shape[0] - 1, -1, -1):
        z[i] *= lower[i, i]
        for j in range(i):
            if lower[i, j] != 0.0:
                np.multiply(z[j], lower[i, j], out=scratch)
                z[i] += scratch
    return z


def squared_norm(z: Columns) -> Floats:
    """(n,) array of ||z||_2^2."""
    total: Floats = z[0] * z[0]
    scratch = np.empty_like(total)
    for column in z[1:]:
        np.multiply(column, column, out=scratch)
        total += scratch
    return total


def project(X: Floats, centre: Floats, directions: Floats) -> Floats:
    """(n, m) rows C (x - centre) for C of shape (m, d), each product summed in the order of columns."""
    out = np.empty((X.shape[0], directions.shape[0]))
    for start in range(0, X.shape[0], _BLOCK):
        z = columns(X[start : start + _BLOCK], centre)
        scratch = np.empty(z.shape[1])
        for i, direction in enumerate(directions):
            total = z[0] * direction[0]
            for column, weight in zip(z[1:], direction[1:], strict=True):
                np.multiply(column, weight, out=scratch)
                total += scratch
            out[start : start + _BLOCK, i] = total
    return out


def row_words(z: Columns, salt: int) -> Words:
    """(n,) 64-bit words that are a fixed public function of a row's bits and the salt."""
    state = np.full(z.shape[1], salt % 2**64, dtype=np.uint64)
    for column in np.ascontiguousarray(z).view(np.uint64):
        state = mixed(state + np.uint64(WORD_STEP)) ^ column
    return state


def mixed(words: Words) -> Words:
    """The words mixed by SplitMix64 (Steele, Lea and Flood 2014): they look random, and are the same on every machine."""
    z = words ^ (words >> np.uint64(_SHIFTS[0]))
    z *= np.uint64(_FACTORS[0])
    z ^= z >> np.uint64(_SHIFTS[1])
    z *= np.uint64(_FACTORS[1])
    z ^= z >> np.uint64(_SHIFTS[2])
    return z


def log(x: Floats) -> Floats:
    """ln x of positive finite numbers, within 2 ulp, from IEEE operations alone.

    x = 2^k m with m in [sqrt(1/2), sqrt 2), exactly; ln m = 2 atanh(s) with s = (m - 1) / (m + 1). No
    maintained library promises the same bits everywhere; ``np.log`` takes another path on each
    kind of processor.
    """
    m, k = np.frexp(x)
    small = m < _SQRT_HALF
    m = np.where(small, m * 2.0, m)
    k = (k - small).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = np.full(np.shape(m), _ATANH[0])
    for coefficient in _ATANH[1:]:
        series = series * square + coefficient
    return np.asarray(k * _LN2_HIGH + (s * series + k * _LN2_LOW))


@cache
def _gumbel() -> Floats:
    """Quantiles of the Gumbel distribution at the middles of equal steps of probability: a constant, made when it is first needed."""
    return -log(-log((np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)))


def lots(turned: Columns, salt: int) -> Iterator[NDArray[np.float64]]:
    """An endless sequence of (n,) arrays: standard Gumbel numbers, hashed from the rows in the columns of a (d, n) array."""
    table = _gumbel()
    state = row_words(turned, salt)
    while True:
        state = state + np.uint64(WORD_STEP)
        yield table[mixed(state) >> np.uint64(64 - _TABLE_BITS)]


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

    @property
    def size(self) -> int:
        """The number of classes that the rule makes."""
        return int(self.offsets.size)

    def blocks(self, X: Floats, codes: Codes) -> Codes:
        """(n,) classes of the rows by the rule alone, whatever their labels."""
        return self(X)

    def __call__(self, X: Floats) -> Codes:
        """(n,) classes of the rows, each by itself."""
        codes = np.zeros(X.shape[0], dtype=np.intp)
        for start in range(0, X.shape[0], _RULE_BLOCK):
            some = slice(start, start + _RULE_BLOCK)
            self._into(codes[some], X[some])
        return codes

    def _into(self, codes: Codes, X: Floats) -> None:
        best = np.full(X.shape[0], -np.inf)
        turned = np.ascontiguousarray(X.T)
        drawn = None if self.salt is None else lots(turned, self.salt)
        for k in range(self.centres.shape[0]):
            z = linear_map(turned - self.centres[k][:, None], self.whiten[k])
            score = self.offsets[k] - squared_norm(z) / 2
            if drawn is not None:
                score += next(drawn)
            better = score > best
            np.putmask(codes, better, k)
            # A score that is no number is never the best.
            np.fmax(best, score, out=best)


def mixture_rule(
    weights: Floats, centres: Floats, whiten: Floats, salt: int | None = None
) -> GaussianRule:
    """The rule of a mixture whose covariances are (W_k^T W_k)^-1."""
    log_det = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
    return GaussianRule(centres, whiten, np.log(weights) + log_det, salt)


def mixture_rules(mixtures: list[tuple[Floats, Floats, Floats]]) -> list[GaussianRule]:
    """The rules of several mixtures (weights, centres, whitening factors)."""
    return [mixture_rule(*mixture) for mixture in mixtures]
