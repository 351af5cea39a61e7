"""The methods behind the curves of the figures: each takes private rows and a budget, and gives numbers about what it releases.

Published designs and baselines are measured by their expectation over the noise, which is the paper's
figure of merit: one draw of a heavy-tailed KL says little. KL(released || fitted) is exact up to a
small Monte Carlo term; what has no closed form is the mean of ``DRAWS`` releases. Proven releases and
refits are single draws.

``rows_of`` is the trial that most figures share: every method on the same rows, its numbers, and its marginals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from privgmm import published
from privgmm.curate import release
from privgmm.data import ArraySource
from privgmm.errors import InputError
from privgmm.model import Mixture, fit, kl_divergence
from privgmm.model.fitting import mean_and_covariance
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.label import PublicView, public_view, release_view
from privgmm.published import BaselineDesign, Design
from privgmm.reproduce.harness.drawing import draw_lines
from privgmm.reproduce.harness.experiment import Experiment, Row, Setting, Study, Task, stream
from privgmm.reproduce.harness.findings import kl_findings
from privgmm.types import Floats, Unit

DELTA = 1e-5
DRAWS = 30  # and fewer in more than 20 dimensions, where a draw takes long and an average is stable
# Rows of each class, drawn from the fit, on which a release's accuracy is compared with the fit's own.
PROBE_ROWS = 200

PROVEN = "proven"
PUBLISHED = "published"
RESAMPLED = "non-private"
BASELINES = ("laplace", "gaussian", "colored-gaussian", "r1smg")
R1SMG_L2 = "r1smg-l2"
# Readings and solutions of the published method: departures only in (eq10), (P2) solved jointly, both, the
# scalable variant, (eqr5) as printed, and clipped classes that keep the shape they had before clipping.
DEPARTURES, JOINT = "published-departures", "published-joint"
DEPARTURES_JOINT, SCALABLE = "published-departures-joint", "published-scalable"
PRINTED, SHAPED = "published-8B", "published-shaped"
_CHOICES: dict[str, dict[str, Any]] = {
    PUBLISHED: {},
    DEPARTURES: {"neighbours": "departures"},
    JOINT: {"method": "joint"},
    DEPARTURES_JOINT: {"neighbours": "departures", "method": "joint"},
    SCALABLE: {"scalable": True},
    PRINTED: {"eqr5": "printed"},
}
ALL = (PROVEN, PUBLISHED, *BASELINES, RESAMPLED)


@dataclass(frozen=True, eq=False)
class DataCase:
    """One data set and its budget. ``X_test`` are rows that no method sees.

    radius : the ball of a record-level case, and B of the scalable variant
    unclipped : the fit of the rows before they were clipped to the ball
    """

    X: Floats
    y: NDArray[np.intp]
    fitted: Mixture
    epsilon: float
    X_test: Floats
    y_test: NDArray[np.intp]
    unit: Unit = "label"
    radius: float | None = None
    unclipped: Mixture | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """Fields of a Row, and the releases behind them."""

    numbers: dict[str, Any]
    releases: tuple[Mixture, ...]


def probe(fitted: Mixture, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Fresh rows of the fitted mixture, equally many of each class."""
    return by_class(fitted, np.full(fitted.n_classes, PROBE_ROWS), seed)


