"""One class: second moments in the stated ball, without frame, clip or shape, and a release that does not contradict them.

Whatever misled the other rounds, the release's second moment is then not much farther off than that of the plain Gaussian
mechanism. Post-processing but for ``plain_round`` and ``asked_again``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtr, chdtri

from privgmm.proven.objective import geometric_mean
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.rounds import Session, moments_within
from privgmm.proven.record.tails import Shells, radial_laws
from privgmm.proven.record.tuning import TUNING, Round
from privgmm.types import Floats

# Where tails are sought: the part of E|u|^2 that a class's reach holds, how rarely noise may exceed what is left unexplained, and the widths
# of the bells that are tried.
_REACH, _NOISE = 0.99, 1e-3
_WIDTHS: Floats = np.geomspace(0.4, 2.5, 60)
_DRAWS, _SEED = 200, 20261118
# Turns of the fixed point that finds how far a mean moves.
_TURNS = 24
_SDS = "count_sd", "total_sd", "second_sd"


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
    """For one class, the sums of x and x x^T over the rows in the stated ball: no frame, no clip, no shape assumed.

    They are always asked for, though in a region stated much too wide they say nothing of a bell: a few rows far from it may have nearly
    all of the second moment, and no cheaper query shows them as well.
    """
    if session.n_classes > 1:
        return ()
    share = min(TUNING.plain.asked.share, TUNING.plain.least + TUNING.plain.more / session.dim)
    return (_plain_sums(session, replace(TUNING.plain.asked, share=share)),)


def asked_again(
    session: Session, plain: tuple[Moments, ...], frames: Frames, shells: Shells, counts: Floats
) -> tuple[Moments, ...]:
    """The sums, asked for once more with a part of what is left where columns are few and they may decide; averaged by precision.

    They may decide where shells show tails, and where noise would seldom set the second moment of the class's frame so far from them.
    """
    if not plain or session.dim > TUNING.plain.columns:
        return plain
    (old,), (centre,), (back,) = plain, frames.centres, frames.inverse
    gap = _gap(centre, back @ back.T, per_row(old, float(counts[0])))
    in_doubt = gap > chdtri(_free(session.dim), TUNING.plain.seldom)
    if not in_doubt and not has_tails(shells, counts, session.dim):
        return plain
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


def followed(mean: Floats, covariance: Floats, plain: Plain, tails: bool) -> float:
    """How far, from 0 to 1, the second moment of a mean and covariance goes towards the plain one: nowhere if noise explains the gap.

    A larger gap is closed the more, the larger it is, so that one that noise has made by chance moves a right release only a little.
    Where shells show ``tails``, rows may be where the other rounds miss them: there noise explains less, and if it is cheap (``nats``)
    the weight is James and Stein's.
    """
    free, gap = _free(mean.size), _gap(mean, covariance, plain)
    if tails and nats(mean, covariance, plain.second_error) <= TUNING.plain.cheap:
        return float(max(1 - max(free - 2, 0.0) / max(gap, 1e-300), 0.0))
    agreeing = TUNING.plain.agreeing_tails if tails else TUNING.plain.agreeing
    return _closed(gap, chdtri(free, 1 - agreeing))


def _free(d: int) -> float:
    """Independent entries of a symmetric matrix (d, d)."""
    return d * (d + 1) / 2


def _gap(mean: Floats, covariance: Floats, plain: Plain) -> float:
    """||plain second moment - that of mean and covariance||_F^2 over the noise's variance: chi-square distributed if they are right."""
    gap = plain.second - covariance - np.outer(mean, mean)
    return float((gap * gap).sum()) / plain.second_error**2


def _closed(gap: float, most: float) -> float:
    """The part of a (squared) gap that is closed if noise explains ``most`` of it: from 0 there to 1 far beyond, without a jump."""
    return float(1 - min(most / max(gap, 1e-300), 1.0) ** 2)


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
    """A mean that does not contradict a noisy one, ``plain``, that assumes nothing; its entries (d,) have this error."""
    gap = plain - mean
    return np.asarray(mean + _closed(float(gap @ gap) / error**2, _mean_gap(mean.size)) * gap)


def _mean_gap(d: int) -> float:
    """How far from a right mean the plain one seldom is: squared, over the variance of an entry."""
    return float(chdtri(d, 1 - TUNING.plain.agreeing))


def reconciled(mean: Floats, covariance: Floats, of: Plain, part: float) -> tuple[Floats, Floats]:
    """A mean and covariance whose second moment (d, d) went this part (``followed``) of the way towards the plain one.

    The mean stays where the plain mean allows it to be. Directions in which noise hides the second moment follow the others as they
    did before, unless the plain one contradicts that.
    """
    d, plain, error = mean.size, of.second, of.second_error
    before = covariance + np.outer(mean, mean)
    gap = part * (plain - before)
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
    step = _step(mean, covariance, after - before)
    step *= _within(mean - of.mean, step, _mean_gap(d) * of.mean_error**2)
    centre = mean + step
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
        # Halfway: after a change that is large against the covariance, whole turns would go to and fro for ever.
        step += (np.linalg.solve(_stiffness(middle), whole @ middle) - step) / 2
    return np.asarray(root @ step)


def _within(start: Floats, step: Floats, most: float) -> float:
    """The largest t in [0, 1] with |start + t step|^2 <= ``most``; if there is none, where it is least."""
    a, b, c = float(step @ step), float(start @ step), float(start @ start) - most
    if a == 0 or a + 2 * b + c <= 0:
        return 1.0
    return min(max((math.sqrt(max(b * b - a * c, 0.0)) - b) / a, 0.0), 1.0)


def _stiffness(a: Floats) -> Floats:
    return np.asarray((1 + a @ a) * np.eye(a.size) + np.outer(a, a))
