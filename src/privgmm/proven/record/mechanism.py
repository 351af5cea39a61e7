"""The record-level mechanism: noisy rounds that find their own frames, then the balanced release.

Nothing here sees a row: rows are reached only through ``curator.answer``. Coordinates are those of
the stated region: the unit ball around zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from privgmm.privacy import Curator
from privgmm.proven.mixtures import Wanted
from privgmm.proven.objective import Objective, balanced, kl_optimal, reverse_kl
from privgmm.proven.record.alike import (
    SharedShape,
    balanced_counts,
    exchangeable,
    hidden_cost,
    hypothesis,
    no_shared_shape,
    shared_shape,
)
from privgmm.proven.record.clipping import doubted, unclipped
from privgmm.proven.record.components import component_sizes, record_components
from privgmm.proven.record.draws import Draws, posterior_draws, posterior_frames
from privgmm.proven.record.errors import record_errors
from privgmm.proven.record.frames import (
    Frames,
    Moments,
    as_wide_as_seen,
    axis_frames,
    floored,
    narrower,
    unresolved,
    widened_by,
)
from privgmm.proven.record.locate import Located
from privgmm.proven.record.margins import record_margins
from privgmm.proven.record.plain import (
    asked_again,
    drawn_to,
    followed,
    has_tails,
    per_row,
    plain_round,
    reconciled,
)
from privgmm.proven.record.rounds import (
    Answers,
    Grid,
    Session,
    classwise,
    closer,
    histogram_round,
    moment_round,
    part_of_left,
    radial_round,
    radii,
    second_where,
)
from privgmm.proven.record.spikes import around, hedged, held, usual_radius, widely_spread
from privgmm.proven.record.tails import RadialLaw, Shells, far_beyond, far_out, radial_laws
from privgmm.proven.record.tuning import TUNING, Round
from privgmm.proven.uncertainty import Estimate
from privgmm.types import Flags, Floats


def release_record(
    curator: Curator,
    n_classes: int,
    dim: int,
    n_rows: int | None = None,
    objective: Objective = "balanced",
    extent: float = 1.0,
    components: Wanted = 1,
    shapes: bool = False,
    grid: Grid | None = None,
) -> Estimate:
    """Weights (K,), means (K, d), covariances (K, d, d) and their errors, for all of the curator's budget.

    ``n_rows`` is public under "replace" and must stay None under "add-remove". ``extent`` is how far a
    column may lie from zero: 1 in a stated ball, 1 / sqrt(d) in a box. With ``shapes`` the margins are told too.
    ``grid`` are the bins of the first histograms, for columns of which steps were stated.
    """
    session = Session(
        curator.answer,
        curator.adjacency,
        curator.remaining_mu,
        n_classes,
        dim,
        n_rows,
        extent,
        grid,
    )
    located = find_classes(session)
    sizes = component_sizes(components, located.counts, curator.mu, dim)
    several = max(sizes) > 1
    if several:
        session.left *= math.sqrt(1 - TUNING.inside.share)
    answers, classes = _release(session, located, objective)
    if not several:
        # Components have shapes of their own; margins are those of one Gaussian per class.
        return _with_margins(session, answers, classes) if shapes else classes
    rows = float(n_rows) if n_rows is not None else curator.noisy_rows
    assert rows is not None  # the rounds above have counted them
    only = components != "auto"
    parts = record_components(curator, classes[:3], max(rows, 1.0), n_rows, sizes, only)
    return classes._replace(components=parts)


def released(session: Session, objective: Objective, shapes: bool = False) -> Estimate:
    """All rounds and the release made of them, with the session's budget; with ``shapes`` the margins too."""
    answers, found = _release(session, find_classes(session), objective)
    return _with_margins(session, answers, found) if shapes else found


def _release(session: Session, located: Located, objective: Objective) -> tuple[Answers, Estimate]:
    """All rounds after the histograms, and the release made from them; a single class must also agree with its plain second moment."""
    answers = query_rounds(session, located, plain_round(session))
    found = posterior_release(answers, objective, session.n_rows)
    if not answers.plain:
        return answers, found
    plain = per_row(answers.plain[0], float(answers.counts[0]))
    tails = has_tails(answers.shells[0], answers.counts, session.dim)
    mean, covariance = found.means[0], found.covariances[0]
    part = followed(mean, covariance, plain, tails)
    if part == 0:
        # One round more for the posterior.
        more = answers.with_rounds(doubted((*answers.plain, *answers.rounds)))
        return answers, posterior_release(more, objective, session.n_rows)
    mean = drawn_to(mean, plain.mean, plain.mean_error)
    mean, covariance = reconciled(mean, covariance, plain, part)
    best = found.weights, mean[None], covariance[None]
    return answers, Estimate(*best, record_errors(answers, session.n_rows, best, moved=True))


def _with_margins(session: Session, answers: Answers, found: Estimate) -> Estimate:
    """The release with the shapes that its histograms show."""
    assert found.errors is not None
    top = None if session.grid is None else session.grid.top
    margins = record_margins(answers.located, answers.counts, found[:3], found.errors, top)
    return found._replace(margins=margins)


