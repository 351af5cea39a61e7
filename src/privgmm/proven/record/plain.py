"""One class: second moments in the stated ball, without frame, clip or shape, and a release that does not contradict them.

Whatever misled the other rounds, the release's second moment is then not much farther off than that of the plain Gaussian
mechanism. Post-processing but for ``plain_round``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtri

from privgmm.proven.objective import geometric_mean
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.rounds import Session, moments_within
from privgmm.proven.record.tails import Shells, radial_laws
from privgmm.proven.record.tuning import TUNING, Round
from privgmm.queries.radial_counts import RadialCounts, RadialCountsQuery
from privgmm.types import Floats

# Where tails are sought: the part of E|u|^2 that a class's reach holds, how rarely noise may exceed what is left unexplained, and the widths
# of the bells that are tried.
_REACH, _NOISE = 0.99, 1e-3
_WIDTHS: Floats = np.geomspace(0.4, 2.5, 60)
_DRAWS, _SEED = 200, 20261118
# Turns of the fixed point that finds how far a mean moves.
_TURNS = 12
_SDS = "count_sd", "total_sd", "second_sd"
# Octaves of shells by the lengths of rows, each edge twice the one before: beyond the innermost shell, squared lengths are known to
# a factor of two.
_OCTAVES = 6.0


@dataclass(frozen=True, eq=False)
class Plain:
    """Averages of x (d,) and of x x^T (d, d) over the rows in the stated ball, and the noise of an entry."""

    mean: Floats
    mean_error: float
    second: Floats
    second_error: float


def per_row(asked: Moments, rows: float) -> Plain:
    """The sums over the rows, of one row on average."""
    return Plain(
        asked.total[0] / rows,
        float(asked.total_sd[0]) / rows,
        asked.second[0] / rows,
        float(asked.second_sd[0]) / rows,
    )


def plain_round(session: Session) -> tuple[Moments, ...]:
    """The sums of x and x x^T over the rows in the stated ball, if asked for: no frame, no clip, no shape assumed.

    Only for one class, and only where that noise is small against the sum of squared lengths, told by noisy counts of
    lengths: in a region stated much too wide, it would say nothing.
    """
    if session.n_classes > 1:
        return ()
    d = session.dim
    centre, ball = np.zeros((1, d)), np.eye(d)[None]
    edges: Floats = np.exp2(np.arange(-_OCTAVES, 0.0))
    lengths = RadialCountsQuery(RadialCounts(centre, ball, edges[None]))
    shells, _ = session.ask(lengths, TUNING.plain.length_share)
    squared = float(shells @ (np.append(edges, 1.0) ** 2 / 2))
    sensitivity = math.sqrt(TUNING.plain.asked.shape.squared_sensitivity(session.adjacency))
    noise = math.sqrt(d * (d + 1) / 2) * sensitivity / session.left
    if noise > TUNING.plain.worth * squared:
        return ()
    return (_plain_sums(session, TUNING.plain.asked),)


def asked_again(session: Session, plain: tuple[Moments, ...]) -> tuple[Moments, ...]:
    """The sums asked for once more, with a part of what is left, and averaged by precision with those before."""
    (old,) = plain
    new = _plain_sums(session, TUNING.plain.again)
    part = old.second_sd[0] ** 2 / (old.second_sd[0] ** 2 + new.second_sd[0] ** 2)

    def average(before: Floats, after: Floats) -> Floats:
        return np.asarray(before + part * (after - before))

    sds = (np.sqrt(1 / (1 / getattr(old, sd) ** 2 + 1 / getattr(new, sd) ** 2)) for sd in _SDS)
    return (
        Moments(
            old.frames,
            old.radius,
            average(old.count, new.count),
            average(old.total, new.total),
            average(old.second, new.second),
            *sds,
        ),
    )


def _plain_sums(session: Session, plan: Round) -> Moments:
    d = session.dim
    ball = Frames(np.zeros((1, d)), np.eye(d)[None], np.eye(d)[None])
    return moments_within(session, ball, np.ones(1), np.ones(1), plan)


def has_tails(of: Shells, counts: Floats, dim: int) -> bool:
    """Whether shells show that rows of a single class lie much farther out than a bell's: the other rounds may miss some of them."""
    (law,), (rows,), d = radial_laws(of, counts, dim), counts, dim
    bell = math.sqrt(chdtri(d + 2, 1 - _REACH))
    within = chdtr(d, (np.append(of.edges[0], np.inf) / _WIDTHS[:, None]) ** 2)
    left = of.counts[0] - rows * np.diff(within, axis=1, prepend=0.0)
    noise = chdtri(left.shape[1], _NOISE) * of.sd[0] ** 2
    unexplained = (left**2).sum(axis=1).min() - noise > (TUNING.plain.unexplained * rows) ** 2
    return bool(unexplained and law.reach > TUNING.plain.tailed * bell * math.sqrt(law.spread))


def agree(mean: Floats, covariance: Floats, plain: Plain, tails: bool) -> bool:
    """Whether a mean and covariance can stay as they are beside the plain second moment.

    Noise must explain how far apart they are. Tails that the other rounds miss are believed where they are no larger than that noise: a class
    with ``tails`` stays only where its noise is dear (``nats``), and must be nearer.
    """
    gap = plain.second - covariance - np.outer(mean, mean)
    free = mean.size * (mean.size + 1) / 2
    most = chdtri(free, 1 - TUNING.plain.agreeing)
    if tails:
        dear = nats(mean, covariance, plain.second_error) > TUNING.plain.cheap
        most = min(most, TUNING.plain.agreeing_tails * free) if dear else 0.0
    return bool((gap * gap).sum() <= most * plain.second_error**2)


