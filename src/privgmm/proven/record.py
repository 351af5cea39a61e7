"""Record level: adaptive noisy rounds on clipped statistics, then KL-optimal denoising.

(1) column histograms say where each class lies and how wide it is; (2) counts, means and second
moments in those coordinates; (3) the same again, whitened by (2), with most of the budget, after
cheaper looks where a class is nearly flat; (4) the
posterior given all answers is sampled and the release with the least expected KL is taken.
Nothing here sees a row: rows are reached only through ``curator.answer``. Coordinates are those of
the stated region: the unit ball around zero.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from privgmm.model.mixture import Floats
from privgmm.privacy import Curator
from privgmm.proven.denoise import kl_optimal
from privgmm.proven.record_budget import AGAIN, FINAL, FIRST, LOOKS, Plan
from privgmm.proven.record_draws import posterior_draws
from privgmm.proven.record_frames import Frames, Moments, axis_frames, refined, unresolved
from privgmm.proven.record_rounds import Answers, Session, histogram_round, moment_round
from privgmm.proven.weighting import Weighting

Parameters = tuple[Floats, Floats, Floats]

# See hidden_cost: nats, and standard deviations of the count.
HIDDEN_KL, SURELY_SEEN = 12.0, 4.0


def release_record(
    curator: Curator,
    n_classes: int,
    dim: int,
    n_rows: int | None = None,
    weights: Weighting = "kl",
) -> Parameters:
    """Weights (K,), means (K, d) and covariances (K, d, d) for all of the curator's budget.

    ``n_rows`` is public under "replace" and must stay None under "add-remove". ``weights="kl"``
    takes the weights with the least expected KL, which releases a class that noise hides with
    less weight; "counts" takes the noisy class frequencies.
    """
    session = Session(
        curator.answer, curator.adjacency, curator.remaining_mu, n_classes, dim, n_rows
    )
    return released(session, weights)


def released(session: Session, weights: Weighting) -> Parameters:
    """Steps (1) to (4) with the session's budget."""
    return finished(asked(session), weights)


def asked(session: Session) -> Answers:
    """Steps (1) to (3): all that is ever seen of the rows."""
    located = histogram_round(session)
    frames = axis_frames(located.means, located.means_sd, located.log_sd, located.log_sd_sd)
    counts, variance = located.counts, located.counts_sd**2
    rounds: list[Moments] = []

    def look(frames: Frames, plan: Plan) -> Moments:
        nonlocal counts, variance
        answer = moment_round(session, frames, counts, plan, final=plan is FINAL)
        rounds.append(answer)
        joint = 1 / (1 / variance + 1 / answer.count_sd**2)
        counts = joint * (counts / variance + answer.count / answer.count_sd**2)
        counts, variance = np.maximum(counts, 2.0), joint
        return answer

    answer = look(frames, FIRST)
    for _ in range(LOOKS):
        if not unresolved(answer, counts):
            break
        frames = refined(answer, counts)
        answer = look(frames, AGAIN)
    look(refined(answer, counts), FINAL)
    return Answers(located, tuple(rounds), counts, variance)


def finished(answers: Answers, weights: Weighting, copies: int = 1) -> Parameters:
    """Step (4). The answers of several releases, stacked class after class, give those releases."""
    draws = posterior_draws(answers)
    best = kl_optimal(*draws)
    inverse = answers.frames.inverse
    covariances = inverse @ best.covariances @ inverse.transpose(0, 2, 1)
    means = answers.frames.centres + np.einsum("kij,kj->ki", inverse, best.means)
    log_share = np.log(draws[0].mean(axis=0))
    if weights == "kl":
        seen = answers.counts / np.sqrt(answers.variance)
        log_share = best.log_weights - hidden_cost(seen, best.expected_kl)
    share = softmax(log_share.reshape(copies, -1), axis=1).ravel()
    return share, means, (covariances + covariances.transpose(0, 2, 1)) / 2


def hidden_cost(seen: Floats, expected_kl: Floats) -> Floats:
    """What the posterior leaves out of the expected KL of a class that noise hides.

    The posterior explores one place. A class whose count is not ``seen`` by several standard deviations may
    lie anywhere else, where the KL is in the tens or hundreds; leaving such a class out costs only its
    small share. Its KL is therefore taken to be at least HIDDEN_KL, falling to nothing at SURELY_SEEN.
    """
    floor = HIDDEN_KL * np.maximum(1 - seen / SURELY_SEEN, 0.0)
    return np.maximum(floor - expected_kl, 0.0)
