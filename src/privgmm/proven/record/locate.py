"""Where each class lies and how wide it is, from noisy column histograms: a grid posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import logsumexp, ndtr

from privgmm.proven.record.tuning import TUNING
from privgmm.types import Flags, Floats

# Half a bin between candidate means; widths from a quarter of a bin to a quarter of the range.
_WIDTHS = 14
_NARROWEST = 0.25
_COUNTS = 40
# Means per bin and widths of the bells that a column is compared with (``odd_columns``).
_FINE = (16, 40)
# First one in so many means and widths is tried, which decides most columns and changes no decision.
_FEW = 4


@dataclass(frozen=True)
class Bins:
    """The noisy histograms of all columns themselves: tables (K, d, B), the noise (K,) of a bin, low and width (K, d).

    ``open`` (K, d, B) are the bins that rows in the stated bounds may lie in; others are empty and have no noise.
    """

    tables: Floats
    sd: Floats
    low: Floats
    width: Floats
    open: Flags

    @property
    def places(self) -> Floats:
        """(K, d, B) the middles of the bins."""
        steps = np.arange(self.tables.shape[-1]) + 0.5
        return np.asarray(self.low[..., None] + self.width[..., None] * steps)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """(K, d) each: where the first open bin begins and the last one ends."""
        first = self.open.argmax(axis=-1)
        last = self.open.shape[-1] - self.open[..., ::-1].argmax(axis=-1)
        return self.low + self.width * first, self.low + self.width * last


def bins_below(
    tables: Floats, sigma: float, low: Floats, width: Floats, top: Floats | None = None
) -> Bins:
    """Histograms (K, d, B) whose bins begin below ``top`` (d,), if it is given: what was answered of others is noise."""
    steps = np.arange(tables.shape[-1])
    # A bin that begins within rounding of the end holds nothing.
    inside = low[..., None] + width[..., None] * (steps + 1e-6) < (
        np.inf if top is None else top[:, None]
    )
    return Bins(np.where(inside, tables, 0.0), np.full(len(tables), sigma), low, width, inside)


@dataclass(frozen=True)
class Located:
    """Posterior of each class given its histograms.

    counts, counts_sd : (K,); means, means_sd, log_sd, log_sd_sd : (K, d), in the unit coordinates;
    coarse : (K, d) the probability that the class is narrower than half a bin;
    shown : (K, d) columns whose mean and width come from the bins, because no Gaussian explains them or perhaps none does;
    spikes : (K, d) columns of which most rows share a value, which is at spots (K, d) (spikes.py);
    bins : the first histograms, which cover the whole stated region; finer : those of second looks.
    """

    counts: Floats
    counts_sd: Floats
    means: Floats
    means_sd: Floats
    log_sd: Floats
    log_sd_sd: Floats
    coarse: Floats
    shown: Flags
    spikes: Flags
    spots: Floats
    bins: Bins
    finer: tuple[Bins, ...] = ()


def locate(counts: Floats, bins: Bins, largest: float) -> Located:
    """Fit n_k N(m_kj, s_kj^2) to each noisy histogram; noise N(0, sigma^2) on all totals.

    For a template p (bin probabilities of N(m, s^2)) the log-likelihood of a histogram h is, up to
    a constant, (n <h, p> - n^2 ||p||^2 / 2) / sigma^2: quadratic in n, so the posterior over the
    grid (n, m, s) is one matrix product per class. The columns of a class share n.
    """
    tables, sigma, low, width = bins.tables, float(bins.sd[0]), bins.low, bins.width
    n_classes, d, n_bins = tables.shape
    m, s, templates = _templates(n_bins)
    energy = np.einsum("gb,gb->g", templates, templates)
    grid = np.geomspace(2.0, max(largest, 4.0), _COUNTS)
    spacing = grid[1] / grid[0] - 1
    n_mean, n_sd = np.empty(n_classes), np.empty(n_classes)
    moments, coarse = np.empty((4, n_classes, d)), np.empty((n_classes, d))
    for k in range(n_classes):
        match = tables[k] @ templates.T
        likely = grid[:, None, None] * match
        likely -= 0.5 * grid[:, None, None] ** 2 * energy
        likely /= sigma**2
        most = likely.max(axis=2, keepdims=True)
        likely -= most
        np.exp(likely, out=likely)
        total = likely.sum(axis=2)
        # Flat in n: the grid is logarithmic, hence + ln n.
        log_n = (np.log(total) + most[:, :, 0]).sum(axis=1)
        log_n += np.log(grid) - 0.5 * ((grid - counts[k]) / sigma) ** 2
        p_n = np.exp(log_n - logsumexp(log_n))
        n_mean[k] = p_n @ grid
        n_sd[k] = np.sqrt(p_n @ (grid - n_mean[k]) ** 2 + (spacing * n_mean[k] / 2) ** 2 + 1)
        post = np.einsum("nd,ndg->dg", p_n[:, None] / total, likely)
        moments[0, k], moments[1, k] = post @ m, post @ (m * m)
        moments[2, k], moments[3, k] = post @ np.log(s), post @ np.log(s) ** 2
        coarse[k] = post @ (s < TUNING.histograms.narrow)
    spread = np.sqrt(
        np.maximum(moments[1::2] - moments[::2] ** 2, 0) + TUNING.histograms.unresolved
    )
    bell = mean, log_sd = moments[0], moments[2]
    seen = bin_moments(tables, sigma)
    far, strays = outside(tables, mean, np.exp(log_sd), sigma)
    # Mean and width of the fitted Gaussian are used as long as they agree with those of the bins.
    plain = (n_mean > TUNING.histograms.well_seen * sigma)[:, None]
    whole = plain & (seen.total > TUNING.histograms.most_rows * n_mean[:, None])
    strays &= plain
    spread[0] = np.where(whole, np.hypot(spread[0], seen.mean - mean), spread[0])
    spread[1] = np.where(whole, np.hypot(spread[1], np.log(seen.sd) - log_sd), spread[1])
    better = whole & (seen.mean_sd < spread[0])
    mean, spread[0] = np.where(better, seen.mean, mean), np.where(better, seen.mean_sd, spread[0])
    better = whole & (seen.log_sd_sd < spread[1])
    log_sd = np.where(better, np.log(seen.sd), log_sd)
    spread[1] = np.where(better, seen.log_sd_sd, spread[1])
    mean = np.where(strays, seen.mean, mean)
    log_sd = np.where(strays, np.log(seen.sd), log_sd)
    spread[0] = np.where(strays, seen.mean_sd, spread[0])
    spread[1] = np.where(strays, seen.log_sd_sd, spread[1])
    # A bin far from the Gaussian may be a spike or noise; mean and width are set midway between the two cases, each within one standard deviation.
    doubtful = plain & ~strays & (far & (tables > TUNING.histograms.sure * sigma)).any(axis=-1)
    half = (seen.mean - bell[0]) / 2, (np.log(seen.sd) - bell[1]) / 2
    mean = np.where(doubtful, bell[0] + half[0], mean)
    log_sd = np.where(doubtful, bell[1] + half[1], log_sd)
    spread[0] = np.where(doubtful, np.hypot(seen.mean_sd, half[0]), spread[0])
    spread[1] = np.where(doubtful, np.hypot(seen.log_sd_sd, np.minimum(half[1], 1.0)), spread[1])
    odd = left_out(bins, counts)
    held = _held(tables, np.maximum(counts, sigma))
    mean, log_sd = np.where(odd, held[0], mean), np.where(odd, np.log(held[1]), log_sd)
    spread[0] = np.where(odd, TUNING.histograms.odd_width * held[1], spread[0])
    spread[1] = np.where(odd, TUNING.histograms.odd_width, spread[1])
    return Located(
        n_mean, n_sd,
        low + width * mean, width * spread[0],
        np.log(width) + log_sd, spread[1],
        coarse, strays | doubtful | odd, np.zeros_like(odd), low + width * bell[0],
        bins,
    )  # fmt: skip


def left_out(bins: Bins, counts: Floats) -> Flags:
    """(K, d) columns of well-seen classes whose best Gaussian, of any size, leaves out too many of the class's ``counts`` (K,) rows."""
    m, s, templates = _templates(bins.tables.shape[-1])
    energy = np.einsum("gb,gb->g", templates, templates)
    near = (
        np.abs(np.arange(bins.tables.shape[-1]) + 0.5 - m[:, None])
        <= TUNING.histograms.ends * s[:, None] + 1.0
    )
    best = near[(np.maximum(bins.tables @ templates.T, 0.0) ** 2 / energy).argmax(axis=-1)]
    missing = counts[:, None] - (bins.tables * best).sum(axis=-1)
    seen = (counts > TUNING.histograms.well_seen * bins.sd)[:, None]
    return np.asarray(
        seen
        & (missing > TUNING.histograms.left_out * bins.sd[:, None] * np.sqrt(best.sum(axis=-1) + 1))
    )


