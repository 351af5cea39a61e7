"""Hamiltonian Monte Carlo over many small problems at once. Post-processing: a fixed public seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privgmm.types import Floats

# x (K, C, D) -> log-density (K, C) and gradient (K, C, D), for K problems with C chains each.
LogDensity = Callable[[Floats], tuple[Floats, Floats]]

_SEED = 20240501
_LEAPS = 8
_TARGET = 0.75


def sample(
    log_density: LogDensity, start: Floats, scale: Floats, chains: int, warm: int, keep: int
) -> Floats:
    """(keep, K, chains, D) draws; step sizes adapt per problem during ``warm`` to 75 % acceptance.

    start, scale : (K, D) a central point and the expected posterior standard deviations.
    All problems see the same random numbers, so that the draws of one do not depend on the others.
    """
    rng = np.random.default_rng(_SEED)
    one = chains, start.shape[1]
    spread = scale[:, None, :]
    x = start[:, None, :] + 0.3 * spread * rng.standard_normal(one)
    value, slope = log_density(x)
    log_step = np.full(start.shape[0], np.log(0.2))
    draws = np.empty((keep, *x.shape))
    for turn in range(warm + keep):
        step = np.exp(log_step)[:, None, None] * spread * rng.uniform(0.7, 1.3)
        momentum = np.broadcast_to(rng.standard_normal(one), x.shape)
        new = _leapfrog(log_density, x, slope, momentum, step)
        with np.errstate(invalid="ignore", over="ignore"):
            gain = new[1] - value - 0.5 * (new[3] ** 2 - momentum**2).sum(axis=-1)
        gain = np.where(np.isfinite(gain), gain, -np.inf)
        accept = np.log(rng.random(chains)) < gain
        x = np.where(accept[..., None], new[0], x)
        value = np.where(accept, new[1], value)
        slope = np.where(accept[..., None], new[2], slope)
        if turn < warm:
            rate = np.exp(np.minimum(gain, 0)).mean(axis=1)
            log_step = log_step + (0.3 if turn < warm * 3 // 4 else 0.1) * (rate - _TARGET)
        else:
            draws[turn - warm] = x
    return draws


def _leapfrog(
    log_density: LogDensity,
    x: Floats,
    slope: Floats,
    momentum: Floats,
    step: NDArray[np.float64],
) -> tuple[Floats, Floats, Floats, Floats]:
    """End point, its log-density and gradient, and the momentum there."""
    # A diverging path overflows and is then rejected: its warnings mean nothing.
    with np.errstate(all="ignore"):
        momentum = momentum + 0.5 * step * slope
        for leap in range(_LEAPS):
            x = x + step * momentum
            value, slope = log_density(x)
            momentum = momentum + (step if leap < _LEAPS - 1 else 0.5 * step) * slope
    return x, value, slope, momentum
