"""Synthetic rows under a condition, drawn from the exact conditional law: given classes, numbers and levels.

A number given in a column without steps fixes its normal score: the class weights are multiplied by the density there,
and the other scores follow their conditional normal law. A value that stands for an interval of scores (an integer,
a decimal, a spike) is drawn inside that interval. If several such values, levels or missing cells are given, rows are
drawn until they fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from privgmm.errors import InputError
from privgmm.model.columns import Column
from privgmm.model.labels import is_missing, label_text
from privgmm.model.margins import SCORES
from privgmm.model.mixture import Mixture
from privgmm.model.sampling import draw_codes, draw_rows
from privgmm.model.uncertainty import split
from privgmm.releases.release import Release
from privgmm.transform import Pca, apply_all, invert_all
from privgmm.types import Codes, Floats

# Rows tried for every row asked for, and the least number tried in all, before a condition is called too rare.
_TRIES, _LEAST_TRIES = 2_000, 2_000_000
# Scores closer than this are one point. A value that a class cannot have gets the second number as its score, and the third as its
# log density.
_POINT = 1e-9
_NEVER = 1e9
_IMPOSSIBLE = -1e12


@dataclass(frozen=True, eq=False)
class Conditions:
    """A release under conditions.

    log_weights : (K,) of the classes, given all scores that are fixed or drawn inside an interval
    columns, low, high : columns of the model with a fixed score, and the ends (K, m) of these scores, which are equal
        for all but perhaps the last column
    matches : (column of the user, its wanted cell) that rows are compared with; NaN asks for a missing cell,
        infinity for one that is not missing
    """

    release: Release
    log_weights: Floats
    columns: tuple[int, ...]
    low: Floats
    high: Floats
    matches: tuple[tuple[int, float], ...]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """n rows in the user's columns and their classes."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        weights /= weights.sum()
        kept: list[tuple[Floats, Codes]] = []
        found = tried = 0
        size = n
        while found < n:
            if tried >= max(_TRIES * n, _LEAST_TRIES):
                raise InputError(
                    "Rows with these given values are too rare to be drawn; give fewer columns at a time."
                )
            codes = draw_codes(weights, size, rng)
            X = self.release.in_columns(self._model_rows(codes, rng))
            fits = np.ones(size, dtype=bool)
            for j, cell in self.matches:
                missing = np.isnan(X[:, j])
                fits &= (
                    missing if np.isnan(cell) else ~missing if np.isinf(cell) else X[:, j] == cell
                )
            kept.append((X[fits], codes[fits]))
            found, tried = found + int(fits.sum()), tried + size
            # As many rows as should be needed by the rate so far, in batches of limited size.
            share = max(found, 1) / tried
            size = int(min(max(1.2 * (n - found) / share, 1000), 1 << 18))
        X, codes = (np.concatenate(part)[:n] for part in zip(*kept, strict=True))
        return X, _owners(self.release)[codes]

    def _model_rows(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Rows of the model: scores given those of the fixed columns, then values."""
        factors, g = _factors(self.release), list(self.columns)
        k, d = factors.shape[:2]
        z = draw_rows(np.zeros((k, d)), factors, codes, rng)
        if g:
            u = rng.random(codes.size)
            for c in np.unique(codes):
                rows = np.flatnonzero(codes == c)
                R = factors[c] @ factors[c].T
                fixed = np.broadcast_to(self.low[c], (rows.size, len(g))).copy()
                fixed[:, -1] = _inside(
                    *_last(R, g, self.low[c]), self.low[c, -1], self.high[c, -1], u[rows]
                )
                # Adding R_.g R_gg^-1 (wanted - drawn) to a draw gives a draw of the conditional law (Matheron's rule).
                gain = np.linalg.solve(R[np.ix_(g, g)], R[g])
                z[rows] += (fixed - z[rows][:, g]) @ gain
        return _values(self.release, z, codes)


def conditions(release: Release, given: Mapping[str, Any] | None) -> Conditions | None:
    """The conditions that ``given`` states, or one sentence on why they cannot hold; None if nothing is given."""
    if not given:
        return None
    by_name = {column.name: (j, column) for j, column in enumerate(release.columns)}
    with np.errstate(divide="ignore"):
        log_weights = np.log(_parts(release).weights)
    numbers: list[tuple[int, float, float]] = []
    matches: list[tuple[int, float]] = []
    for name, value in given.items():
        if name == release.label_name:
            classes = [label_text(c) for c in release.mixture.classes]
            names = [classes[owner] for owner in _owners(release)]
            if label_text(value) not in names:
                raise InputError(f"The release has no class {str(value)!r}.")
            log_weights = np.where([c == label_text(value) for c in names], log_weights, -np.inf)
        elif name not in by_name:
            raise InputError(f"The release has no column {name!r} to be given.")
        else:
            j, column = by_name[name]
            cell = _cell(column, value)
            if column.type == "category" or np.isnan(cell):
                matches.append((j, cell))
            else:
                half = 0.0 if column.step is None else column.step / 2
                numbers.append((j, cell - half, cell + half))
    if not np.isfinite(log_weights).any():
        raise InputError("The given class has no weight in this release.")
    return _fixed(release, log_weights, numbers, matches)


def _fixed(
    release: Release,
    log_weights: Floats,
    numbers: list[tuple[int, float, float]],
    matches: list[tuple[int, float]],
) -> Conditions:
    """Fix the scores of the given numbers (points, then the narrowest interval) and weigh the classes; rows are tried for the rest."""
    if numbers and any(isinstance(step, Pca) for step in release.preprocessing):
        raise InputError(
            "After a PCA only classes can be given; numbers are mixtures of its columns."
        )
    spans = [(j, lo, hi, *_scores(release, j, lo, hi)) for j, lo, hi in numbers]
    spans.sort(key=lambda span: float((span[4] - span[3]).max()))
    points = [s for s in spans if (s[4] - s[3]).max() <= _POINT]
    chosen = [*points, *spans[len(points) : len(points) + 1]]
    matches = [*matches, *((j, (lo + hi) / 2) for j, lo, hi, *_ in spans[len(chosen) :])]
    matches += [(s[0], np.inf) for s in chosen if release.columns[s[0]].missing]
    columns = tuple(release.model_column(s[0]) for s in chosen)
    k = _parts(release).n_classes
    low = np.stack([s[3] for s in chosen], axis=1) if chosen else np.empty((k, 0))
    high = np.stack([s[4] for s in chosen], axis=1) if chosen else np.empty((k, 0))
    if chosen:
        factors = _factors(release)
        for c in range(k):
            log_weights = log_weights.copy()
            R = factors[c] @ factors[c].T
            log_weights[c] += _log_mass(R, list(columns), low[c], high[c])
            log_weights[c] -= sum(np.log(_slope(release, c, s)) for s in points)
    if log_weights.max() < _IMPOSSIBLE:
        raise InputError("No class of this release can have the given values.")
    return Conditions(release, log_weights, columns, low, high, tuple(matches))


def _cell(column: Column, value: Any) -> float:
    """A given value as a cell: a level's position, a number, or NaN for a missing cell."""
    if is_missing(value) or value == "":
        if not column.missing:
            raise InputError(f"Cells of {column.name!r} are never missing.")
        return np.nan
    if column.type == "category":
        text = label_text(value)
        if text not in column.levels:
            raise InputError(f"{column.name!r} has no level {str(value)!r}.")
        return float(column.levels.index(text))
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"Give a number for {column.name!r}.") from None
    if not np.isfinite(number) or not np.isclose(column.obeyed(np.array([number]))[0], number):
        raise InputError(f"{column.name!r} cannot be {number:g} by what was stated of it.")
    return float(column.obeyed(np.array([number]))[0])


