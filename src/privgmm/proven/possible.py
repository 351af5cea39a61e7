"""Means and deviations that no row inside the stated bounds could have are moved to the nearest that rows could.

Values in [a, b] with mean m have the variance (m - a)(b - m) at most, which a yes/no column reaches. Values that are whole
steps s apart have s^2 f (1 - f) at least, f the part of a step by which m lies beyond the value below. Noise knows neither: a
released share of 41 % came with a deviation of 0.78. The mean is known up to its own error, so both limits are those of
the most favourable mean within one standard error. Post-processing.
"""

from __future__ import annotations

import numpy as np

from privgmm.types import Floats


def possible(
    means: Floats, covariances: Floats, off: Floats, low: Floats, high: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Means (K, d) and covariances (K, d, d) of columns in [low, high] whose values are ``step`` apart (NaN: any), (d,) each.

    off : (K, d) standard errors of the means. Correlations stay as they are.
    """
    means = np.clip(means, low, high)
    nearest, farthest = np.maximum(means - off, low), np.minimum(means + off, high)
    widest = np.clip((low + high) / 2, nearest, farthest)
    most = (widest - low) * (high - widest)
    apart = np.where(np.isnan(step), 1.0, step)
    below, above = (nearest - low) / apart, (farthest - low) / apart
    ends = [(part := at - np.floor(at)) * (1 - part) for at in (below, above)]
    # With a whole value within reach all rows may be there.
    hidden = np.isnan(step) | (np.floor(below) != np.floor(above))
    least = np.where(hidden, 0.0, apart**2 * np.minimum(*ends))
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    # A mean known to lie at an end would leave no variance at all, which no release can have.
    wanted = np.where(most > 0, np.clip(variances, least, most), variances)
    times = np.sqrt(wanted / variances)
    return means, covariances * times[:, :, None] * times[:, None, :]
