"""Where records may lie, as the user states it: a ball, or per-column ranges. Never read from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.checks import real
from privgmm.data.names import shown
from privgmm.errors import InputError
from privgmm.types import Floats

# Rows farther outside than this are moved here before any arithmetic, so that 1e308 cannot overflow. The clip into
# the ball itself is done in integers by the queries.
_FAR = 1e6
# Squares and products of coordinates must stay far inside the range of floats.
LARGEST, SMALLEST = 1e100, 1e-100
# Rows mapped at a time, so few that scale and center, repeated for each of them, stay in cache.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Region:
    """An axis-aligned ellipsoid {x : ||(x - center) / scale||_2 <= 1} that stands for the stated bounds."""

    center: Floats
    scale: Floats
    # How far a column may lie from the center, in unit coordinates: 1 for a ball, 1 / sqrt(d) for a box.
    extent: float = 1.0

    @property
    def enclosing_radius(self) -> float:
        """The radius of the smallest ball around ``center`` that holds the region."""
        return float(self.scale.max())

    def to_unit(self, X: Floats) -> Floats:
        """Rows in coordinates in which the region is the unit ball; each row is mapped by itself."""
        out = np.empty(X.shape)
        # Both operands have the same shape, because broadcasting one short row over many is several times slower.
        size = min(_BLOCK, X.shape[0])
        scale, shift = (np.tile(v, (size, 1)) for v in (self.scale, self.center / self.scale))
        for start in range(0, X.shape[0], _BLOCK):
            part = out[start : start + _BLOCK]
            n = part.shape[0]
            with np.errstate(over="ignore"):
                np.divide(X[start : start + n], scale[:n], out=part)
                part -= shift[:n]
            np.clip(part, -_FAR, _FAR, out=part)
        return out

    def from_unit(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Means (K, d) and covariances (K, d, d) back in the user's coordinates."""
        return (
            means * self.scale + self.center,
            covariances * np.outer(self.scale, self.scale),
        )


def as_pair(bounds: Any, names: Sequence[str]) -> Any:
    """Bounds given by column as one pair (lo, hi), each with a number per column; other bounds stay as they are.

    A dict has a pair for each of the ``names`` (further names in it are ignored), a list one pair per
    column in their order.
    """
    if isinstance(bounds, Mapping):
        missing = [name for name in names if name not in bounds]
        if missing:
            raise InputError(
                f"The bounds have no range for {shown(missing)}; state (lo, hi) for every feature."
            )
        pairs = [bounds[name] for name in names]
    elif (
        isinstance(bounds, list)
        and len(bounds) == len(names)
        and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in bounds)
    ):
        pairs = bounds
    else:
        return bounds
    try:
        lows, highs = zip(*((low, high) for low, high in pairs), strict=True)
    except (TypeError, ValueError):
        raise InputError("Bounds by column must be pairs (lo, hi) of numbers.") from None
    return lows, highs


def stated_region(dim: int, bounds: Any, radius: float | None, center: ArrayLike | None) -> Region:
    """The region of ``radius`` and ``center``, or of ``bounds = (lo, hi)`` (scalars or one per column).

    A box with half-widths h becomes the ellipsoid with semi-axes sqrt(d) h, the smallest of its
    shape that holds the box.
    """
    if (bounds is None) == (radius is None):
        raise InputError(
            "Record-level releases need where rows may lie, stated by you: give either radius "
            "(with center) or bounds=(lo, hi)."
        )
    if radius is not None:
        return _sized(_ball(dim, radius, center))
    if center is not None:
        raise InputError("A center goes with a radius; bounds=(lo, hi) already fix the center.")
    try:
        low, high = (np.broadcast_to(_numbers(side), (dim,)) for side in bounds)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"Bounds must be a pair (lo, hi) of numbers, or of {dim} each.") from None
    half = high / 2 - low / 2
    if not (np.isfinite(half).all() and (half > 0).all()):
        raise InputError("Bounds must be finite with lo < hi in every column.")
    return _sized(Region(low / 2 + high / 2, half * np.sqrt(dim), 1 / np.sqrt(dim)))


def _sized(region: Region) -> Region:
    if (
        region.scale.min() < SMALLEST
        or region.scale.max() > LARGEST
        or np.abs(region.center).max() > LARGEST
    ):
        raise InputError(
            f"Stated bounds must lie between {SMALLEST:g} and {LARGEST:g} in size; rescale the columns."
        )
    return region


def _ball(dim: int, radius: float, center: ArrayLike | None) -> Region:
    if not (np.isfinite(real(radius, "The radius")) and radius > 0):
        raise InputError(f"The radius must be a positive number, got {radius}.")
    try:
        middle = np.broadcast_to(_numbers(0.0 if center is None else center), (dim,))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"The center must be one number or {dim} numbers.") from None
    if not np.isfinite(middle).all():
        raise InputError("The center must be finite numbers.")
    return Region(np.array(middle), np.full(dim, float(radius)))


def _numbers(values: ArrayLike) -> Floats:
    given = np.asarray(values)
    if given.dtype.kind not in "iufO":
        raise TypeError
    return np.asarray(given, dtype=np.float64)