def _scores(release: Release, j: int, low: float, high: float) -> tuple[Floats, Floats]:
    """(K,) the smallest and the largest score whose value lies in [low, high], for every class."""
    at = release.model_column(j)
    column = release.columns[j]
    ends = [_in_model(release, j, value) for value in (low, high)]
    first = column.lo is not None and low <= column.lo
    last = column.hi is not None and high >= column.hi
    a, b = [], []
    for k in range(_parts(release).n_classes):
        if release.margins is None:
            parts = _parts(release)
            m, s = parts.means[k, at], np.sqrt(parts.covariances[k, at, at])
            span = [(value - m) / s for value in ends]
        else:
            q = release.margins.quantiles[k, at]
            span = [_score(q, ends[0], "left"), _score(q, ends[1], "right")]
            if ends[1] < q[0] or ends[0] > q[-1]:
                span = [_NEVER, _NEVER]
        reaches = span[0] != _NEVER
        a.append(-np.inf if first and reaches else span[0])
        b.append(np.inf if last and reaches else max(span))
    return np.array(a), np.array(b)


def _score(q: Floats, value: float, side: str) -> float:
    """The first (left) or last (right) score whose quantile is ``value``; infinite at and beyond the ends."""
    at = int(np.searchsorted(q, value, side="left" if side == "left" else "right"))
    if at == q.size or at == 0:
        return np.inf if at else -np.inf
    below, above = q[at - 1], q[at]
    part = 1.0 if above == below else (value - below) / (above - below)
    return float(SCORES[at - 1] + part * (SCORES[at] - SCORES[at - 1]))


