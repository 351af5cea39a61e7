"""The pieces of the record-level release, against finite differences, brute force and clean data."""

import numpy as np
import pytest

from privgmm.proven.objective import kl_optimal
from privgmm.proven.record import draws as record_draws
from privgmm.proven.record.alike import SharedShape, balanced_counts, hidden_cost, no_shared_shape
from privgmm.proven.record.draws import RELEASE, Draws, posterior_draws, sample
from privgmm.proven.record.few_columns import MOST_COLUMNS, FewColumns, _root
from privgmm.proven.record.frames import Frames, Moments, axis_frames, clip_radius, refined
from privgmm.proven.record.locate import Bins, Located, bins_below, left_out, locate, odd_columns
from privgmm.proven.record.margins import Bells, column_quantiles
from privgmm.proven.record.posterior import Posterior, lower_inverse
from privgmm.proven.record.rounds import Answers, classwise
from privgmm.proven.record.tails import Shells, beyond, shell_edges


def no_bins(n_classes: int, d: int) -> Bins:
    """Histograms that nobody looks at."""
    shape = n_classes, d
    return bins_below(np.zeros((*shape, 4)), 1.0, np.full(shape, -1.0), np.full(shape, 0.5))


def some_posterior(n_classes: int, d: int) -> Posterior:
    rng = np.random.default_rng(3)

    def frames() -> Frames:
        maps = np.tril(rng.normal(size=(n_classes, d, d))) / 3 + np.eye(d)
        return Frames(rng.normal(size=(n_classes, d)), maps, np.tile(np.eye(d), (n_classes, 1, 1)))

    def moments(at: Frames) -> Moments:
        second = rng.normal(size=(n_classes, d, d))
        sd = [rng.uniform(1, 3, n_classes) for _ in range(3)]
        return Moments(
            at, np.ones(n_classes), rng.uniform(5, 9, n_classes), rng.normal(size=(n_classes, d)),
            second + second.transpose(0, 2, 1), *sd,
        )  # fmt: skip

    shape = n_classes, d
    located = Located(
        np.ones(n_classes), np.ones(n_classes), rng.normal(size=shape), rng.uniform(0.5, 2, shape),
        rng.normal(size=shape), rng.uniform(0.1, 1, shape), *no_spikes(shape), no_bins(n_classes, d),
    )  # fmt: skip
    root = rng.normal(size=(n_classes, d, d))
    shared = SharedShape(root @ root.transpose(0, 2, 1), np.arange(n_classes) * 3.0)
    return Posterior((moments(frames()), moments(frames())), located, shared, 0.4, 0.05)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_posterior_gradient_is_its_derivative(d: int) -> None:
    posterior = some_posterior(2, d)
    theta = np.random.default_rng(0).normal(size=(2, 3, 1 + d + d * (d + 1) // 2)) * 0.5
    _, gradient = posterior(theta)
    for i in range(theta.shape[-1]):
        step = np.zeros(theta.shape[-1])
        # The log-density is large, so a wide step with a fourth-order stencil rounds least.
        step[i] = 1e-3
        near = posterior(theta + step)[0] - posterior(theta - step)[0]
        far = posterior(theta + 2 * step)[0] - posterior(theta - 2 * step)[0]
        np.testing.assert_allclose(gradient[..., i], (8 * near - far) / 12e-3, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("d", range(1, MOST_COLUMNS + 1))
def test_few_columns_have_the_same_posterior(d: int) -> None:
    posterior = some_posterior(3, d)
    theta = np.random.default_rng(0).normal(size=(3, 4, 1 + d + d * (d + 1) // 2))
    # Out of bounds, where the density and its gradient stay finite, and an entry that is zero.
    theta[0, 0, 0], theta[0, 1, 0], theta[1, 0, 1], theta[2, 0, 1 + d] = -50.0, 30.0, 0.0, -9.5
    few = FewColumns(posterior, 4)
    for ours, theirs in zip(few(theta), posterior(theta), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())


def test_rounds_that_leave_a_singular_precision_still_have_a_posterior() -> None:
    precision = np.array([[[1.0, 1.0], [1.0, 1.0]], [[4.0, 1.0], [1.0, 1.0]]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(precision)
    root = _root(precision)
    np.testing.assert_allclose(root @ root.swapaxes(1, 2), precision, atol=1e-14)


def no_spikes(shape: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """``coarse``, ``shown``, ``spikes`` and ``spots`` of columns that are bells."""
    nothing = np.zeros(shape, dtype=bool)
    return np.zeros(shape), nothing, nothing, np.zeros(shape)


def answers_of(n: float, *, narrow: float = 1.0) -> Answers:
    """Two classes of n rows near N(0, I) in their frames, one direction of the second ``narrow``."""
    d, noise = 3, np.full(2, 20.0)
    frames = Frames(np.zeros((2, d)), np.tile(np.eye(d) * 10, (2, 1, 1)), np.zeros((2, d, d)))
    widths = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, narrow]])
    second = n * np.eye(d) * (widths**2)[:, :, None]
    far = np.full(2, 9.0)
    last = Moments(
        frames, far, np.full(2, n), np.full((2, d), 0.1 * n), second, noise, noise, noise
    )
    tenth = np.full((2, d), 0.1)
    located = Located(
        np.full(2, n),
        noise,
        tenth / 10,
        tenth / 10,
        np.log(tenth * widths),
        tenth,
        *no_spikes((2, d)),
        no_bins(2, d),
    )
    return Answers(located, (last, last), np.full(2, n), noise**2, no_shared_shape(2, d))


def parts(draws: Draws):
    return draws.counts, draws.means, draws.factors


def test_sharp_classes_are_drawn_directly_and_alike() -> None:
    # 20 / 1e4 < 0.005: both ways apply, and one more round like the last halves the variance.
    answers = answers_of(1e4)
    assert record_draws._sharp(answers.rounds[-1], answers.counts).all()
    direct = kl_optimal(*parts(posterior_draws(answers)))
    monte_carlo = kl_optimal(*parts(record_draws._monte_carlo(answers, RELEASE)))
    np.testing.assert_allclose(direct.means, monte_carlo.means, atol=3e-4)
    np.testing.assert_allclose(direct.covariances, monte_carlo.covariances, atol=2e-3)
    np.testing.assert_allclose(direct.expected_kl, 2 * monte_carlo.expected_kl, rtol=0.3)


def test_a_flat_class_is_never_drawn_directly() -> None:
    answers = answers_of(1e4, narrow=0.11)
    assert record_draws._sharp(answers.rounds[-1], answers.counts).tolist() == [True, False]
    n, _, L = parts(posterior_draws(answers))
    assert np.isfinite(L).all()
    assert (n > 0).all()


def test_a_class_is_drawn_as_if_it_were_alone() -> None:
    both = answers_of(500.0)
    alone = classwise(lambda array: array[1:], both)
    for part, single in zip(
        parts(posterior_draws(both)), parts(posterior_draws(alone)), strict=True
    ):
        np.testing.assert_allclose(part[:, 1:], single, rtol=1e-6, atol=1e-9)


def test_lower_inverse() -> None:
    L = np.tril(np.random.default_rng(0).normal(size=(3, 5, 4, 4))) + 3 * np.eye(4)
    np.testing.assert_allclose(
        lower_inverse(L) @ L, np.broadcast_to(np.eye(4), L.shape), atol=1e-12
    )


def expected_kl(draws, weights, means, covariances) -> float:
    """Mean over draws of KL(candidate || draw), straight from the definition."""
    n, m, L = draws
    d, value = m.shape[-1], 0.0
    for k in range(n.shape[1]):
        S = L[:, k] @ L[:, k].transpose(0, 2, 1) * (n[:, k] / (n[:, k] - 1))[:, None, None]
        P = np.linalg.inv(S)
        miss = means[k] - m[:, k]
        kl = 0.5 * (
            np.einsum("tij,ji->t", P, covariances[k]) - d
            + np.einsum("ti,tij,tj->t", miss, P, miss)
            + np.linalg.slogdet(S)[1] - np.linalg.slogdet(covariances[k])[1]
        )  # fmt: skip
        value += weights[k] * np.mean(np.log(weights[k]) - np.log(n[:, k]) + kl)
    return value


def test_no_release_near_the_kl_optimal_one_is_better() -> None:
    rng = np.random.default_rng(5)
    n = rng.uniform(20, 60, size=(40, 2))
    m = rng.normal(size=(40, 2, 2))
    L = np.tril(rng.normal(size=(40, 2, 2, 2)) * 0.3) + np.eye(2)
    best = kl_optimal(n, m, L)
    w = np.exp(best.log_weights)
    least = expected_kl((n, m, L), w, best.means, best.covariances)
    for _ in range(200):
        bend = np.eye(2) + 0.1 * rng.normal(size=(2, 2, 2))
        other = w * np.exp(0.1 * rng.normal(size=2))
        worse = expected_kl(
            (n, m, L), other / other.sum(), best.means + 0.1 * rng.normal(size=(2, 2)),
            bend @ best.covariances @ bend.transpose(0, 2, 1),
        )  # fmt: skip
        assert worse >= least - 1e-12
    # The expected KL reported per class is the one the weights were made from.
    assert least == pytest.approx(-np.log(np.exp(np.log(n).mean(0) - best.expected_kl).sum()))


def test_the_sampler_finds_the_moments_of_a_normal() -> None:
    centre, sd = np.array([[1.0, -2.0], [5.0, 0.0]]), np.array([[1.0, 0.1], [2.0, 3.0]])

    def log_density(x):
        z = (x - centre[:, None]) / sd[:, None]
        return -0.5 * (z * z).sum(axis=-1), -z / sd[:, None]

    draws = sample(log_density, np.zeros((2, 2)), sd, chains=20, warm=80, keep=200)
    np.testing.assert_allclose(draws.mean(axis=(0, 2)), centre, atol=0.3)
    np.testing.assert_allclose(draws.std(axis=(0, 2)), sd, rtol=0.1)


def test_histograms_locate_a_class() -> None:
    x = np.random.default_rng(0).normal([0.3, -0.5], [0.1, 0.2], size=(5000, 2))
    table = np.stack([np.histogram(c, 40, (-1, 1))[0] for c in x.T])[None].astype(float)
    low, width = np.full((1, 2), -1.0), np.full((1, 2), 0.05)
    at = locate(np.array([5000.0]), bins_below(table, 20.0, low, width), 1e4)
    np.testing.assert_allclose(at.means, [[0.3, -0.5]], atol=0.02)
    np.testing.assert_allclose(np.exp(at.log_sd), [[0.1, 0.2]], rtol=0.25)
    assert abs(at.counts[0] - 5000) < 3 * at.counts_sd[0]
    assert (at.coarse < 0.01).all()
    narrow = np.zeros_like(table)
    narrow[..., 7] = 5000
    at = locate(np.array([5000.0]), bins_below(narrow, 20.0, low, width), 1e4)
    assert (at.coarse > 0.99).all()


def test_a_noiseless_round_whitens() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    x = rng.normal(size=(4000, 3)) @ A.T + [1.0, 2.0, 3.0]
    frames = axis_frames(*(np.full((1, 3), v) for v in (0.0, 5.0, 0.0, 0.1)))
    u = (x - frames.centres[0]) @ frames.maps[0].T
    tiny = np.full(1, 1e-6)
    at = refined(
        Moments(
            frames,
            np.array([99.0]),
            np.array([4000.0]),
            u.sum(0)[None],
            (u.T @ u)[None],
            tiny,
            tiny,
            tiny,
        ),
        np.array([4000.0]),
    )
    z = (x - at.centres[0]) @ at.maps[0].T
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(z.T @ z / 4000, np.eye(3), atol=1e-6)


def test_more_signal_clips_less() -> None:
    radii = [clip_radius(3, signal) for signal in (1, 100, 1e4, 1e8)]
    assert radii == sorted(radii)
    assert radii[-1][1] > 0.9999


def test_a_class_that_noise_hides_is_taken_to_be_far_off() -> None:
    cost = hidden_cost(np.array([0.0, 2.0, 4.0, 9.0]), np.array([0.5, 0.5, 0.5, 0.5]))
    np.testing.assert_allclose(cost, [11.5, 5.5, 0.0, 0.0])
    # What the posterior expects already is not counted twice.
    assert hidden_cost(np.array([0.0]), np.array([20.0])).tolist() == [0.0]


def test_a_hidden_class_is_lowered_within_its_own_noise_only() -> None:
    counts, sd = np.array([400.0, 40.0, 5.0]), np.array([10.0, 10.0, 10.0])
    seen = balanced_counts(counts, sd, np.array([0.0, 0.0, 0.0]))
    np.testing.assert_allclose(seen, counts)
    hidden = balanced_counts(counts, sd, np.array([50.0, 50.0, 50.0]))
    np.testing.assert_allclose(hidden, [385.0, 25.0, 0.5])
    # One that costs less than a nat is not lowered at all: shares are the noisy ones.
    np.testing.assert_allclose(balanced_counts(counts, sd, np.array([0.9, 0.5, 0.2])), counts)
    # q ln(q / pi) + pi ln(pi / q) + q (R - 1) is least there, where noise does not stop it.
    wide = balanced_counts(np.array([1.0]) * 100, np.array([1e6]), np.array([3.0]))[0]
    q = np.linspace(1, 100, 5000)
    cost = q * np.log(q / 100) + 100 * np.log(100 / q) + 2.0 * q
    assert wide == pytest.approx(q[np.argmin(cost)], abs=0.05)


def test_margins_of_a_finer_look_that_lies_inside_one_bin_and_of_one_that_does_not():
    """A fault of session 4: the cells of the two numbered differently and could not be stacked."""
    rows = np.full((1, 2), 1000.0)
    counts = np.tile([0.0, 1000.0, 0.0, 0.0], (1, 2, 1))
    first = bins_below(counts, 1.0, np.zeros((1, 2)), np.ones((1, 2)))
    # Four bins of a tenth in the middle of the second bin; four of a half across three of them.
    finer = bins_below(
        np.tile([0.0, 500.0, 500.0, 0.0], (1, 2, 1)),
        1.0,
        np.array([[1.3, 0.5]]),
        np.array([[0.1, 0.5]]),
    )
    bells = Bells(rows, np.full((1, 2), 1.5), np.full((1, 2), 0.1), *(np.full((1, 2), 0.01),) * 2)
    told = column_quantiles(first, (finer,), bells)
    assert told.shape[:2] == (1, 2)
    assert told[0, 0, [30, -31]] == pytest.approx([1.5, 1.5], abs=0.2)


def columns(rows: np.ndarray, seed: int, sd: float) -> Bins:
    """Noisy histograms of columns (n, d) in [0, 40], of one class."""
    rng = np.random.default_rng(seed)
    tables = np.stack([np.histogram(x, 40, (0, 40))[0] for x in rows.T]).astype(float)
    tables += sd * rng.standard_normal(tables.shape)
    shape = 1, rows.shape[1]
    return bins_below(tables[None], sd, np.zeros(shape), np.ones(shape))


def test_columns_that_are_no_bells_are_found_and_bells_are_not() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    bells = rng.normal(20.3, [4.0, 1.0, 0.3, 0.02], (n, 4))
    zeros = np.where(rng.random(n) < 0.6, 8.5, 8.5 + rng.exponential(6.0, n))
    ones = np.where(rng.random(n) < 0.7, 10.5, 30.5)
    steps = rng.choice([5.5, 12.5, 19.5, 26.5], n)
    rows = np.clip(np.c_[bells, zeros, ones, steps], 0, 39.9)
    count = np.array([float(n)])
    # The noise of a bin is a fortieth of the class.
    for seed in range(5):
        bins = columns(rows, seed, n / 40)
        assert not odd_columns(bins, count)[0, :4].any()
        assert odd_columns(bins, count)[0, 4:].all()
        assert left_out(bins, count)[0, 5:].all()
        found = locate(count, bins, n)
        # Wide enough for the rows, and not looked at again as if they were one narrow spike.
        assert (np.exp(found.log_sd[0, 5:]) > 0.7 * rows.std(axis=0)[5:]).all()
        assert found.shown[0, 5:].all()


def test_what_lies_beyond_a_clip_is_drawn_from_the_shells() -> None:
    """A class with a tenth of its rows four times as wide as the rest: clean counts, then noisy ones."""
    rng = np.random.default_rng(1)
    length = np.linalg.norm(rng.normal(size=(200_000, 3)), axis=1)
    length *= np.where(rng.random(200_000) < 0.1, 4.0, 1.0)
    edges = shell_edges(3, np.array([40.0]))
    counts = np.bincount(np.searchsorted(edges[0], length), minlength=18)[None] / 100.0
    truth = np.maximum(length - 3, 0).mean(), np.maximum(length**2 - 9, 0).mean()
    for sd, near in ((0.05, 0.1), (8.0, 1.0)):
        shells = Shells(counts, edges, np.array([sd]), np.array([40.0]))
        lots = rng.standard_normal((200, 18))
        found = beyond(shells, 0, 2000.0, 3, 3.0, lots, np.full(200, 40.0))
        nearer = beyond(shells, 0, 2000.0, 3, 3.0, lots, np.full(200, 5.0))
        assert all((near <= far).all() for near, far in zip(nearer, found, strict=True))
        for draws, value in zip(found, truth, strict=True):
            low, high = np.quantile(draws, [0.025, 0.975])
            assert low < (1 + 0.1) * value
            assert high > (1 - 0.1) * value
            assert np.median(draws) == pytest.approx(value, rel=near)