def odd_columns(bins: Bins, counts: Floats) -> Flags:
    """(K, d) columns that no Gaussian of ``counts`` (K,) rows explains: those of ``left_out``, and in well-seen classes also steps, several modes and skew."""
    _, _, templates = _templates(bins.tables.shape[-1], *_FINE)
    energy = np.einsum("gb,gb->g", templates, templates)
    # A grid of bells explains even a bell up to a part of its rows only.
    limit = TUNING.histograms.no_bell * bins.sd**2 + (TUNING.histograms.grid_error * counts) ** 2
    odd = np.repeat(
        (counts > TUNING.histograms.well_seen * bins.sd)[:, None], bins.tables.shape[1], axis=1
    )
    grid = np.arange(energy.size).reshape(-1, _FINE[1])
    # Some of the bells explain most columns that are bells; only for the others all of them are tried.
    for some in (grid[::_FEW, ::_FEW].ravel(), grid.ravel()):
        k, j = np.nonzero(odd)
        n, tables = counts[k, None], bins.tables[k, j]
        explained = (2 * n * (tables @ templates[some].T) - n**2 * energy[some]).max(axis=-1)
        odd[k, j] = (tables**2).sum(axis=-1) - explained > limit[k]
    return np.asarray(odd | left_out(bins, counts))


