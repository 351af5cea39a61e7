"""Invent tables like the user's: with as many rows, classes and columns, in the stated ranges, of a stated shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr
from scipy.stats import wishart

from privgmm.errors import InputError
from privgmm.types import Codes, Floats

Shape = Literal["bells", "spikes", "tails"]

# Degrees of freedom of heavy tails: the smallest whole number with a finite variance; incomes and durations have such tails.
_TAIL = 3
# The part of the rows that has the lowest value in a column with a spike, as counts and amounts are often mostly zero.
_PILE = 0.6


@dataclass(frozen=True)
class Ranges:
    """Stated ranges of all columns, and which of them hold whole numbers."""

    lo: tuple[float, ...]
    hi: tuple[float, ...]
    integer: tuple[bool, ...]


def check_shape(shape: str) -> None:
    """Refuse a word that is no shape."""
    if shape not in get_args(Shape):
        raise InputError(f"The shape must be {', '.join(get_args(Shape))}, got {shape!r}.")


def reach(dim: int) -> float:
    """How far rows lie from the middle in each column: class centres lie within 10, and rows within three deviations of them."""
    return 10 + 3 * math.sqrt(dim + 1)


def invent(
    n: int, n_classes: int, dim: int, shape: Shape, ranges: Ranges | None, seed: int
) -> tuple[Floats, Codes]:
    """n rows (n, d) and their class codes (n,).

    Classes are as in the paper's section V-A: weights ~ Dirichlet(1), centres uniform on [-10, 10]^d,
    covariances ~ Wishart(I, d + 1). ``tails`` makes each class a Student t with three degrees of freedom
    and the same covariance. ``spikes`` moves 60 % of every other column to its lower end and lets every
    fourth column have two values only. Values within ``reach`` of the middle are mapped into the stated ranges.
    """
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, size=n, p=rng.dirichlet(np.ones(n_classes)))
    centres = rng.uniform(-10, 10, size=(n_classes, dim))
    X = rng.standard_normal((n, dim))
    for k in range(n_classes):
        rows = codes == k
        factor = np.linalg.cholesky(
            np.atleast_2d(wishart.rvs(dim + 1, np.eye(dim), random_state=rng))
        )
        X[rows] = X[rows] @ factor.T
    if shape == "tails":
        # A Student t with nu degrees of freedom has nu / (nu - 2) times the covariance of its Gaussian.
        X *= np.sqrt((_TAIL - 2) / rng.chisquare(_TAIL, size=(n, 1)))
    X += centres[codes]
    if shape == "spikes":
        _spike(X, ndtr(centres[codes] / 10), rng)
    if ranges is None:
        return X, codes
    low, high = np.array(ranges.lo), np.array(ranges.hi)
    X = np.clip((low + high) / 2 + (high - low) / 2 / reach(dim) * X, low, high)
    whole = np.array(ranges.integer, dtype=bool)
    X[:, whole] = np.rint(X[:, whole])
    return X, codes


def _spike(X: Floats, likely: Floats, rng: np.random.Generator) -> None:
    """Change columns in place; ``likely`` (n, d) is how often a row's class has the upper of two values."""
    n, dim = X.shape
    end = reach(dim)
    for j in range(0, dim, 2):
        if j % 4 == 2:
            X[:, j] = np.where(rng.random(n) < likely[:, j], end / 2, -end / 2)
        else:
            X[rng.random(n) < _PILE, j] = -end
