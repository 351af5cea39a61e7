"""Tilted labels solve their equations, and draws around them have the posterior's spread."""

from dataclasses import replace

import numpy as np
import pytest

from privgmm.proven.label import tilt
from privgmm.proven.label.frames import choose_frames
from privgmm.proven.label.statistics import column_scale, moments_under
from privgmm.proven.label.tilt import (
    Answer,
    Guess,
    fit_tilt,
    likely_trusts,
    weigh,
)
from privgmm.proven.label.tilt_draws import posterior_draws
from privgmm.proven.label.tuning import Tuning

TUNING = Tuning(tilt_close=1e-6)
# Neither class is held to clusterings.
LOOSE = np.zeros(2, dtype=bool)


def problem(sigma, n=1500, seed=0, mu=50.0):
    """Labels that depend on x, a guess that knows only their frequencies, and a noisy answer."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0.3).astype(int)
    guess = np.tile(np.bincount(y) / n, (n, 1))
    frames = choose_frames(X, guess, column_scale(X), 1.0, mu, TUNING)
    u = [frames.clipped(X, k) for k in range(2)]
    exact = np.stack([frames.totals(u[k], (y == k).astype(float)) for k in range(2)])
    noisy = exact + sigma * rng.standard_normal(exact.shape)
    return X, y, guess, u, Answer(frames, noisy, sigma)


def test_the_slopes_solve_the_stationary_equations():
    _, _, labels, u, answer = problem(sigma=3.0)
    guess = weigh(labels, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING)
    tilt = fit_tilt(answer, guess, u, 1.0, TUNING)
    q = tilt.labels(u, labels, np.ones(len(labels)))
    for k in range(2):
        gap = answer.totals[k] - answer.frames.totals(u[k], q[:, k])
        ridge = guess.trust[k] * answer.sigma**2 * tilt.slopes[k]
        np.testing.assert_allclose(gap, ridge, atol=2e-3)


def test_without_noise_tilted_labels_have_the_moments_of_the_labels():
    X, y, labels, u, answer = problem(sigma=1e-3)
    guess = weigh(labels, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING)
    tilted = fit_tilt(answer, guess, u, 1.0, TUNING).labels(u, labels, np.ones(len(labels)))
    found, truth = moments_under(X, tilted), moments_under(X, np.eye(2)[y])
    np.testing.assert_allclose(found.counts, truth.counts, rtol=1e-4)
    np.testing.assert_allclose(found.means, truth.means, atol=1e-3)
    np.testing.assert_allclose(found.scatter, truth.scatter, rtol=2e-3, atol=0.5)


def test_a_guess_that_explains_the_answer_is_trusted_more():
    _, y, labels, u, answer = problem(sigma=3.0)
    rng = np.random.default_rng(5)
    right = np.clip(np.eye(2)[y] + 0.2 * rng.random((len(y), 1)), 0.05, None)
    right /= right.sum(axis=1, keepdims=True)
    poor = weigh(labels, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING)
    good = weigh(right, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING)
    assert (good.log_evidence > poor.log_evidence).all()
    assert (good.trust > poor.trust).all()


def test_rows_that_stand_for_several_count_as_several():
    _, _, labels, u, answer = problem(sigma=3.0)
    twice = Answer(answer.frames, 2 * answer.totals, 2 * answer.sigma)
    one = fit_tilt(
        answer, weigh(labels, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING), u, 1.0, TUNING
    )
    two = weigh(labels, LOOSE, np.ones(len(labels)), u, twice, 2.0, TUNING)
    trust = weigh(labels, LOOSE, np.ones(len(labels)), u, answer, 1.0, TUNING).trust
    # Twice as many rows with the same shares: curvature doubles, the ridge fourfold, so tau is halved.
    same = replace(two, trust=trust / 2)
    np.testing.assert_allclose(fit_tilt(twice, same, u, 2.0, TUNING).slopes, one.slopes, atol=1e-4)


def test_newtons_curvature_is_from_rows_enough_for_all_slopes(monkeypatch):
    """90 slopes, two rare classes: 6,300 rows make 15 evaluations; 256, of which two or three are of the rarest class, make 92."""
    rng, classes = np.random.default_rng(0), 6
    y = rng.choice(classes, 20_000, p=[0.01, 0.02, *np.full(4, 0.97 / 4)])
    X = rng.normal(size=(y.size, 4)) + rng.normal(size=(classes, 4))[y]
    tuning = Tuning(probe_rows=256)
    labels, ones = np.tile(np.bincount(y) / y.size, (y.size, 1)), np.ones(y.size)
    frames = choose_frames(X, labels, column_scale(X), 1.0, 1000.0, tuning)
    u = [frames.clipped(X, k) for k in range(classes)]
    exact = np.stack([frames.totals(u[k], (y == k).astype(float)) for k in range(classes)])
    answer = Answer(frames, exact + rng.standard_normal(exact.shape), 1.0)
    guess = weigh(labels, np.zeros(classes, dtype=bool), ones, u, answer, 1.0, tuning)
    calls, objective = [], tilt._Problem.objective

    def watched(problem, slopes):
        calls.append(slopes)
        return objective(problem, slopes)

    monkeypatch.setattr(tilt._Problem, "objective", watched)
    fit_tilt(answer, guess, u, 1.0, tuning)
    few = len(calls)
    fit_tilt(answer, guess, u, 1.0, replace(tuning, newton_rows=1))
    assert few < 30 < len(calls) - few


@pytest.mark.parametrize("sigma", [2.0, 10.0])
def test_draws_spread_as_the_noise_does_when_moments_are_all_that_is_known(sigma):
    """A guess of no use and ellipsoids that clip no row: counts are as uncertain as the two noisy totals say."""
    X, y, labels, _, answer = problem(sigma=sigma, n=5000, mu=4e3)
    trust = np.full(2, 1e-4)
    tuning = Tuning(posterior_draws=1500)
    centre = moments_under(X, np.eye(2)[y])
    rng = np.random.default_rng(0)
    trusts = np.broadcast_to(trust[:, None], (2, 2, 8))
    draws, told = posterior_draws(
        centre, column_scale(X), X, np.ones(len(X)), labels, trust, trusts, answer, 1.0, tuning, rng
    )
    # Two classes, one total: n_0 + n_1 = N is known, so each count averages two noisy ones.
    expected = sigma / answer.frames.shape.count / np.sqrt(2)
    assert draws.counts[:, 0].std() == pytest.approx(expected, rel=0.08)
    np.testing.assert_allclose(draws.counts.sum(axis=1), len(X), atol=0.05 * expected)
    assert draws.means.mean(axis=0) == pytest.approx(centre.means, abs=0.05)
    assert (np.linalg.eigvalsh(draws.covariances) > 0).all()
    # The errors are drawn with the same trust here, from the same labels and noise.
    np.testing.assert_allclose(told.means, draws.means)
    np.testing.assert_allclose(told.covariances, draws.covariances)


def test_errors_vary_as_labels_do_under_every_likely_trust():
    """An answer that says nothing: counts vary as labels drawn from the guess, 1 / tau times as much."""
    X, _, labels, _, answer = problem(sigma=2.0)
    silent = Answer(answer.frames, answer.totals, 1e6)
    trust, trusts = np.ones(2), np.tile([0.04, 1.0], (2, 2, 1))
    centre = moments_under(X, labels)
    tuning, rng = Tuning(posterior_draws=4000), np.random.default_rng(0)
    draws, told = posterior_draws(
        centre, column_scale(X), X, np.ones(len(X)), labels, trust, trusts, silent, 1.0, tuning, rng
    )
    once = np.sqrt((labels[:, 0] * (1 - labels[:, 0])).sum())
    # Sampling error of a deviation of 4,000 draws: 1.1 %.
    assert draws.counts[:, 0].std() == pytest.approx(once, rel=0.05)
    # Class 1 has the two values in the other order, so in every draw one class varies 5 times as much, the other once.
    assert told.counts[::2, 0].std() == pytest.approx(5 * once, rel=0.05)
    assert told.counts[1::2, 0].std() == pytest.approx(once, rel=0.05)
    assert told.counts[1::2, 1].std() == pytest.approx(5 * once, rel=0.05)


def test_likely_trusts_hold_the_true_one_as_often_as_they_should():
    """ln tau drawn from its prior, the gap from tau: its rank among the likely values is uniform.

    400 releases of 2 classes and 2 orders, 9 ranks: chi-square of 8 degrees of freedom, 26.1 exceeded once in 1,000 times.
    """
    rng = np.random.default_rng(3)
    _, _, labels, u, answer = problem(sigma=8.0)
    held = np.array([True, False])
    guess = weigh(labels, held, np.ones(len(labels)), u, answer, 1.0, TUNING)
    # A fine grid of likely values tells ranks in ninths.
    tuning = Tuning(trusts=90)
    ranks = np.empty((400, 2, 2))
    first = 1 + answer.frames.dim
    for release in range(len(ranks)):
        gaps, tau = np.empty_like(guess.gaps), np.empty((2, 2))
        for order, part in enumerate((slice(0, first), slice(first, None))):
            for k in range(2):
                C = guess.curvature[k][part, part]
                mean, sd = TUNING.trust_prior[order][int(held[k])]
                tau[order, k] = np.exp(rng.normal(mean, sd))
                spread = C / tau[order, k] + answer.sigma**2 * np.eye(len(C))
                gaps[k, part] = rng.multivariate_normal(np.zeros(len(C)), spread)
        likely = likely_trusts(replace(guess, gaps=gaps), answer, 1.0, tuning)
        ranks[release] = (likely < tau[:, :, None]).mean(axis=2)
    seen = np.bincount((ranks.ravel() * 8.999).astype(int), minlength=9)
    expected = ranks.size / 9
    assert ((seen - expected) ** 2 / expected).sum() < 26.1


def test_labels_held_to_clusterings_that_explain_the_table_badly_are_trusted_less():
    _, _, labels, u, answer = problem(sigma=50.0)
    guess: Guess = weigh(
        labels, np.array([True, False]), np.ones(len(labels)), u, answer, 1.0, TUNING
    )
    well, badly = (likely_trusts(guess, answer, wrong, TUNING) for wrong in (1.0, 2.0))
    assert (badly[:, 0] < well[:, 0]).all()
    np.testing.assert_array_equal(badly[:, 1], well[:, 1])
