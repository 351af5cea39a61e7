"""Mironov's attack on floating-point noise (CCS 2012): the low bits say which statistic is underneath.

Textbook noise is scale * quantile(U) with U a multiple of 2^-53, so T + noise reaches only some
of the floats, and which ones depends on T: an output that T cannot make betrays that T is not the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from privgmm.types import Floats

_STEP = 2.0**-53
# The cdf is inverted to a few grid steps; so many on each side are tried.
_WINDOW = 12


@dataclass(frozen=True)
class FloatNoise:
    """Noise by inverting a cdf in floating point: what privgmm does not do."""

    scale: float
    quantile: Callable[[Floats], Floats]
    cdf: Callable[[Floats], Floats]

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """``size`` values of this noise."""
        return self.scale * self.quantile(_uniform(rng.integers(1, 2**53, size)))


def laplace(scale: float) -> FloatNoise:
    """Laplace noise in floating point."""
    return FloatNoise(scale, _laplace_quantile, _laplace_cdf)


def gaussian(scale: float) -> FloatNoise:
    """Gaussian noise in floating point."""
    return FloatNoise(scale, ndtri, ndtr)


def possible(released: Floats, statistic: float, noise: FloatNoise) -> Floats:
    """1 where some U makes fl(statistic + noise) equal to the released float, else 0."""
    near = np.rint(noise.cdf((released - statistic) / noise.scale) / _STEP)
    tried = near[:, None] + np.arange(-_WINDOW, _WINDOW + 1)
    made = statistic + noise.scale * noise.quantile(_uniform(np.clip(tried, 1, 2**53 - 1)))
    return np.asarray((made == released[:, None]).any(axis=1), dtype=np.float64)


def low_bits_score(released: Floats, first: float, second: float, noise: FloatNoise) -> Floats:
    """1 if only the second statistic can have made the output, -1 if only the first, else 0."""
    return possible(released, second, noise) - possible(released, first, noise)


def _uniform(multiples: NDArray[Any]) -> Floats:
    return np.asarray(multiples * _STEP, dtype=np.float64)


def _laplace_quantile(u: Floats) -> Floats:
    return np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))


def _laplace_cdf(x: Floats) -> Floats:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)