def find_classes(session: Session) -> Located:
    """Where the classes lie, by their histograms and by what they have in common."""
    return hedged(exchangeable(histogram_round(session), session.extent))


def query_rounds(session: Session, located: Located, plain: tuple[Moments, ...] = ()) -> Answers:
    """Ask all queries after the histograms: rounds of moments, and counts of shells before the last round.

    ``plain`` are a single class's sums in the stated ball, where asked for.
    """
    frames = axis_frames(located.means, located.means_sd, located.log_sd, located.log_sd_sd)
    so_far = _SoFar(session, Answers(
        located, (), located.counts, located.counts_sd**2,
        no_shared_shape(session.n_classes, session.dim),
    ))  # fmt: skip
    spiked = bool(located.spikes.any())
    frames = so_far.widened(frames)
    last = so_far.ask(frames, TUNING.rounds.wide if spiked else TUNING.rounds.first)
    # In a frame wider than a 0/1 column that direction always seems flat, however often the round is repeated; so rounds are repeated
    # only for tables without such columns, and for spikes. One round more than ``looks.most`` is for classes that borrow a shape.
    few = session.dim <= TUNING.rounds.few_columns
    looks = TUNING.rounds.looks if few else TUNING.rounds.glances
    most = TUNING.rounds.spiked_looks if spiked else looks.most
    for look in range(TUNING.rounds.most if session.least is None or spiked else 0):
        frames = so_far.frames()
        counts = so_far.answers.counts
        hidden = unresolved(last, counts, looks.seen, looks.flat, so_far.told)
        cheap = part_of_left(session, counts, looks.plan) < TUNING.rounds.cheap
        cheap &= narrower(last.frames, floored(frames, so_far.least), TUNING.rounds.progress)
        again = hidden > looks.rows and (look < most or cheap)
        if look > most and not again:
            break
        so_far.share(shared := shared_shape(last, counts, frames))
        frames = hypothesis(frames, shared)
        if not (again or shared.rows.any()):
            break
        uncapped = spiked and look < most
        last = so_far.ask(frames, replace(looks.plan, cap=math.inf) if uncapped else looks.plan)
    else:
        frames = so_far.frames()
    frames = floored(frames, so_far.least)
    counts = so_far.answers.counts
    shells = radial_round(session, frames)
    tails = radial_laws(shells, counts, session.dim, for_radius=True)
    wider = around(located, frames, shells, counts)
    if wider.any():
        frames, shells = closer(
            (frames, shells), (wide := floored(frames, wider), radial_round(session, wide)), counts
        )
        tails = radial_laws(shells, counts, session.dim, for_radius=True)
    nearest: Floats | float = 0.0
    if session.least is None and not spiked and not plain:
        frames, shells, nearest = so_far.reaching(frames, shells, tails)
        counts = so_far.answers.counts
        tails = radial_laws(shells, counts, session.dim, for_radius=True)
    plain = asked_again(session, plain, frames, shells, counts)
    so_far.ask(frames, TUNING.rounds.final, tails, nearest)
    laws = radial_laws(shells, counts, session.dim)
    answers = so_far.answers
    whole = answers.with_rounds(unclipped(answers.rounds, answers.counts, laws))
    return replace(whole, as_answered=answers.rounds[-1:], shells=(shells,), plain=plain)


