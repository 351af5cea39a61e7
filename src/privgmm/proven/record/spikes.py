"""Spikes: columns in which most rows share a value, such as the zeros of a count or the frequent answer to a yes/no question.

The variance of the fit is that of all rows. One row in a hundred far away contributes more to it than the spread of the others,
and noise hides that row in the bins. So (1) a column that seems to lie in one place is counted with ever finer bins: a Gaussian
finally shows its width, a shared value never does (``zoomed``). (2) The first frame of such a column is as wide as the range
stated for it (``hedged``). (3) Later frames are as wide as the distance of the other rows from the shared value, which the ratio
of two sums gives (``held``), or the shells, where they show rows farther out (``around``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privgmm.proven.record.frames import Frames, Moments, clip_radius, column_moments
from privgmm.proven.record.locate import Bins, Located, left_out
from privgmm.proven.record.tails import Shells, own_laws
from privgmm.proven.record.tuning import TUNING
from privgmm.types import Flags, Floats


def zoomed(first: Located, look: Callable[[Floats, Floats], Located]) -> Located:
    """The classes after finer looks at columns that lie in one place, and which of them have spikes, and where.

    ``look`` asks for histograms whose bins begin and are as wide as it is told, (K, d) each.
    """
    best, last = first, first.bins
    n, sd = first.counts[:, None], last.sd[:, None]
    fullest, edge = _fullest(last), _at_an_end(last)
    narrow = (n > TUNING.spikes.shows * sd) & (
        (edge & (fullest > TUNING.spikes.at_an_end * n)) | (first.coarse > TUNING.spikes.narrow)
    )
    alike = (fullest > TUNING.spikes.alike * n) | (n < TUNING.spikes.clearly * sd)
    spikes, spots = np.zeros_like(narrow), _place(last)
    low, high = last.ends
    for at in range(TUNING.spikes.refinements):
        if not narrow.any():
            break
        # No wider than the column, of which a hopelessly noisy width would be any multiple.
        width = np.minimum(best.log_sd + best.log_sd_sd, np.log(high - low))
        half = np.minimum(5 * np.exp(width) + 4 * best.means_sd, high - low)
        half = np.where(narrow, TUNING.spikes.bins_beside * last.width, half)
        middle = np.where(narrow, spots, best.means)
        finer = look(middle - half, 2 * half / TUNING.histograms.bins)
        best, last = _sharper(best, finer, narrow), finer.bins
        fullest, before = _fullest(last), fullest
        narrow &= fullest > TUNING.spikes.still * before
        spots = np.where(narrow, _place(last), spots)
        if at + 1 >= TUNING.spikes.looks_at_an_end:
            spikes |= narrow & edge
            narrow &= ~edge
    spikes |= narrow
    spikes |= spikes.any(axis=0) & alike

    def kept(old: Floats, new: Floats) -> Floats:
        """The new values, but for spikes the old ones: finer bins show nothing of a spike but the shared value."""
        return np.where(spikes, old, new)

    return replace(
        best,
        means=kept(first.means, best.means),
        means_sd=kept(first.means_sd, best.means_sd),
        log_sd=kept(first.log_sd, best.log_sd),
        log_sd_sd=kept(first.log_sd_sd, best.log_sd_sd),
        spikes=spikes,
        spots=spots,
    )


def _sharper(a: Located, b: Located, narrow: Flags) -> Located:
    """The more informative of two histograms, column by column; the finer one where ``a`` was too coarse.

    A width below the smallest template looks certain and is not. A column that is not Gaussian is described by the bins that
    hold all of it, because finer ones show its highest spike only.
    """
    coarse, odd = narrow & ~a.shown, left_out(a.bins, a.counts)
    mean = (coarse | (b.means_sd < a.means_sd)) & ~odd
    width = (coarse | (b.log_sd_sd < a.log_sd_sd)) & ~odd
    count = b.counts_sd < a.counts_sd
    return Located(
        np.where(count, b.counts, a.counts), np.where(count, b.counts_sd, a.counts_sd),
        np.where(mean, b.means, a.means), np.where(mean, b.means_sd, a.means_sd),
        np.where(width, b.log_sd, a.log_sd), np.where(width, b.log_sd_sd, a.log_sd_sd),
        np.where(width, b.coarse, a.coarse), np.where(width, b.shown, a.shown), a.spikes, a.spots,
        a.bins, (*a.finer, b.bins),
    )  # fmt: skip


def in_one_bin(at: Located) -> Located:
    """The same without finer looks: a column whose rows share a bin has a spike there."""
    tables, n = at.bins.tables, at.counts[:, None]
    spikes = (n > TUNING.spikes.shows * at.bins.sd[:, None]) & (
        tables.max(axis=-1) > TUNING.spikes.still * n
    )
    fullest = tables.argmax(axis=-1)[..., None]
    return replace(
        at, spikes=spikes, spots=np.take_along_axis(at.bins.places, fullest, axis=-1)[..., 0]
    )


def hedged(at: Located) -> Located:
    """Columns with spikes may be as narrow as they look or as wide as the stated range: their log width is set midway, with both within a standard deviation."""
    low, high = at.bins.ends
    wide = np.maximum(at.means - low, high - at.means) / TUNING.spikes.hedge
    half = np.maximum(np.log(wide) - at.log_sd, 0.0) / 2
    return replace(
        at,
        means_sd=np.where(at.spikes, np.hypot(at.means_sd, wide / 2), at.means_sd),
        log_sd=np.where(at.spikes, at.log_sd + half, at.log_sd),
        # A first frame is exp(log_sd + log_sd_sd^2) wide (``axis_frames``): as wide as the wider.
        log_sd_sd=np.where(at.spikes, np.maximum(at.log_sd_sd, np.sqrt(half)), at.log_sd_sd),
    )


def _spread_nearby(at: Located) -> Flags:
    """(d,) columns whose bins surely show rows off the spike, all of them near it for the range that is stated."""
    low, high = at.bins.ends
    far = np.zeros(at.spots.shape)
    for bins in (at.bins, *at.finer):
        away = np.abs(bins.places - at.spots[..., None])
        shown = bins.tables > TUNING.spikes.away * bins.sd[:, None, None]
        # The spike itself may lie in either of two bins.
        shown &= (away > 0.75 * bins.width[..., None]) & at.spikes[..., None]
        far = np.maximum(far, np.where(shown, away / (high - low)[..., None], 0.0).max(axis=-1))
    return np.asarray((far.max(axis=0) > 0) & (far.max(axis=0) < TUNING.spikes.nearby))


def widely_spread(at: Located, frames: Frames, chosen: Flags) -> Located:
    """The classes, with ``chosen`` columns (K, d) as wide as the frames: their bins showed the rows in one place, and not those far from it."""
    wide = np.log(np.sqrt((frames.inverse**2).sum(axis=2)))
    return replace(
        at,
        log_sd=np.where(chosen, np.maximum(at.log_sd, wide), at.log_sd),
        log_sd_sd=np.where(chosen, TUNING.far.doubt, at.log_sd_sd),
        means_sd=np.where(chosen, np.maximum(at.means_sd, np.exp(wide)), at.means_sd),
    )


def held(at: Located, round_: Moments, counts: Floats) -> tuple[Floats, Flags]:
    """(K, d) least widths of later frames along columns with spikes (elsewhere zero), and whether their spread was seen.

    Rows at the shared value s add nothing to the sums of x - s and of (x - s)^2, so the ratio of the two is the distance of the
    other rows. Columns mean the same in every class: all classes tell it together.
    """
    told = column_moments(round_, counts)
    away = told.means - at.spots
    rows = np.where(at.spikes, counts[:, None], 0.0)
    first = np.abs((rows * away).sum(axis=0))
    first_sd = np.linalg.norm(rows * told.means_sd, axis=0)
    second = (rows * (told.variances + away**2)).sum(axis=0)
    second_sd = np.linalg.norm(rows * told.variances_sd, axis=0)
    far = (np.maximum(second, 0.0) + TUNING.spikes.largest * second_sd) / np.maximum(
        first - TUNING.spikes.largest * first_sd, 1e-12
    )
    low, high = at.bins.ends
    farthest = np.maximum(at.spots - low, high - at.spots)
    spread = second > TUNING.spikes.seen * second_sd
    # Rows on both sides of a shared value have a sum near zero, whose ratio tells nothing: this frame held them.
    # Rows far from the spike would have raised the sum of squares.
    near = _spread_nearby(at) | (second < TUNING.spikes.quiet * second_sd)
    narrower = np.where(near, TUNING.spikes.narrower, TUNING.spikes.carefully)
    stays = np.where(spread, told.widths, told.widths / narrower)
    ratio = np.minimum(TUNING.spikes.times * far, farthest) / usual_radius(round_.frames)
    least = np.where(first > TUNING.spikes.seen * first_sd, ratio, stays)
    return np.where(at.spikes, least, 0.0), at.spikes & spread


def around(at: Located, frames: Frames, shells: Shells, counts: Floats) -> Floats:
    """(K, d) how wide frames must be along columns with spikes, so that no row lies far out for them; zero if none does.

    A radius that held those rows would be as many times too wide along all other columns.
    """
    usual = usual_radius(frames)
    laws = own_laws(shells, counts, frames.centres.shape[1])
    reach = np.array([law.reach for law in laws]) / usual
    low, high = at.bins.ends
    farthest = np.maximum(frames.centres - low, high - frames.centres) / usual
    widths = np.sqrt((frames.inverse**2).sum(axis=2))
    far = at.spikes & (reach > TUNING.spikes.far)[:, None]
    return np.where(far, np.minimum(widths * reach[:, None], farthest), 0.0)


def usual_radius(frames: Frames) -> float:
    """The radius, in a frame's units, that a bell of many rows is clipped at."""
    return clip_radius(frames.centres.shape[1], TUNING.spikes.many)[0]


def _pairs(bins: Bins) -> Floats:
    """(K, d, B - 1) rows of neighbouring bins together: a value between two of them is in both."""
    return np.asarray(bins.tables[..., 1:] + bins.tables[..., :-1])


def _fullest(bins: Bins) -> Floats:
    """(K, d) what the two fullest neighbouring bins hold."""
    return np.asarray(_pairs(bins).max(axis=-1))


def _place(bins: Bins) -> Floats:
    """(K, d) the middle of those two bins."""
    return np.asarray(bins.low + bins.width * (1 + _pairs(bins).argmax(axis=-1)))


def _at_an_end(bins: Bins) -> Flags:
    """(K, d) whether they lie at an end of what was stated, as the zeros of a count do; bells hardly lie there."""
    low, high = bins.ends
    place = _place(bins)
    return np.asarray(np.minimum(place - low, high - place) < 1.5 * bins.width)
