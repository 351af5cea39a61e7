"""Discrete Gaussian noise: OpenDP's exact sampler for releases, a seeded one for experiments."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from privgmm.types import Integers


class NoiseSource(Protocol):
    """Integer noise of a given standard deviation (in grid steps)."""

    @property
    def publishable(self) -> bool:
        """Whether a release made with this noise may be published."""
        ...

    def gaussian(self, scale: float, size: int) -> Integers:
        """(size,) independent draws with standard deviation ``scale``."""
        ...


class OpenDPNoise:
    """OpenDP's exact discrete Gaussian, seeded by the operating system."""

    publishable = True

    def gaussian(self, scale: float, size: int) -> Integers:
        """(size,) draws of the discrete Gaussian, P(z) proportional to exp(-z^2 / (2 scale^2))."""
        # These three modules, and not opendp.prelude, which takes over a second to import; they take a tenth of that.
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian
        from opendp.metrics import l2_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
        return np.array(make_gaussian(*space, scale=scale)([0] * size), dtype=np.int64)


class SeededNoise:
    """Rounded continuous noise from a seed: repeatable, so the release is not publishable."""

    publishable = False

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian(self, scale: float, size: int) -> Integers:
        """(size,) draws of a continuous Gaussian, each rounded to the nearest integer."""
        return np.rint(self._rng.standard_normal(size) * scale).astype(np.int64)
