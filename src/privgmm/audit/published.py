"""Attack on the published method and its baselines, each by what its noise leaves visible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm import published
from privgmm.audit.scores import (
    gaussian_ratio,
    label_odds,
    membership,
    outside_support,
    rank_one_ratio,
    shift,
)
from privgmm.audit.verdict import Attack
from privgmm.model import Mixture, fit
from privgmm.published.baseline_parts import MEAN_PARTS, gather
from privgmm.published.weights_map import WeightsMap, log_grid_size
from privgmm.types import Floats

# A ball that holds every row of the tables below; stated, as a user states it.
RADIUS = 8.0
# A draw takes half a millisecond; this many keep an audit within a minute.
MOST_TRIALS = 6_000
_CLASSES = [0, 1, 2]
# The baselines' claim holds for any split of epsilon; the attack picks nearly all for the means.
_MEAN_SHARE = 0.98
# The share of delta that the means get: Laplace needs none, and of R1SMG's three parts the covariances need none.
_DELTA_SHARES = {"laplace": 0.0, "gaussian": 1 / 3, "colored-gaussian": 1 / 3, "r1smg": 1 / 2}


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows and their labels."""

    X: Floats
    y: NDArray[np.intp]

    @property
    def fitted(self) -> Mixture:
        """The mixture of (eq2)."""
        return fit(self.X, self.y, classes=_CLASSES)


def tables(unit: str, dim: int = 3) -> tuple[LabelledRows, LabelledRows, str]:
    """Two neighbouring tables, and in words how they differ: one large cloud, two small ones, an outlier in one of these."""
    rng = np.random.default_rng(0)
    sizes = [600, dim + 3, dim + 3]
    X = rng.standard_normal((sum(sizes), dim))
    y = np.repeat(_CLASSES, sizes)
    X[-1] = 4.0
    if unit == "label":
        flipped = y.copy()
        flipped[-1] = 1
        name = "an outlier's label flips between the two smallest classes"
        return LabelledRows(X, flipped), LabelledRows(X, y), name
    moved = X.copy()
    moved[-1] = 0.0
    return LabelledRows(moved, y), LabelledRows(X, y), "a record moves from the centre to the edge"


def attacks(
    unit: str, epsilon: float, delta: float, trials: int, seed: int | None = None
) -> list[Attack]:
    """Covariances by their support, weights and means by likelihood ratios; then the baselines."""
    trials = min(trials, MOST_TRIALS)
    rng = np.random.default_rng(seed)
    a, b, name = _designs(unit, epsilon, delta)
    drawn = [[design.draw(rng) for _ in range(trials)] for design in (a, b)]

    def attack(part: str, score: Callable[[Mixture], float]) -> Attack:
        low, high = (np.array([score(m) for m in side]) for side in drawn)
        return Attack(f"published method, {part}", name, low, high)

    laws = ((a.fitted.means, a.mean_noise), (b.fitted.means, b.mean_noise))
    found = [
        # A positive score is frequent on the first table and impossible on the second.
        attack("covariances", lambda m: outside_support(m, b.fitted)),
        attack("means", lambda m: gaussian_ratio(m.means, *laws)),
    ]
    if unit == "label":
        maps = (a.weights_map, b.weights_map)
        found.append(attack("weights", lambda m: weights_ratio(m.weights, *maps)))
    return found + [
        _baseline_attack(kind, unit, epsilon, delta, trials, rng) for kind in MEAN_PARTS
    ]


def realistic_attacks(
    unit: str, epsilon: float, delta: float, trials: int, seed: int | None = None
) -> list[Attack]:
    """The guess of somebody who sees the released mixture and the outlier's row, and nothing else."""
    rng = np.random.default_rng(seed)
    *designs, name = _designs(unit, epsilon, delta)
    x = tables(unit)[1].X[-1]

    def score(released: Mixture) -> float:
        return label_odds(released, x, 1, 2) if unit == "label" else membership(released, x, 2)

    low, high = (
        np.array([score(design.draw(rng)) for _ in range(min(trials, MOST_TRIALS))])
        for design in designs
    )
    guess = "label guessed by the mixture" if unit == "label" else "membership by density"
    return [Attack(f"published method, {guess}", name, low, high, attacker="realistic")]


def _designs(
    unit: str, epsilon: float, delta: float
) -> tuple[published.Design, published.Design, str]:
    first, second, name = tables(unit)
    a, b = (
        published.design(
            table.X,
            table.y,
            epsilon,
            delta,
            adjacency="label" if unit == "label" else "record-change",
            radius=None if unit == "label" else RADIUS,
            classes=_CLASSES,
        )
        for table in (first, second)
    )
    return a, b, name


def weights_ratio(weights: Floats, first: WeightsMap, second: WeightsMap) -> float:
    """Log-likelihood ratio of released weights under two random maps f(. | pi)."""
    return log_probability(weights, second) - log_probability(weights, first)


def log_probability(weights: Floats, law: WeightsMap) -> float:
    """ln f(weights): the near candidates by (eq26), every point of S by the smoothing."""
    near = np.abs(law.candidates - weights).max(axis=1) < 0.1 / law.n
    spread = np.log(law.smoothing) - log_grid_size(law.n, weights.size)
    if not near.any():
        return float(spread)
    return float(np.logaddexp(np.log((1 - law.smoothing) * law.column[near].sum()), spread))


def _baseline_attack(
    kind: str, unit: str, epsilon: float, delta: float, trials: int, rng: np.random.Generator
) -> Attack:
    """The means that ``published.baseline`` releases when they get most of epsilon."""
    # Rank-one noise shrinks as the dimension grows, so R1SMG is attacked in more dimensions.
    first, second, name = tables(unit, dim=12 if kind == "r1smg" else 3)
    score = rank_one_ratio if kind == "r1smg" else shift
    centers = first.fitted.means, second.fitted.means
    budget = _MEAN_SHARE * epsilon, _DELTA_SHARES[kind] * delta
    scores = []
    for table in (first, second):
        facts = gather(table.X, table.y, table.fitted)
        means = (MEAN_PARTS[kind].draw(facts, *budget, rng) for _ in range(trials))
        scores.append(np.array([score(m, *centers) for m in means]))
    return Attack(f"baseline {kind}, means", name, scores[0], scores[1])