def _held(tables: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Mean and width (K, d), in bins, of the nearest histograms without negative bins that hold so many rows (K,).

    What noise leaves in empty bins makes them somewhat too wide, which is the safe side for a frame.
    """
    n = counts[:, None, None]
    falling = -np.sort(-tables, axis=-1)
    above = (np.cumsum(falling, axis=-1) - n) / np.arange(1, tables.shape[-1] + 1)
    last = (falling > above).sum(axis=-1, keepdims=True) - 1
    share = np.maximum(tables - np.take_along_axis(above, last, axis=-1), 0.0) / n
    centre = np.arange(tables.shape[-1]) + 0.5
    mean = share @ centre
    return mean, np.sqrt(np.maximum(share @ centre**2 - mean**2, 0.0) + 1 / 12)


@dataclass(frozen=True)
class BinMoments:
    """Mean and width of the bins above their noise, in bins, with rough errors; each (K, d)."""

    total: Floats
    mean: Floats
    sd: Floats
    mean_sd: Floats
    log_sd_sd: Floats


def bin_moments(tables: Floats, sigma: float | Floats, sure: float | None = None) -> BinMoments:
    """No shape is assumed: mean and variance of the bins that are surely not noise, by so many standard deviations."""
    sure = TUNING.histograms.sure if sure is None else sure
    centre = np.arange(tables.shape[-1]) + 0.5
    mass = np.where(tables > sure * sigma, tables, 0.0)
    total = np.maximum(mass.sum(axis=-1), 1e-9)
    mean = mass @ centre / total
    square = mass @ centre**2 / total
    sd = np.sqrt(np.maximum(square - mean**2, 0.0) + 1 / 12)
    bins = np.maximum((mass > 0).sum(axis=-1), 1)
    # The noise of a kept bin moves the mean by its distance; and what was dropped is unknown.
    sigma = np.broadcast_to(sigma, (*total.shape, 1))[..., 0]
    relative = sigma * np.sqrt(bins) / total
    reach = np.sqrt(((centre - mean[..., None]) ** 2 * (mass > 0)).sum(axis=-1) / bins)
    missing = TUNING.histograms.missed * np.maximum(sigma / total, 0.02)
    mean_sd = np.sqrt((relative * reach) ** 2 + (missing * sd) ** 2 + TUNING.histograms.unresolved)
    log_sd_sd = np.sqrt(
        (relative * (reach / sd) ** 2 / 2) ** 2 + missing**2 + TUNING.histograms.unresolved
    )
    return BinMoments(total, mean, sd, mean_sd, log_sd_sd)


def outside(tables: Floats, mean: Floats, sd: Floats, sigma: float | Floats) -> tuple[Flags, Flags]:
    """Bins (K, d, B) beyond the fitted bell, and columns (K, d) that show more mass there than noise can explain."""
    centre = np.arange(tables.shape[-1]) + 0.5
    far = np.abs(centre - mean[..., None]) > TUNING.histograms.ends * sd[..., None] + 1.0
    beyond = np.where(far, tables, 0.0)
    left = np.where(centre < mean[..., None], beyond, 0.0).sum(axis=-1)
    total = beyond.sum(axis=-1)
    size = np.maximum(far.sum(axis=-1), 1)
    single = beyond.max(axis=-1) > TUNING.histograms.single * sigma
    together = np.maximum(
        total, np.maximum(left, total - left)
    ) > TUNING.histograms.together * sigma * np.sqrt(size)
    return far, np.asarray(single | together)


def _templates(
    n_bins: int, steps: int = 2, widths: int = _WIDTHS, narrowest: float = _NARROWEST
) -> tuple[Floats, Floats, Floats]:
    """(G,) means, (G,) standard deviations in bins, (G, n_bins) probabilities of the bins; ``steps`` means a bin."""
    # Edges and middles of bins: a class much narrower than its bins, cut by an edge, is told from a wide one.
    means = np.arange(steps * n_bins + 1) / steps
    sds = np.geomspace(narrowest, n_bins / 4, widths)
    m, s = (g.ravel() for g in np.meshgrid(means, sds, indexing="ij"))
    # How far an edge lies from a mean is a whole number of steps, so few of the integrals differ.
    apart = np.arange(-steps * n_bins + steps, steps * (n_bins - 1) + 1)
    below = ndtr(apart / steps / sds[:, None])
    inside = sliding_window_view(below[:, steps:] - below[:, :-steps], steps * (n_bins - 3) + 1, 1)
    parts = np.empty((means.size, sds.size, n_bins))
    parts[..., 0] = below[:, means.size - 1 :: -1].T
    parts[..., 1:-1] = inside[:, ::-1, ::steps].swapaxes(0, 1)
    parts[..., -1] = 1 - below[:, : -means.size - 1 : -1].T
    return m, s, parts.reshape(m.size, n_bins)
