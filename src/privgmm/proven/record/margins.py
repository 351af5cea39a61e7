"""Record level: margins from the histograms of step 1 and from the release; they cost no further budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privgmm.model.margins import Margins, latent_correlations, quantiles
from privgmm.model.uncertainty import Errors, split
from privgmm.proven.margins import LEAST_ERROR, Seen, denoised, moments, shares
from privgmm.proven.record.locate import Bins, Located
from privgmm.types import Floats

# A finer histogram is used for a column if its bins are smaller than this part of the first ones.
_FINER = 0.6


@dataclass(frozen=True, eq=False)
class Bells:
    """What the release says of each column of each class, (K, d) each: rows, mean, deviation, and their errors."""

    counts: Floats
    means: Floats
    deviations: Floats
    mean_errors: Floats
    deviation_errors: Floats


def record_margins(
    located: Located,
    counts: Floats,
    released: tuple[Floats, Floats, Floats],
    errors: Errors,
    top: Floats | None = None,
) -> Margins:
    """Margins of all classes, in the coordinates of the histograms; samples never leave the first ones' range.

    ``released`` are weights, means and covariances; ``errors`` how far off they may be; ``top`` (d,) where columns
    end, if before the last bin.
    """
    _, means, covariances = released
    deviations, correlations = split(covariances)
    rows = np.repeat(counts[:, None], means.shape[1], axis=1)
    told = column_quantiles(
        located.bins,
        located.finer,
        Bells(rows, means, deviations, errors.means, errors.deviations),
        top,
    )
    latent = [latent_correlations(q, r) for q, r in zip(told, correlations, strict=True)]
    return Margins(told, np.stack(latent))


def column_quantiles(
    bins: Bins, finer: tuple[Bins, ...], bells: Bells, top: Floats | None = None
) -> Floats:
    """(K, d, 161) quantiles of all columns of all classes."""
    n_classes, d = bells.means.shape
    found = np.empty((n_classes, d), dtype=object)
    items = [(k, j) for k in range(n_classes) for j in range(d)]
    looks = {item: _looks(bins, finer, *item) for item in items}
    for many in (False, True):
        chosen = [item for item in items if (len(looks[item]) > 1) is many]
        if not chosen:
            continue
        edges = np.stack([_cells(bins, looks[item], *item) for item in chosen])
        seen = _observed(looks, chosen, edges, bells)
        ends = edges[:, -1] if top is None else top[[j for _, j in chosen]]
        for item, edge, mass in zip(chosen, edges, denoised(seen, ends), strict=True):
            found[item] = quantiles(edge, mass)
    return np.array([[found[k, j] for j in range(d)] for k in range(n_classes)])


def _looks(first: Bins, finer: tuple[Bins, ...], k: int, j: int) -> tuple[Bins, ...]:
    """The first histogram, and the last finer one where it tells more."""
    better = [b for b in finer if b.width[k, j] < _FINER * first.width[k, j]]
    return (first, *better[-1:])


def _edges(bins: Bins, k: int, j: int) -> Floats:
    return np.asarray(bins.low[k, j] + bins.width[k, j] * np.arange(bins.tables.shape[-1] + 1))


def _cells(first: Bins, looks: tuple[Bins, ...], k: int, j: int) -> Floats:
    """The bins as cells; with a finer look twice as many edges, the finer ones where there are such.

    There are no more than that: of B + 1 first edges two are ends and B - 1 inner, and of finer ones B + 1.
    """
    edges = _edges(first, k, j)
    if len(looks) == 1:
        return edges
    fine = _edges(looks[-1], k, j)
    fine = fine[(fine > edges[0]) & (fine < edges[-1])]
    inner = edges[1:-1]
    if fine.size:
        apart = 0.25 * looks[-1].width[k, j]
        inner = inner[(inner < fine[0] - apart) | (inner > fine[-1] + apart)]
    cells = np.sort(np.concatenate([edges[[0, -1]], fine, inner]))
    while cells.size < 2 * edges.size:
        widest = int(np.argmax(np.diff(cells)))
        cells = np.insert(cells, widest + 1, (cells[widest] + cells[widest + 1]) / 2)
    return cells


def _observed(
    looks: dict[tuple[int, int], tuple[Bins, ...]],
    chosen: list[tuple[int, int]],
    edges: Floats,
    bells: Bells,
) -> Seen:
    at = tuple(np.array(chosen).T)
    mean, deviation = bells.means[at], bells.deviations[at]
    parts, answers, error = [], [], []
    for (k, j), edge in zip(chosen, edges, strict=True):
        n = max(bells.counts[k, j], 1.0)
        seen = looks[k, j]
        parts.append(np.concatenate([shares(_edges(b, k, j), edge) for b in seen]))
        answers.append(np.concatenate([b.tables[k, j] / n for b in seen]))
        error.append(np.concatenate([np.full(b.tables.shape[-1], b.sd[k] / n) for b in seen]))
    # Mean 0 and second moment 1 in the released deviations.
    mean_error = np.maximum(bells.mean_errors[at] / deviation, LEAST_ERROR)
    square_error = np.maximum(2 * bells.deviation_errors[at] / deviation, LEAST_ERROR)
    zero, one = np.zeros_like(mean), np.ones_like(mean)
    return Seen(
        edges,
        np.concatenate([np.stack(parts), moments(edges, mean, deviation)], axis=1),
        np.column_stack([np.stack(answers), zero, one]),
        np.column_stack([np.stack(error), mean_error, square_error]),
        mean,
        deviation,
    )
