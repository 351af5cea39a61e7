"""Record level: several Gaussians inside each class, by private stochastic EM in the class's own coordinates.

The released classes say where to look, so all of this happens in coordinates in which every class has mean 0 and covariance I.
(1) Rows of each class are counted and averaged in public cells, and a mixture is fitted to rows that look like them
(lookalike.py). (2) A few rounds of stochastic EM: a row draws its component by responsibility, from lots that are a public
hash of the row, and noisy moments of the components make the next mixture. (3) A last round of moments, with most of the budget.
In every round a row's block is a function of its class, itself and earlier noisy answers; sensitivities are those of class
moments (docs/proofs/class-moments.md, "Components within classes"). (4) Components are moved, as little as possible, until
each class has exactly the released mean and covariance (proven/mixtures.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privgmm.model.mixture import Mixture
from privgmm.privacy import Curator
from privgmm.proven.mixtures import (
    GAIN,
    Components,
    Parts,
    Wanted,
    bell,
    fitted,
    into_classes,
    ladder,
    standardised,
)
from privgmm.proven.record.clipping import unclipped
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.lookalike import Cells, lookalike, public_cells
from privgmm.proven.record.rounds import AnyQuery, Session, classwise, moment_round
from privgmm.proven.record.tuning import TUNING, Round
from privgmm.queries.assigned import AssignedQuery, WithinClasses
from privgmm.rowwise import GaussianRule, mixture_rule
from privgmm.types import Floats

Released = tuple[Floats, Floats, Floats]
_SEED = 3
# Rows of a class drawn to see how far it is from its Gaussian, and runs of EM on the rows that look like its cells.
_POINTS = 1 << 13
_STARTS = 2


@dataclass(frozen=True, eq=False)
class _ComponentGuess:
    """Mixtures of the classes in their own coordinates, and the approximate number of rows (M,) of each component."""

    parts: list[Parts]
    counts: Floats


def component_sizes(wanted: Wanted, counts: Floats, mu: float, dim: int) -> list[int]:
    """How many components each class is to have; "auto" by the noisy counts (K,) of its rows.

    There is one component per ``component_signal`` times d^1.5 / mu rows: the noise of its eigenvalues is then a fixed part of them.
    """
    if wanted != "auto":
        return [wanted] * counts.size
    carried = counts * mu / (TUNING.inside.signal * dim**1.5)
    return [ladder(wanted, most)[-1] for most in carried]


def record_components(
    curator: Curator,
    released: Released,
    rows: float,
    n_rows: int | None,
    sizes: list[int],
    only: bool = True,
) -> Components:
    """Components of the released classes, ``sizes`` of each, for all of the curator's budget that is left.

    ``rows`` is the number of rows, public or noisy; ``n_rows`` the same where it is public. If not ``only``, a class whose
    components are no better than one Gaussian keeps that one.
    """
    home = _ClassCoordinates(curator, released, n_rows, curator.remaining_mu**2)
    counts = rows * released[0]
    guess = _first_guess(home, counts, sizes)
    for salt in range(1, TUNING.inside.steps + 1):
        guess, _ = _em_step(home, guess, TUNING.inside.step_share, salt)
    guess, cost = _em_step(home, guess, None, TUNING.inside.steps + 1)
    parts = guess.parts
    if not only:
        parts = [p if _pays(p, c) else bell(home.dim) for p, c in zip(parts, cost, strict=True)]
    return into_classes(released, parts)


def _pays(parts: Parts, cost: float) -> bool:
    """Whether a class is farther from its Gaussian, as its components tell, than noise would explain.

    KL(mixture || Gaussian) of the standardised class, by a fixed sample of it, against ``cost``, the KL to be expected of noise.
    """
    if parts[0].size == 1:
        return True
    model, whole = Mixture(*standardised(parts)), Mixture(*bell(parts[1].shape[1]))
    X = model.sample(_POINTS, _SEED)[0]
    gain = float((model.log_density(X) - whole.log_density(X)).mean())
    return gain > max(GAIN, TUNING.inside.doubt * cost)


class _ClassCoordinates:
    """The classes' own coordinates, and the budget that components may spend in them."""

    def __init__(
        self, curator: Curator, released: Released, n_rows: int | None, squared: float
    ) -> None:
        self.curator, self.n_rows, self.squared = curator, n_rows, squared
        self.means = released[1]
        self.factors = np.linalg.cholesky(released[2])
        self.maps = np.tril(np.linalg.inv(self.factors))
        self.dim = int(self.means.shape[1])

    def rule(self, k: int, parts: Parts, salt: int | None) -> GaussianRule:
        """The rule of a mixture given in the coordinates of class k."""
        weights, means, covariances = parts
        whiten = np.tril(np.linalg.inv(np.linalg.cholesky(covariances)) @ self.maps[k])
        return mixture_rule(weights, self.means[k] + means @ self.factors[k].T, whiten, salt)

    def session(self, rules: Sequence[GaussianRule], share: float | None) -> Session:
        """A part of the components' budget (None: what is left) over the blocks of these rules."""
        within = WithinClasses(tuple(rules))
        mu = self.curator.remaining_mu if share is None else math.sqrt(share * self.squared)

        def answer(query: AnyQuery, mu: float) -> Floats:
            return self.curator.answer(AssignedQuery(query, within), mu)

        blocks = sum(rule.size for rule in rules)
        return Session(answer, self.curator.adjacency, mu, blocks, self.dim, self.n_rows)


