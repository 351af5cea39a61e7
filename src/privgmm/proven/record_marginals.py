"""Where each class lies and how wide it is, from noisy column histograms: a grid posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from privgmm.model.mixture import Floats

# Half a bin between candidate means; widths from a quarter of a bin to a quarter of the range.
_WIDTHS = 14
_NARROWEST = 0.25
_COUNTS = 40
# Variance, in bins^2 and in squared log-width, that a histogram's grid and shape cannot resolve.
_UNRESOLVED = 0.02
# Narrower than this many bins, a class should be looked at again with finer ones.
_NARROW = 0.7


@dataclass(frozen=True)
class Located:
    """Posterior of each class given its histograms.

    counts, counts_sd : (K,); means, means_sd, log_sd, log_sd_sd : (K, d), in the unit coordinates;
    coarse : (K, d) the probability that the class is narrower than 0.7 bins.
    """

    counts: Floats
    counts_sd: Floats
    means: Floats
    means_sd: Floats
    log_sd: Floats
    log_sd_sd: Floats
    coarse: Floats


def locate(
    counts: Floats, tables: Floats, sigma: float, low: Floats, width: Floats, largest: float
) -> Located:
    """Fit n_k N(m_kj, s_kj^2) to each noisy histogram; noise N(0, sigma^2) on all totals.

    For a template p (bin probabilities of N(m, s^2)) the log-likelihood of a histogram h is, up to
    a constant, (n <h, p> - n^2 ||p||^2 / 2) / sigma^2: quadratic in n, so the posterior over the
    grid (n, m, s) is one matrix product per class. The columns of a class share n.
    """
    n_classes, d, n_bins = tables.shape
    m, s, templates = _templates(n_bins)
    energy = np.einsum("gb,gb->g", templates, templates)
    grid = np.geomspace(2.0, max(largest, 4.0), _COUNTS)
    spacing = grid[1] / grid[0] - 1
    n_mean, n_sd = np.empty(n_classes), np.empty(n_classes)
    moments, coarse = np.empty((4, n_classes, d)), np.empty((n_classes, d))
    for k in range(n_classes):
        match = tables[k] @ templates.T
        log_lik = (grid[:, None, None] * match - 0.5 * grid[:, None, None] ** 2 * energy) / sigma**2
        evidence = logsumexp(log_lik, axis=2)
        # Flat in n: the grid is logarithmic, hence + ln n.
        log_n = evidence.sum(axis=1) + np.log(grid) - 0.5 * ((grid - counts[k]) / sigma) ** 2
        p_n = np.exp(log_n - logsumexp(log_n))
        n_mean[k] = p_n @ grid
        n_sd[k] = np.sqrt(p_n @ (grid - n_mean[k]) ** 2 + (spacing * n_mean[k] / 2) ** 2 + 1)
        post = np.einsum("n,ndg->dg", p_n, np.exp(log_lik - evidence[:, :, None]))
        moments[0, k], moments[1, k] = post @ m, post @ (m * m)
        moments[2, k], moments[3, k] = post @ np.log(s), post @ np.log(s) ** 2
        coarse[k] = post @ (s < _NARROW)
    spread = np.sqrt(np.maximum(moments[1::2] - moments[::2] ** 2, 0) + _UNRESOLVED)
    return Located(
        n_mean, n_sd,
        low + width * moments[0], width * spread[0],
        np.log(width) + moments[2], spread[1],
        coarse,
    )  # fmt: skip


def _templates(n_bins: int) -> tuple[Floats, Floats, Floats]:
    """(G,) means, (G,) standard deviations in bins, (G, n_bins) probabilities of the bins."""
    means = (np.arange(2 * n_bins) + 0.5) / 2
    sds = np.geomspace(_NARROWEST, n_bins / 4, _WIDTHS)
    m, s = (g.ravel() for g in np.meshgrid(means, sds, indexing="ij"))
    below = ndtr((np.arange(1, n_bins) - m[:, None]) / s[:, None])
    ends = np.zeros((m.size, 1)), np.ones((m.size, 1))
    return m, s, np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)
