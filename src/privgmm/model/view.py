"""What of a large mixture a picture shows: which classes and features, over which ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.model.mixture import Mixture
from privgmm.types import Floats

# Most classes and features shown: beyond this many panels a page is heavy and no longer read.
MAX_PANELS = 120
MAX_CLASSES = 12
MAX_PAIR_FEATURES = 6
# Curves fade out this many standard deviations from their mean.
_REACH = 3.5
# A class this much wider than the typical one is cut at the panel's edge, or the others would
# shrink to needles.
_WIDE = 10.0
_LARGEST = 1e307


@dataclass(frozen=True)
class View:
    """Indices into the mixture's classes and features, in their own order."""

    classes: tuple[int, ...]
    features: tuple[int, ...]
    pair_features: tuple[int, ...]


def choose(mixture: Mixture) -> View:
    """The largest classes, and the features in which the released classes differ most."""
    classes = _top(mixture.weights, MAX_CLASSES)
    ranking = separation(mixture)
    features = _top(ranking, MAX_PANELS // len(classes))
    return View(classes, features, _top(ranking, MAX_PAIR_FEATURES))


def separation(mixture: Mixture) -> Floats:
    """(d,) variance between class means over the variance within classes."""
    w = mixture.weights
    with np.errstate(all="ignore"):
        between = w @ (mixture.means - w @ mixture.means) ** 2
        ratio = between / (w @ np.diagonal(mixture.covariances, axis1=1, axis2=2))
    return np.asarray(np.nan_to_num(ratio, nan=0.0, posinf=_LARGEST), dtype=np.float64)


def spread(mixture: Mixture) -> Floats:
    """(K, d) standard deviations."""
    return np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))


def plot_range(means: Floats, deviations: Floats) -> tuple[float, float]:
    """One axis range for the curves of all classes in one feature; always finite and not empty."""
    typical = deviations <= _WIDE * np.median(deviations)
    with np.errstate(over="ignore"):
        low = float(np.clip((means - _REACH * deviations)[typical].min(), -_LARGEST, _LARGEST))
        high = float(np.clip((means + _REACH * deviations)[typical].max(), -_LARGEST, _LARGEST))
    # Below this width neighbouring float64 numbers would be visible as steps.
    least = max(abs(low), abs(high)) * 1e-9 + np.finfo(float).tiny
    if high - low < least:
        low, high = low - least, high + least
    return low, high


def ticks(low: float, high: float, at_most: int) -> list[float]:
    """A few round values inside [low, high]."""
    from matplotlib.ticker import MaxNLocator

    # The locator meets numbers of order one, whatever the units of the data are.
    scale = max(abs(low), abs(high))
    locator = MaxNLocator(nbins=at_most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2)
    exponent = 10.0 ** np.floor(np.log10(scale))
    if not 1e-300 < exponent < 1e300:
        return [low, high]
    values = locator.tick_values(low / exponent, high / exponent) * exponent
    return [float(v) for v in values if low <= v <= high]


def class_keys(names: list[str]) -> list[str]:
    """Short plain labels to write into pictures: the names themselves if all are short, else A, B, …"""
    if all(len(n) <= 3 and n.isascii() and n.isalnum() for n in names):
        return names
    return [_letters(k) for k in range(len(names))]


def _letters(k: int) -> str:
    head, tail = divmod(k, 26)
    return (_letters(head - 1) if head else "") + chr(ord("A") + tail)


def _top(scores: Floats, n: int) -> tuple[int, ...]:
    """Indices of the n largest scores (the first of equals), in ascending order."""
    return tuple(sorted(np.argsort(-scores, kind="stable")[:n].tolist()))