def _slope(release: Release, k: int, span: tuple[Any, ...]) -> float:
    """The slope of the quantile function at a point; the density of scores is divided by it to get that of values."""
    at, z = release.model_column(span[0]), float(span[3][k])
    if release.margins is None:
        return float(np.sqrt(_parts(release).covariances[k, at, at]))
    if not np.isfinite(z):
        return 1.0
    near = np.array([z - 1e-4, z + 1e-4])
    rise = np.diff(np.interp(near, SCORES, release.margins.quantiles[k, at]))[0]
    return float(max(rise / 2e-4, 1e-300))


def _in_model(release: Release, j: int, value: float) -> float:
    """A value of the user's column j in the model's column; every step here maps each column by itself."""
    if not release.preprocessing:
        return value
    row = invert_all(release.preprocessing, release.mixture.means[:1])
    row[0, j] = value
    return float(apply_all(release.preprocessing, row)[0, j])


def _parts(release: Release) -> Mixture:
    """What a row is drawn from: the classes where there are margins, else the components of the model."""
    return release.model.parts if release.margins is None else release.mixture


def _owners(release: Release) -> Codes:
    """The class of each part."""
    if release.margins is None:
        return release.model.owners
    return np.arange(release.mixture.n_classes)


def _factors(release: Release) -> Floats:
    if release.margins is not None:
        return release.margins.cholesky
    return np.asarray(np.linalg.cholesky(split(_parts(release).covariances)[1]), dtype=np.float64)


def _values(release: Release, z: Floats, codes: Codes) -> Floats:
    if release.margins is not None:
        return release.margins.values(z, codes)
    parts = _parts(release)
    deviations = np.sqrt(np.diagonal(parts.covariances, axis1=1, axis2=2))
    return np.asarray(parts.means[codes] + z * deviations[codes])


def _last(R: Floats, g: list[int], at: Floats) -> tuple[float, float]:
    """Mean and deviation of the last given score, given the ones before."""
    if len(g) == 1:
        return 0.0, 1.0
    before, last = g[:-1], g[-1]
    gain = np.linalg.solve(R[np.ix_(before, before)], R[before, last])
    left = float(1 - gain @ R[before, last])
    return float(gain @ at[:-1]), math.sqrt(max(left, 1e-12))


def _inside(mean: float, deviation: float, low: float, high: float, u: Floats) -> Floats:
    """Draws of N(mean, deviation^2) between low and high, by inversion of uniform numbers u."""
    if high - low <= _POINT:
        return np.full(u.shape, low)
    a, b = (low - mean) / deviation, (high - mean) / deviation
    # The upper tail is mirrored to the lower one, where probabilities keep their digits.
    sign = -1.0 if a > 0 else 1.0
    first, last = float(ndtr(sign * a)), float(ndtr(sign * b))
    drawn = sign * np.asarray(ndtri(first + u * (last - first)))
    return np.asarray(np.clip(mean + deviation * drawn, low, high))


def _log_mass(R: Floats, g: list[int], low: Floats, high: Floats) -> float:
    """ln of the density of the given points times the mass of the last interval."""
    total = 0.0
    for i in range(len(g)):
        mean, deviation = _last(R, g[: i + 1], low[: i + 1])
        a, b = (low[i] - mean) / deviation, (high[i] - mean) / deviation
        if high[i] - low[i] <= _POINT:
            total += -0.5 * a * a - np.log(deviation * np.sqrt(2 * np.pi))
        else:
            sign = -1.0 if a > 0 else 1.0
            mass = abs(ndtr(sign * b) - ndtr(sign * a))
            total += float(np.log(mass)) if mass > 0 else -np.inf
    return float(total)