def measured(method: str, case: DataCase, seed: int) -> Measured:
    """The method on this case."""
    if method == PROVEN:
        return _single(proven_release(case, seed), case)
    if method == RESAMPLED:
        counts = np.bincount(case.y, minlength=case.fitted.n_classes)
        return _single(refitted(case.fitted, counts, seed), case)
    design = designed(method, case)
    rng = np.random.default_rng(seed)
    draws = min(DRAWS, 600 // case.fitted.dim)
    drawn = tuple(design.draw(rng) for _ in range(draws))
    if isinstance(design, BaselineDesign):
        weights = np.mean([m.weights for m in drawn], axis=0)
        exact = {"kl": design.expected_kl(draws), "kl_means": float(weights @ design.means_kl())}
        return Measured(exact, drawn)
    samples = max(100, 6000 // case.fitted.dim)
    precision = np.linalg.inv(design.fitted.covariances)
    per_class = 0.5 * np.einsum("kij,kij->k", precision, design.mean_noise)
    exact = {
        "kl": design.true_expected_kl(samples)[0],
        "kl_means": float(design.weights_map.mean_weights() @ per_class),
        "iterations": len(design.history),
        "rises": float(max(np.diff(design.history), default=0.0)),
    }
    # The design's own fit, which clipping or a grid may have moved, is what it is measured by.
    return Measured({**closeness(drawn, design.fitted, case), **exact}, drawn)


def _single(released: Mixture, case: DataCase) -> Measured:
    return Measured(closeness([released], case.fitted, case), (released,))


def proven_release(case: DataCase, seed: int) -> Mixture:
    """One seeded proven release with the defaults of ``privgmm.release``."""
    if case.unit == "label":
        return _label_release(case, seed)
    return release(
        case.X,
        case.y,
        epsilon=case.epsilon,
        delta=DELTA,
        unit=case.unit,
        radius=case.radius,
        classes=list(case.fitted.classes),
        seed=seed,
    ).mixture


def _label_release(case: DataCase, seed: int) -> Mixture:
    """The same bits as ``privgmm.release``, but the view of the public features is kept for the next release.

    A sweep over epsilon releases labels of the same features again and again, and most of the time of a
    release goes into clustering them. A test compares the two.
    """
    names, codes = np.unique(case.y, return_inverse=True)
    source = ArraySource(case.X, codes.astype(np.intp), names.size)
    curator = Curator(source, SeededNoise(seed), "label", case.epsilon, DELTA)
    view = _public_view(np.ascontiguousarray(case.X).tobytes(), case.X.shape[1], names.size)
    weights, means, covariances = release_view(view, curator)[:3]
    return Mixture(weights, means, covariances, case.fitted.classes)


@lru_cache(maxsize=1)
def _public_view(features: bytes, dim: int, n_classes: int) -> PublicView:
    """The view of the public features; the last one is kept, because the points of a sweep follow one another."""
    return public_view(np.frombuffer(features).reshape(-1, dim), n_classes)


def designed(method: str, case: DataCase) -> Design | BaselineDesign:
    """The published method, in one of its readings, or a baseline, tuned to the case."""
    asked: dict[str, Any] = {"epsilon": case.epsilon, "delta": DELTA}
    if method in BASELINES:
        return published.baseline_design(method, case.X, case.y, **asked)
    if method == R1SMG_L2:
        return published.baseline_design("r1smg", case.X, case.y, sensitivity="l2", **asked)
    if case.unit == "record":
        asked["adjacency"] = "record-change"
    if case.unit == "record" or method == SCALABLE:
        asked["radius"] = case.radius
    if method == SHAPED:
        return published.design_for(_reshaped(case), len(case.y), **asked)
    if method not in _CHOICES:
        raise InputError(f"There is no method {method!r}; choose one of {', '.join(ALL)}.")
    return published.design(case.X, case.y, **asked, **_CHOICES[method])


def _reshaped(case: DataCase) -> Mixture:
    """The clipped classes with their total variance, but with the correlations and proportions they had before clipping."""
    fitted, before = case.fitted, (case.unclipped or case.fitted).covariances
    share = np.trace(fitted.covariances, axis1=1, axis2=2) / np.trace(before, axis1=1, axis2=2)
    covariances = before * share[:, None, None]
    return Mixture(fitted.weights, fitted.means, covariances, fitted.classes)


def closeness(releases: Sequence[Mixture], fitted: Mixture, case: DataCase) -> dict[str, float]:
    """How far releases are from the fit, on average: both directions of KL, the weights, the accuracy lost."""
    accuracy = balanced_accuracy(fitted.predict(case.X_test), case.y_test)
    found = [_closeness(released, fitted, case, accuracy) for released in releases]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def _closeness(
    released: Mixture, fitted: Mixture, case: DataCase, accuracy: float
) -> dict[str, float]:
    mine = balanced_accuracy(released.predict(case.X_test), case.y_test)
    return {
        "kl": kl_divergence(released, fitted),
        "kl_means": means_part(released, fitted),
        "kl_forward": kl_divergence(fitted, released),
        "weights_tv": float(0.5 * np.abs(released.weights - fitted.weights).sum()),
        "accuracy_lost": accuracy - mine,
    }


def balanced_accuracy(said: NDArray[np.generic], truth: NDArray[np.intp]) -> float:
    """The mean over classes of the share of their rows that were recognised."""
    hits = np.bincount(truth, weights=said == truth)
    counts = np.bincount(truth)
    return float((hits[counts > 0] / counts[counts > 0]).mean())


def means_part(released: Mixture, fitted: Mixture) -> float:
    """sum_k pi~_k (mu~_k - mu_k)^T Sigma_k^-1 (mu~_k - mu_k) / 2, a summand of KL(released || fitted).

    Both mixtures list their classes in the same order.
    """
    shift = (released.means - fitted.means)[:, :, None]
    z = np.linalg.solve(fitted.cholesky, shift)[:, :, 0]
    return float(0.5 * released.weights @ (z * z).sum(axis=1))


def refitted(fitted: Mixture, counts: NDArray[np.intp], seed: int) -> Mixture:
    """The fit (eq2) of a fresh sample of the fitted mixture itself: sampling error, no privacy.

    A release whose KL is below this one's costs less than having drawn other rows. Each class
    keeps its number of rows, so that every covariance exists; the weights are multinomial.
    """
    rng = np.random.default_rng(seed)
    n = int(counts.sum())
    means = np.empty_like(fitted.means)
    covariances = np.empty_like(fitted.covariances)
    for k, count in enumerate(counts):
        noise = rng.standard_normal((count, fitted.dim))
        rows = noise @ fitted.cholesky[k].T + fitted.means[k]
        means[k], covariances[k] = mean_and_covariance(rows)
    weights = rng.multinomial(n, fitted.weights) / n
    return Mixture(weights, means, covariances, fitted.classes)


def by_class(
    mixture: Mixture, counts: NDArray[np.intp], seed: int
) -> tuple[Floats, NDArray[np.intp]]:
    """``counts[k]`` rows of each class; classes are numbered 0..K-1."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(mixture.n_classes), counts)
    X = rng.standard_normal((y.size, mixture.dim))
    for k in range(mixture.n_classes):
        X[y == k] = X[y == k] @ mixture.cholesky[k].T + mixture.means[k]
    return X, np.array([int(name) for name in mixture.classes], dtype=np.intp)[y]


def case_of(
    task: Task, X: Floats, y: NDArray[np.intp], epsilon: float, radius: float | None = None
) -> DataCase:
    """A label-level case whose test rows are drawn from the fit; ``radius`` is B of the scalable variant."""
    fitted = fit(X, y)
    return DataCase(
        X, y, fitted, epsilon, *probe(fitted, stream(task.seed, "probe", task.trial)), radius=radius
    )


def rows_of(study: Study, task: Task, case: DataCase) -> Iterator[tuple[Row, Measured | None]]:
    """A row for every method, with the releases behind it.

    A method that refuses the setting (R1SMG in fewer than 3 dimensions) gives a row with its
    reason and no number.
    """
    for method in study.methods:
        row = Row(
            study.name, study.x_name, task.x, method, task.trial, study.source(), case.epsilon
        )
        seed = stream(task.seed, study.name, task.x, task.trial, method)
        try:
            found = measured(method, case, seed)
        except InputError as refusal:
            yield replace(row, note=str(refusal)), None
            continue
        yield replace(row, **found.numbers), found


def marginal_rows(study: Study, task: Task, case: DataCase, features: range) -> list[Row]:
    """Each method's row, then mean, deviation and distance from the fit for each (class, feature).

    Mean and deviation are those of the first release; the distance is the mean over the releases. The
    fit itself stands in the table as the method "non-private".
    """
    counts = np.bincount(case.y)
    out: list[Row] = []
    for row, found in rows_of(study, task, case):
        out.append(row)
        if found is None:
            continue
        bare = Row(
            row.figure, row.x_name, row.x, row.method, row.trial, row.data, row.epsilon
        )  # numbers of the whole release stand in its own row
        shown = (case.fitted,) if row.method == RESAMPLED else found.releases[:DRAWS]
        for k in range(case.fitted.n_classes):
            for j in features:
                mean, sd = _normal(shown[0], k, j)
                apart = [
                    total_variation(*_normal(m, k, j), *_normal(case.fitted, k, j)) for m in shown
                ]
                out.append(
                    replace(
                        bare,
                        class_name=str(case.fitted.classes[k]),
                        class_size=int(counts[k]),
                        feature=j,
                        mean=mean,
                        sd=sd,
                        distance=float(np.mean(apart)),
                    )
                )
    return out


def total_variation(mean: float, sd: float, other_mean: float, other_sd: float) -> float:
    """Total variation of two normal laws, exactly: their densities cross at one or two points."""
    if np.isclose(sd, other_sd, rtol=1e-9):
        return float(2 * norm.cdf(abs(mean - other_mean) / (2 * sd)) - 1)
    # ln ratio of the densities: a x^2 + b x + c = 0
    a = 1 / other_sd**2 - 1 / sd**2
    b = 2 * (mean / sd**2 - other_mean / other_sd**2)
    c = other_mean**2 / other_sd**2 - mean**2 / sd**2 + 2 * np.log(other_sd / sd)
    root = np.sqrt(max(b * b - 4 * a * c, 0.0))
    cut = np.sort([(-b - root) / (2 * a), (-b + root) / (2 * a)])
    inside = np.diff(norm.cdf(cut, mean, sd)) - np.diff(norm.cdf(cut, other_mean, other_sd))
    return float(abs(inside[0]))


def _normal(mixture: Mixture, k: int, j: int) -> tuple[float, float]:
    return float(mixture.means[k, j]), float(np.sqrt(mixture.covariances[k, j, j]))


def kl_by_epsilon(
    name: str,
    title: str,
    paper: str,
    settings: Mapping[str, Setting],
    source: Callable[[], str],
    run: Callable[[Study, Task], list[Row]],
) -> Experiment:
    """The figure that every data set has: KL of all methods against the privacy level."""
    study = Study(name, "epsilon", (0.5, 1, 2, 4, 8), ALL, settings, source, run)
    return Experiment(name, title, paper, study, ALL, kl_findings, draw_lines, "privacy level ε")