def nats(mean: Floats, covariance: Floats, error: float) -> float:
    """How far off, in nats, a release would be if noise of this error were added to its second moment (see ``_step``)."""
    d = mean.size
    E = np.random.default_rng(_SEED).standard_normal((_DRAWS, d, d))
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    whole = root @ (error / 2 * (E + E.swapaxes(1, 2))) @ root.T
    a = root @ mean
    pull = whole @ a
    saved = (pull * np.linalg.solve(_stiffness(a), pull.T).T).sum(axis=1)
    return float(((whole**2).sum(axis=(1, 2)) / 2 - saved).mean())


def drawn_to(mean: Floats, plain: Floats, error: float) -> Floats:
    """A mean that does not contradict a noisy one, ``plain``, that assumes nothing, at James and Stein's weight; entries (d,) of this error."""
    gap = plain - mean
    size = float(gap @ gap)
    if size <= chdtri(mean.size, 1 - TUNING.plain.agreeing) * error**2:
        return mean
    return mean + (1 - mean.size * error**2 / size) * gap


def reconciled(
    mean: Floats, covariance: Floats, plain: Floats, error: float
) -> tuple[Floats, Floats]:
    """A mean and covariance whose second moment (d, d) is between theirs and a noisy one, ``plain``, that assumes nothing.

    ``plain`` = M + E with ||E||_F^2 ~ error^2 chi^2_p, p = d (d + 1) / 2, independent of the first two. The weight is that of
    James and Stein: whatever misled the first two, the expected squared error is at most that of ``plain`` (before the rest below).
    Directions in which E hides the second moment follow the others as they did before, unless ``plain`` contradicts that.
    """
    d = mean.size
    before = covariance + np.outer(mean, mean)
    gap = plain - before
    free = max(d * (d + 1) / 2 - 2, 0.0)
    gap *= max(1 - free * error**2 / max(float((gap * gap).sum()), 1e-300), 0.0)
    # The largest eigenvalue of E is about this.
    edge = error * math.sqrt(2 * d)
    values, axes = np.linalg.eigh(before)
    seen, hidden = axes[:, values > edge], axes[:, values <= edge]
    after = _carried(before, gap, seen, TUNING.plain.narrowest * edge)
    left = plain - after
    outside = float((left * left).sum() - ((seen.T @ left @ seen) ** 2).sum())
    others = (d * (d + 1) - seen.shape[1] * (seen.shape[1] + 1)) / 2
    if others and outside > chdtri(others, 1 - TUNING.plain.agreeing) * error**2:
        inside = hidden.T @ plain @ hidden
        if np.linalg.eigvalsh(inside)[-1] <= edge:
            gap = gap - hidden @ (hidden.T @ gap @ hidden) @ hidden.T
        after = before + gap
    centre = mean + _step(mean, covariance, after - before)
    moved = after - np.outer(centre, centre)
    # The nearest matrix that is nowhere narrower than a part of the covariance before.
    values, axes = np.linalg.eigh(covariance)
    least = (axes * (TUNING.plain.narrowest * np.minimum(values, edge))) @ axes.T
    values, axes = np.linalg.eigh((moved + moved.T) / 2 - least)
    return centre, least + (axes * np.maximum(values, 0.0)) @ axes.T


def _carried(before: Floats, gap: Floats, seen: Floats, least: float) -> Floats:
    """The second moment of rows of which the part in the directions ``seen`` (d, k) is mapped so that its own changes by the gap.

    The map is the one that moves rows least (optimal transport of Gaussians); other directions go along by their regression on
    these, and what is left of them stays.
    """
    if not seen.size:
        return before
    values, axes = np.linalg.eigh(seen.T @ (before + gap) @ seen)
    wanted = (axes * np.maximum(values, least)) @ axes.T
    turn = geometric_mean(np.asarray(np.linalg.inv(seen.T @ before @ seen)), wanted)
    whole = np.eye(len(before)) + seen @ (turn - np.eye(len(turn))) @ seen.T
    return np.asarray(whole @ before @ whole.T)


def _step(mean: Floats, covariance: Floats, change: Floats) -> Floats:
    """The mean's part (d,) of a change of the second moment: that by which mean and covariance move least, in standard deviations.

    In coordinates where the covariance is I, a step e of the mean a changes a a^T by b e^T + e b^T with b = a + e / 2, and the covariance
    has the rest of D: for a given b, |e|^2 + ||D - b e^T - e b^T||^2 / 2 is least where ((1 + |b|^2) I + b b^T) e = D b. Far from the
    region's centre a small step of the mean explains what the covariance could not.
    """
    root = np.linalg.cholesky(covariance)
    a = np.linalg.solve(root, mean)
    whole = np.linalg.solve(root, np.linalg.solve(root, change).T)
    step: Floats = np.zeros(mean.size)
    for _ in range(_TURNS):
        middle = a + step / 2
        step = np.asarray(np.linalg.solve(_stiffness(middle), whole @ middle))
    return np.asarray(root @ step)


def _stiffness(a: Floats) -> Floats:
    return np.asarray((1 + a @ a) * np.eye(a.size) + np.outer(a, a))