def _first_guess(home: _ClassCoordinates, counts: Floats, sizes: list[int]) -> _ComponentGuess:
    """(1) Noisy counts and means in public cells of each class, and the mixtures that explain them."""
    several = [k for k, size in enumerate(sizes) if size > 1]
    if not several:
        return _ComponentGuess([bell(home.dim)] * counts.size, counts)
    shape = TUNING.inside.cells
    noise = math.sqrt(TUNING.inside.cell_share * home.squared / shape.squared_sensitivity(home.curator.adjacency))  # fmt: skip
    cells = {
        k: public_cells(home.dim, sizes[k], float(counts[k]) * noise, TUNING.inside.most_cells)
        for k in several
    }
    whole = bell(home.dim)
    rules = [
        _nearest(home, k, cells[k]) if k in cells else home.rule(k, whole, None)
        for k in range(counts.size)
    ]
    width = [cells[k].widths if k in cells else np.ones(1) for k in range(counts.size)]
    centres = np.concatenate([rule.centres for rule in rules])
    maps = np.concatenate([home.maps[k] / width[k][:, None, None] for k in range(counts.size)])
    expected = np.concatenate([np.full(w.size, n / w.size) for w, n in zip(width, counts, strict=True)])  # fmt: skip
    plan = Round(1.0, shape, widen=1.0, cap=math.inf)
    session = home.session(rules, TUNING.inside.cell_share)
    answer = moment_round(session, _frames(centres, maps), expected, plan)
    parts = [whole] * counts.size
    for k, part in enumerate(_by_class(answer, [rule.size for rule in rules])):
        if k in cells:
            found = fitted(lookalike(cells[k], part, sizes[k]), sizes[k], _STARTS, _SEED)
            parts[k] = found.weights, found.means, found.covariances
    return _ComponentGuess(
        parts, np.concatenate([n * p[0] for p, n in zip(parts, counts, strict=True)])
    )


def _nearest(home: _ClassCoordinates, k: int, cells: Cells) -> GaussianRule:
    """A row of class k goes to the cell with the nearest centre, in the coordinates of the class."""
    m = cells.widths.size
    centres = home.means[k] + cells.centres @ home.factors[k].T
    return GaussianRule(centres, np.repeat(home.maps[k : k + 1], m, axis=0), np.zeros(m))


def _em_step(
    home: _ClassCoordinates, guess: _ComponentGuess, share: float | None, salt: int
) -> tuple[_ComponentGuess, list[float]]:
    """(2), (3) Noisy moments of the rows that draw each component, and the Gaussians they suggest.

    Also, for every class, the KL per row that noise is expected to cost, to first order.
    """
    rules = [home.rule(k, parts, salt) for k, parts in enumerate(guess.parts)]
    centres = np.concatenate([rule.centres for rule in rules])
    frames = _frames(centres, np.concatenate([rule.whiten for rule in rules]))
    answer = moment_round(home.session(rules, share), frames, guess.counts, TUNING.inside.moments)
    counts = np.maximum(answer.count, 2 + 0.5 * answer.count_sd)
    (answer,) = unclipped((answer,), counts)
    u, S = denoised(answer, counts)
    means, covariances = frames.out_of(u, S)
    error = _noise_cost(answer, counts)
    parts, cost, first = [], [], 0
    for k, rule in enumerate(rules):
        own = slice(first, first + rule.size)
        W = home.maps[k]
        parts.append((
            counts[own] / counts[own].sum(),
            (means[own] - home.means[k]) @ W.T,
            _symmetric(W @ covariances[own] @ W.T),
        ))  # fmt: skip
        cost.append(float(parts[-1][0] @ error[own]))
        first += rule.size
    return _ComponentGuess(parts, counts), cost


def _noise_cost(answer: Moments, counts: Floats) -> Floats:
    """(M,) first-order KL of a component whose count, mean and covariance carry this round's noise."""
    d = answer.total.shape[1]
    shape = d * (d + 1) / 8 * (answer.second_sd / counts) ** 2
    return np.asarray(
        shape + d / 2 * (answer.total_sd / counts) ** 2 + (answer.count_sd / counts) ** 2 / 2
    )


def denoised(answer: Moments, counts: Floats) -> tuple[Floats, Floats]:
    """Means (M, d) and covariances (M, d, d) in the frames of the round; where noise hides them they stay as they were.

    A priori a mean is N(0, I) and an eigenvalue N(1, 1) in the frame, which was the last guess.
    """
    d = answer.total.shape[1]
    mean = answer.total * (counts / (counts**2 + answer.total_sd**2))[:, None]
    second = answer.second / counts[:, None, None] - mean[:, :, None] * mean[:, None, :]
    values, axes = np.linalg.eigh(second)
    # The noise of an eigenvalue, see frames.spectrum.
    error = (answer.second_sd / counts * math.sqrt(d / 2))[:, None]
    values = (np.maximum(values, 0.0) + error**2) / (1 + error**2)
    values = np.maximum(values, TUNING.inside.narrowest)
    return mean, (axes * values[:, None, :]) @ np.swapaxes(axes, 1, 2)


def _by_class(answer: Moments, sizes: list[int]) -> list[Moments]:
    """The blocks of each class by themselves."""
    ends = np.cumsum(sizes)
    owns = [slice(end - size, end) for end, size in zip(ends.tolist(), sizes, strict=True)]
    return [classwise(lambda values, own=own: values[own], answer) for own in owns]


def _frames(centres: Floats, maps: Floats) -> Frames:
    """Frames of means about which nothing is known but that they lie in them."""
    m, d = centres.shape
    return Frames(centres, maps, np.repeat(np.eye(d)[None], m, axis=0))


def _symmetric(S: NDArray[np.float64]) -> Floats:
    return (S + np.swapaxes(S, 1, 2)) / 2