class _SoFar:
    """The answers of the rounds asked so far, and the frames that they suggest for the next."""

    def __init__(self, session: Session, answers: Answers) -> None:
        self.session = session
        self.answers = answers
        self.least = np.zeros((session.n_classes, session.dim))
        if session.least is not None:
            self.least += session.least
        self.wide = self.told = self.least > 0

    def ask(
        self,
        frames: Frames,
        plan: Round,
        laws: Sequence[RadialLaw | None] | None = None,
        least: Floats | float = 0.0,
    ) -> Moments:
        """One round of moments; counts are averaged with those of the rounds before."""
        old = self.answers
        frames = floored(frames, self.least)
        round_ = moment_round(self.session, frames, old.counts, plan, laws, least)
        variance = 1 / (1 / old.variance + 1 / round_.count_sd**2)
        counts = variance * (old.counts / old.variance + round_.count / round_.count_sd**2)
        counts = np.maximum(counts, 2.0)
        self.answers = Answers(old.located, (*old.rounds, round_), counts, variance, old.shared)
        least, told = held(old.located, round_, counts)
        self.told = told | self.wide
        self.least = np.where(old.located.spikes, least, self.least)
        return round_

    def widened(self, frames: Frames) -> Frames:
        """Frames as wide as the rows lie, along the columns where shells and a round that reaches all of them say so.

        A few rows far from the others (a code for missing, an entry a hundred times too large) have nearly all of the variance,
        and noise hides them in the bins.
        """
        chosen = np.zeros(self.session.n_classes, dtype=bool)
        for _ in range(TUNING.far.repeats):
            shells = radial_round(self.session, frames, TUNING.far.share)
            laws = radial_laws(shells, self.answers.counts, self.session.dim, far=True)
            beyond = far_out(laws, self.answers.counts, shells.sd)
            # A class that was found to be so is looked at until its rows are inside.
            beyond |= chosen & far_beyond(laws, TUNING.far.inside * usual_radius(frames))
            if not beyond.any():
                break
            chosen = beyond
            round_ = self._over_all(frames, laws, beyond)
            frames, least = as_wide_as_seen(frames, round_, self.answers.counts, beyond)
            self.least = np.maximum(self.least, least)
            self.wide = self.wide | (least > 0)
            located = widely_spread(self.answers.located, frames, least > 0)
            self.answers = replace(self.answers, located=located)
        return frames

    def _over_all(self, frames: Frames, laws: tuple[RadialLaw, ...], chosen: Flags) -> Moments:
        """A round that reaches all rows of ``chosen`` classes (K,), in frames of which no column is wider than was stated.

        A radius as large would add noise to all columns, also to those that end much nearer in units of their frames.
        """
        plan, usual = TUNING.far.reach, usual_radius(frames)
        low, high = self.answers.located.bins.ends
        farthest = np.maximum(frames.centres - low, high - frames.centres)
        widths = np.sqrt((frames.inverse**2).sum(axis=2))
        clipped = widths * radii(self.session, self.answers.counts, plan, laws)[:, None]
        whole = np.minimum(widths * [[law.reach] for law in laws], farthest)
        # Where frames that clip nothing are no larger than the radius would make them, nothing is clipped.
        free = np.log(whole / clipped).sum(axis=1, keepdims=True) <= 0
        ends = np.where(free, whole, np.minimum(clipped, farthest))
        wide = floored(frames, np.where(chosen[:, None], ends / usual, 0.0))
        bells = [None if far else law for far, law in zip(chosen, laws, strict=True)]
        return self.ask(wide, plan, bells, np.where(chosen, usual, 0.0))

    def reaching(
        self, frames: Frames, shells: Shells, laws: tuple[RadialLaw, ...]
    ) -> tuple[Frames, Shells, Floats]:
        """The frames of the last round, wider where rows still lie far out of them, their shells, and the least radii of that round.

        The radius that holds such rows pays noise along all directions. If they lie along one, a wider frame is cheaper; the radius
        is then what it would have been, less that width, because their few counts may be hidden in the next shells.
        """
        nearest = np.zeros(len(laws))
        beyond = far_beyond(laws, TUNING.far.inside * usual_radius(frames))
        beyond &= np.array([law.spread > TUNING.far.last_spread for law in laws])
        beyond &= self.answers.counts > TUNING.far.seen * shells.sd
        if not beyond.any():
            return frames, shells, nearest
        round_ = self.ask(frames, TUNING.far.reach, laws)
        shown = TUNING.far.last_shown
        wide, least = as_wide_as_seen(frames, round_, self.answers.counts, beyond, shown)
        wide = floored(wide, self.least)
        located = widely_spread(self.answers.located, wide, least > 0)
        self.answers = replace(self.answers, located=located)
        times, cost = widened_by(frames, wide)
        better = cost < TUNING.far.worth
        if not better.any():
            return frames, shells, nearest
        nearest = np.where(better, round_.radius / times, 0.0)
        frames = classwise(second_where(better), frames, wide)
        again = radial_round(self.session, frames)
        return frames, classwise(second_where(better), shells.together(again), again), nearest

    def share(self, shared: SharedShape) -> None:
        """From now on the unresolved classes are thought to be shaped like the others."""
        old = self.answers
        self.answers = Answers(old.located, old.rounds, old.counts, old.variance, shared)

    def frames(self) -> Frames:
        """Frames at the posterior mean of mean and covariance; tails are not known yet, so clips are those of a Gaussian."""
        rounds = unclipped(self.answers.rounds, self.answers.counts)
        return posterior_frames(self.answers.with_rounds(rounds))


def posterior_release(
    answers: Answers, objective: Objective, n_rows: int | None = None
) -> Estimate:
    """The release with the least expected divergence over the posterior of the answers.

    ``n_rows`` is the number of rows where it is public.
    """
    draws = posterior_draws(answers)
    seen = answers.counts / np.sqrt(answers.variance)
    if objective == "balanced":
        covariances = draws.covariances
        mean, shape = balanced(draws.means, covariances)
        cost = reverse_kl(mean, shape, draws.means, covariances)
        cost = cost + hidden_cost(seen, cost)
        weights = balanced_counts(draws.counts.mean(axis=0), np.sqrt(answers.variance), cost)
        weights = weights / weights.sum()
    else:
        denoised = kl_optimal(draws.counts, draws.means, draws.factors)
        mean, shape = denoised.means, denoised.covariances
        weights = softmax(denoised.log_weights - hidden_cost(seen, denoised.expected_kl))
    best = (weights, *answers.frames.out_of(mean, shape))
    return Estimate(*best, record_errors(answers, n_rows, best))


__all__ = ["Draws", "posterior_release", "query_rounds", "release_record"]
