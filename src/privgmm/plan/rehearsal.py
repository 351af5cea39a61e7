"""Rehearse a release on invented tables of the stated size, and report how far off it is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.curate import release
from privgmm.errors import CautionWarning, InputError
from privgmm.model import fit, kl_divergence
from privgmm.model.fitting import mean_and_covariance
from privgmm.model.mixture import Mixture
from privgmm.plan.invent import Ranges, Shape, check_shape, invent, reach
from privgmm.privacy.accounting import epsilon_from_mu, mu_from_epsilon
from privgmm.types import Codes, Floats, Unit

# A table with more numbers than this is rehearsed on a smaller one, with mu larger in the same proportion: the error of a release
# depends on rows times mu (tests/plan compares the two).
LARGEST_CELLS = 1 << 22
# Where results scatter, there are up to MOST_TIMES as many rehearsals as asked for, until the standard error of the logarithm of
# the typical error, and of KL, is below SCATTER.
MOST_TIMES = 4
SCATTER = 0.2
# Held-back rows on which the accuracy of a released model is measured.
_HELD_BACK = 5000


@dataclass(frozen=True)
class Question:
    """The public facts: table sizes, classes, columns, what is protected, and at which epsilons.

    ``ranges`` are the stated ones; without them ``radius`` is the ball to state at record level, where one
    class spreads by about sqrt(d + 1) and class centres lie within 10 of the middle in every column.
    ``rehearsals`` are made at least; up to four times as many where results scatter. With
    ``rows_per_person`` the sizes are numbers of persons, who are protected with all of their rows, which are of any class.
    """

    sizes: tuple[int, ...]
    n_classes: int
    dim: int
    unit: Unit
    epsilons: tuple[float, ...]
    delta: float = 1e-5
    radius: float | None = None
    rehearsals: int = 5
    ranges: Ranges | None = None
    shape: Shape = "bells"
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        if not self.sizes or not self.epsilons:
            raise InputError("Give at least one table size and one epsilon.")
        if min(self.sizes) < 1:
            raise InputError("A table has at least one row.")
        if self.n_classes < 1 or self.dim < 1 or self.rehearsals < 1:
            raise InputError("Classes, columns and rehearsals must each be at least 1.")
        if self.rows_per_person is not None and self.rows_per_person < 1:
            raise InputError("A person has at least one row.")
        if self.unit == "label" and self.n_classes < 2:
            raise InputError("Protecting labels needs at least two classes.")
        if self.ranges is not None and self.radius is not None:
            raise InputError("State a radius or ranges of the columns, not both.")
        check_shape(self.shape)

    @property
    def counted(self) -> str:
        """What the sizes are numbers of."""
        return "rows" if self.rows_per_person is None else "persons"

    @property
    def stated_radius(self) -> float:
        """The ball for record level: by default the smallest that holds nearly all invented rows."""
        if self.radius is not None:
            return self.radius
        # The distance of a Gaussian row from the middle varies less than its single columns do.
        column = reach(self.dim) if self.shape == "spikes" else 5 + reach(self.dim) / 2
        return math.sqrt(self.dim) * column

    @property
    def region(self) -> dict[str, Any]:
        """What a release of an invented table states about where rows lie."""
        if self.unit == "label":
            return {}
        if self.ranges is None:
            return {"radius": self.stated_radius}
        return {"bounds": (self.ranges.lo, self.ranges.hi)}

    def rehearsed_rows(self, n: int) -> int:
        """How many rows or persons are rehearsed in place of n."""
        return min(n, max(1, LARGEST_CELLS // (self.dim * (self.rows_per_person or 1))))


@dataclass(frozen=True)
class Off:
    """How far off numbers are: half of them by at most ``typical``, nine in ten by at most ``most``."""

    typical: float
    most: float


@dataclass(frozen=True)
class Forecast:
    """What the rehearsals of one table size at one epsilon gave.

    share : absolute error of the share of a class
    mean : error of a mean, in standard deviations of the column within its class
    deviation : relative error of a standard deviation
    correlation : absolute error of a correlation
    kl_mean, kl_median, kl_forward : KL(released || fitted), and the median of KL(fitted || released); NaN
        where no invented table has enough rows of every class for covariances of their own
    """

    n: int
    epsilon: float
    rehearsals: int
    share: Off
    mean: Off
    deviation: Off
    correlation: Off
    kl_mean: float
    kl_median: float
    kl_forward: float
    accuracy: float
    accuracy_without_privacy: float


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """One release of one invented table: errors of all its numbers, by kind, and how good the whole is."""

    share: Floats
    mean: Floats
    deviation: Floats
    correlation: Floats
    kl: float
    kl_forward: float
    accuracy: float
    accuracy_without_privacy: float


def forecasts(
    question: Question, step: Callable[[int, int], None] | None = None
) -> Iterator[Forecast]:
    """One forecast per size and epsilon. ``step(done, total)`` is called after every rehearsal; the total
    grows where results scatter."""
    rows = [(n, epsilon) for n in question.sizes for epsilon in question.epsilons]
    total, done = len(rows) * question.rehearsals, 0
    for n, epsilon in rows:
        found: list[Rehearsal] = []
        while len(found) < question.rehearsals or _scattered(found, question.rehearsals):
            found.append(rehearse(question, n, epsilon, len(found)))
            done += 1
            total += len(found) > question.rehearsals
            if step is not None:
                step(done, total)
        yield _summary(n, epsilon, found)


def smallest_epsilon(rows: list[Forecast], target_kl: float) -> dict[int, float | None]:
    """For each table size the smallest rehearsed epsilon whose mean KL is at most the target."""
    answer: dict[int, float | None] = {row.n: None for row in rows}
    for row in sorted(rows, key=lambda r: -r.epsilon):
        if row.kl_mean <= target_kl:
            answer[row.n] = row.epsilon
    return answer


def rehearse(question: Question, n: int, epsilon: float, seed: int) -> Rehearsal:
    """Release an invented table and compare with (eq2) of that very table."""
    units = question.rehearsed_rows(n)
    each = question.rows_per_person or 1
    rows = units * each
    held_back = min(max(n, 1000), _HELD_BACK)
    X, y = invent(
        rows + held_back, question.n_classes, question.dim, question.shape, question.ranges, seed
    )
    test, y_test = X[rows:], y[rows:]
    X, y = X[:rows], y[:rows]
    if units < n:
        mu = mu_from_epsilon(epsilon, question.delta) * n / units
        epsilon = epsilon_from_mu(mu, question.delta)
    classes = list(range(question.n_classes))
    with warnings.catch_warnings():
        # Warnings about delta are given once, for the sizes that the user asked about.
        warnings.simplefilter("ignore", CautionWarning)
        released = release(
            X,
            y,
            epsilon,
            question.delta,
            question.unit,
            classes=classes,
            seed=seed,
            person=None if question.rows_per_person is None else np.arange(units).repeat(each),
            **question.region,
        ).mixture
    errors = errors_of(released, X, y)
    accuracy = float((released.predict(test) == y_test).mean())
    try:
        fitted = fit(X, y, classes=classes)
        kl, forward = kl_divergence(released, fitted), kl_divergence(fitted, released)
        without = float((fitted.predict(test) == y_test).mean())
    except InputError:  # a class with too few rows, or columns that are constant in it
        kl = forward = without = math.nan
    return Rehearsal(*errors, kl, forward, accuracy, without)


def errors_of(released: Mixture, X: Floats, y: Codes) -> tuple[Floats, Floats, Floats, Floats]:
    """Absolute errors of shares, of means and deviations (in standard deviations), and of correlations, where (eq2) defines them."""
    counts = np.bincount(y, minlength=released.n_classes)
    means, deviations, correlations = [], [], []
    above = np.triu_indices(X.shape[1], 1)
    for k in np.flatnonzero(counts > 1):
        mean, covariance = mean_and_covariance(X[y == k])
        spread = np.sqrt(np.diagonal(covariance))
        varies = spread > 0
        released_spread = np.sqrt(np.diagonal(released.covariances[k]))
        means.append((np.abs(released.means[k] - mean)[varies]) / spread[varies])
        deviations.append(np.abs(released_spread[varies] / spread[varies] - 1))
        # Two rows lie on a line, so all of their correlations are one and tell nothing.
        if counts[k] > 2:
            both = np.outer(varies, varies)[above]
            true = (covariance / np.outer(spread, spread).clip(1e-300))[above]
            ours = (released.covariances[k] / np.outer(released_spread, released_spread))[above]
            correlations.append(np.abs(ours - true)[both])
    shares = np.abs(released.weights - counts / counts.sum())
    return shares, _joined(means), _joined(deviations), _joined(correlations)


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def _scattered(found: list[Rehearsal], least: int) -> bool:
    """Whether more rehearsals are needed to know typical errors and KL."""
    if len(found) < 2 or len(found) >= MOST_TIMES * least:
        return False
    scores = [_known([r.kl for r in found])]
    scores.append(np.array([r.mean.mean() for r in found if r.mean.size]))
    return any(
        score.std(ddof=1) > SCATTER * math.sqrt(score.size)
        for score in (np.log(score[(score > 0) & np.isfinite(score)]) for score in scores)
        if score.size > 1
    )


def _summary(n: int, epsilon: float, found: list[Rehearsal]) -> Forecast:
    kl = _known([r.kl for r in found])
    return Forecast(
        n,
        epsilon,
        len(found),
        share=_off([r.share for r in found]),
        mean=_off([r.mean for r in found]),
        deviation=_off([r.deviation for r in found]),
        correlation=_off([r.correlation for r in found]),
        kl_mean=float(kl.mean()),
        kl_median=float(np.median(kl)),
        kl_forward=float(np.median(_known([r.kl_forward for r in found]))),
        accuracy=float(np.mean([r.accuracy for r in found])),
        accuracy_without_privacy=float(_known([r.accuracy_without_privacy for r in found]).mean()),
    )


def _known(values: list[float]) -> Floats:
    """The values of the rehearsals whose tables define them; NaN if none does."""
    known = np.array([value for value in values if not math.isnan(value)])
    return known if known.size else np.array([math.nan])


def _off(parts: list[Floats]) -> Off:
    values = np.concatenate(parts)
    if not values.size:
        return Off(math.nan, math.nan)
    return Off(float(np.median(values)), float(np.quantile(values, 0.9)))
