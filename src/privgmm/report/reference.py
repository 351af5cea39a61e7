"""Private rows to compare a release with: per-class fits and histograms. Never for publication."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.columns import ABSENT
from privgmm.model.divergence import kl_divergence
from privgmm.model.fitting import fit
from privgmm.model.labels import labelled_arrays
from privgmm.model.mixture import Mixture
from privgmm.releases import Release
from privgmm.types import Codes, Floats

_BINS = (10, 80)  # fewest and most over the axis range


@dataclass(frozen=True, eq=False)
class Reference:
    """The private rows by class, with the fit (eq2) of each class and feature.

    ``means`` and ``deviations`` are (K, d) with NaN where a class has too few rows; ``kl`` is
    KL(released || fitted), None when (eq2) cannot be fitted. ``cells`` (n, c) are the rows in the user's columns,
    levels by position and NaN where missing, ``codes`` (n,) their classes.
    """

    cells: Floats
    codes: Codes
    rows: tuple[Floats, ...]
    means: Floats
    deviations: Floats
    kl: float | None

    def histogram(self, k: int, j: int, low: float, high: float) -> tuple[Floats, Floats]:
        """Bin edges and the density of feature j in class k over [low, high]."""
        values = self.rows[k][:, j]
        # Scott's rule for the bin width; a class without spread gets the finest bins.
        width = 3.49 * self.deviations[k, j] * max(len(values), 1) ** (-1 / 3)
        fewest, most = _BINS
        bins = int(min(max((high - low) / width, fewest), most)) if width > 0 else most
        counts, edges = np.histogram(values, bins=bins, range=(low, high))
        return edges, counts / max(len(values), 1) / np.diff(edges)


def reference_of(release: Release, X: ArrayLike, y: ArrayLike) -> Reference:
    """Check private rows in the user's columns against a release and describe them."""
    mixture, cells = release.mixture, release.cells(X)
    if cells.shape[1] != len(release.columns):
        raise InputError(
            f"The reference has {cells.shape[1]} features but the release has {len(release.columns)}; "
            "give the columns the release was made from."
        )
    x, codes, _ = labelled_arrays(release.transform(cells), y, mixture.classes)
    rows = tuple(x[codes == k] for k in range(mixture.n_classes))
    means, deviations = np.full((2, *mixture.means.shape), np.nan)
    # Values near 1e308 have no finite variance: such a class is drawn without a fit.
    with np.errstate(over="ignore", invalid="ignore"):
        for k, members in enumerate(rows):
            if len(members) >= 2:
                means[k], deviations[k] = members.mean(axis=0), members.std(axis=0, ddof=1)
        kl = _kl(mixture, x, y)
    deviations[~((deviations > 0) & np.isfinite(deviations))] = np.nan
    cells = np.where(cells == ABSENT, np.nan, cells)
    return Reference(cells, codes, rows, means, deviations, kl)


def _kl(released: Mixture, x: Floats, y: ArrayLike) -> float | None:
    try:
        return kl_divergence(released, fit(x, y, classes=released.classes))
    except InputError:
        return None
