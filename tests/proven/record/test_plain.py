"""One class held to its plain noisy second moment: the rule by itself, and whole releases of tables that mislead the other rounds."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from privgmm.data import ArraySource
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.record import release_record
from privgmm.proven.record.frames import Frames
from privgmm.proven.record.plain import (
    Plain,
    _within,
    asked_again,
    drawn_to,
    followed,
    has_tails,
    nats,
    per_row,
    plain_round,
    reconciled,
)
from privgmm.proven.record.rounds import Session
from privgmm.proven.record.tails import Shells, shell_edges


def noise(rng: np.random.Generator, d: int, error: float) -> np.ndarray:
    """A symmetric matrix with ||E||_F^2 ~ error^2 chi^2 of d (d + 1) / 2 degrees of freedom."""
    E = rng.normal(size=(d, d)) * error
    return (E + E.T) / 2


def second(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    return covariance + np.outer(mean, mean)


def told(
    mean: np.ndarray, covariance: np.ndarray, plain: np.ndarray, error: float, tails: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """What is released beside a plain second moment, if the plain mean is as loose as its share of the noise makes it and lies at ``mean``."""
    of = Plain(mean, 3 * error, plain, error)
    return reconciled(mean, covariance, of, followed(mean, covariance, of, tails))


@pytest.mark.parametrize(("d", "most"), [(1, 2.6), (2, 1.7), (4, 1.35)])
@pytest.mark.parametrize("off", [1.0, 1.02, 1.04, 1.05, 1.06, 1.1, 1.5, 3.0])
def test_however_wrong_a_guess_the_plain_answer_is_not_much_better(
    d: int, most: float, off: float
) -> None:
    """Root mean square errors of 200 draws (known to 5 %); a right guess costs less than a fifth of the noise's."""
    truth, error = np.diag(np.linspace(0.5, 0.2, d)), 0.01
    rng, zero = np.random.default_rng(3), np.zeros(d)
    ours, plain = [], []
    for _ in range(200):
        E = noise(rng, d, error)
        found = told(zero, off * truth, truth + E, error)
        ours.append(np.linalg.norm(second(*found) - truth) ** 2)
        plain.append(np.linalg.norm(E) ** 2)
        assert np.linalg.eigvalsh(found[1])[0] > 0
    ratio = np.sqrt(np.mean(ours) / np.mean(plain))
    assert ratio < (0.2 if off == 1.0 else most)
    if off == 3.0:
        assert ratio < 1.1


@pytest.mark.parametrize(
    ("start", "step", "most", "part"),
    [
        ([0.0, 0.0], [1.0, 0.0], 4.0, 1.0),
        ([0.0, 0.0], [4.0, 0.0], 4.0, 0.5),
        ([1.0, 0.0], [3.0, 0.0], 4.0, 1 / 3),
        ([3.0, 0.0], [-10.0, 0.0], 4.0, 0.5),
        ([3.0, 0.0], [-1.0, 0.0], 4.0, 1.0),
        ([3.0, 0.0], [1.0, 0.0], 4.0, 0.0),
        ([0.0, 3.0], [2.0, 0.0], 4.0, 0.0),
        ([-1.0, 3.0], [2.0, 0.0], 4.0, 0.5),
        ([-3.0, 3.0], [2.0, 0.0], 4.0, 1.0),
        ([3.0, 0.0], [0.0, 0.0], 4.0, 1.0),
    ],
)
def test_a_step_of_the_mean_ends_where_the_plain_mean_allows_it(
    start: list[float], step: list[float], most: float, part: float
) -> None:
    assert _within(np.array(start), np.array(step), most) == pytest.approx(part)


def test_rows_far_from_a_pile_widen_the_covariance_and_hardly_move_the_mean() -> None:
    """30 of 5,000 rows at the region's end, the others in a pile: a change of the second moment 500 times as large as the covariance."""
    mean, covariance = np.array([-4e-5]), np.array([[1e-5]])
    of = Plain(np.array([1e-3]), 9e-4, np.array([[5.2e-3]]), 4.5e-4)
    assert followed(mean, covariance, of, False) > 0.99
    centre, found = reconciled(mean, covariance, of, 1.0)
    np.testing.assert_allclose(second(centre, found), of.second, rtol=1e-6)
    # The plain mean allows what its noise would make of it once in a hundred times: 2.6 standard errors.
    assert abs(centre[0] - 1e-3) < 2.6 * 9e-4
    assert found[0, 0] > 0.99 * 5.2e-3


def test_directions_that_noise_hides_follow_the_others() -> None:
    """A column that is a tenth of another one, but for a spread that noise hides, stays so when the other one is corrected."""
    slope, rest = np.array([[1.0, 0.0], [0.1, 1.0]]), np.diag([1.0, 1e-6])
    truth = slope @ (0.5 * rest) @ slope.T
    guess = slope @ (np.diag([0.45, 0.5]) * rest) @ slope.T
    rng, zero, stays = np.random.default_rng(2), np.zeros(2), []
    for _ in range(100):
        of = Plain(zero, 3e-3, truth + noise(rng, 2, 1e-3), 1e-3)
        _, found = reconciled(zero, guess, of, followed(zero, guess, of, True))
        assert found[0, 0] == pytest.approx(0.5, abs=0.005)
        left = found[1, 1] - found[1, 0] ** 2 / found[0, 0]
        stays.append(
            found[1, 0] / found[0, 0] == pytest.approx(0.1, rel=0.01)
            and left == pytest.approx(5e-7, rel=0.01)
        )
    # One draw in a hundred contradicts it by chance; five do with a probability below 1 in 200.
    assert np.mean(stays) > 0.95


def test_a_hidden_direction_that_is_not_narrow_is_found() -> None:
    truth, guess = np.diag([0.5, 0.1]), np.diag([0.5, 1e-6])
    _, found = told(np.zeros(2), guess, truth, 1e-3)
    np.testing.assert_allclose(found, truth, atol=0.003)


def test_a_covariance_far_too_wide_becomes_as_narrow_as_it_is() -> None:
    """Also more than four times narrower: the least width is a part of the noise, not of what was guessed."""
    _, found = told(np.zeros(2), 100 * np.eye(2), 1e-2 * np.eye(2), 1e-4)
    np.testing.assert_allclose(found, 1e-2 * np.eye(2), rtol=0.02)


def test_far_from_the_centre_the_mean_takes_what_the_covariance_could_not() -> None:
    """A mean that is off by 0.01, a variance of 1e-4: the second moment is told, and the variance hardly moves."""
    mean, covariance = np.array([-0.9]), np.array([[1e-4]])
    truth = second(np.array([-0.89]), covariance)
    of = Plain(np.array([-0.89]), 1e-3, truth, 1e-5)
    centre, found = reconciled(mean, covariance, of, 1.0)
    np.testing.assert_allclose(second(centre, found), truth, rtol=1e-6)
    assert centre[0] == pytest.approx(-0.89, abs=2e-4)
    assert found[0, 0] == pytest.approx(1e-4, rel=0.5)
    # Around the centre it is the covariance that moves.
    centre, found = told(np.zeros(1), covariance, np.array([[4e-4]]), 1e-6)
    assert centre[0] == 0
    assert found[0, 0] == pytest.approx(4e-4, rel=1e-6)


def test_the_noise_in_nats_is_what_it_costs() -> None:
    """J of N(m, C + E) against N(m, C) is ||E||^2 / 2 for C = I, whose mean is error^2 d (d + 1) / 4; 200 draws."""
    d, error = 3, 0.01
    assert nats(np.zeros(d), np.eye(d), error) == pytest.approx(
        error**2 * d * (d + 1) / 4, rel=0.15
    )
    # A mean far from zero takes noise along its direction at a small cost.
    assert nats(np.array([30.0]), np.eye(1), error) < 0.01 * nats(np.zeros(1), np.eye(1), error)
    # A narrow direction makes it dear.
    assert nats(np.zeros(2), np.diag([1.0, 1e-4]), error) > 1000 * nats(
        np.zeros(2), np.eye(2), error
    )


@pytest.mark.parametrize("d", [1, 3, 6])
def test_99_of_100_right_guesses_stay(d: int) -> None:
    """With tails 95. 400 draws each, binomial: fewer than 97 % (91 %) stay with a probability below 1 in 1000."""
    rng = np.random.default_rng(5)
    mean, covariance = np.full(d, 0.2), np.diag(np.linspace(0.1, 0.01, d))
    for error, tails, least, most in (
        (0.001, False, 0.97, 1.0),
        (0.3, True, 0.91, 0.99),
        (0.001, True, 0.0, 0.6),
    ):
        # With tails and noise that costs next to nothing, James and Stein's weight is zero for half of them at most.
        stays = []
        for _ in range(400):
            plain = Plain(mean, 3 * error, second(mean, covariance) + noise(rng, d, error), error)
            stays.append(followed(mean, covariance, plain, tails) == 0)
        assert least <= np.mean(stays) <= most


def test_a_wrong_mean_is_drawn_to_the_plain_one_and_a_right_one_stays() -> None:
    """Far off, the error is that of the plain mean; within its noise (99 % of draws) nothing moves."""
    rng = np.random.default_rng(4)
    seen = 0.01 * rng.standard_normal((200, 5))
    far = [np.linalg.norm(drawn_to(np.full(5, 0.3), x, 0.01)) for x in seen]
    assert np.mean(far) < 1.05 * np.linalg.norm(seen, axis=1).mean()
    stays = [not drawn_to(np.zeros(5), x, 0.01).any() for x in seen]
    assert np.mean(stays) >= 0.97


def test_sums_asked_for_twice_are_averaged_by_precision() -> None:
    """The average is right, and its noise is that of both shares together."""
    n = 50_000
    X = np.random.default_rng(6).uniform(-0.5, 0.5, (n, 2))
    source = ArraySource(X, np.zeros(n, dtype=np.intp), 1)
    curator = Curator(source, SeededNoise(1), "replace", 16.0, 1e-5)
    session = Session(curator.answer, "replace", curator.mu, 1, 2, n)
    (first,) = once = plain_round(session)
    # A frame that the sums contradict, and one that they do not; shells of a bell.
    frame = Frames(np.zeros((1, 2)), np.eye(2)[None], np.zeros((1, 2, 2)))
    right = Frames(
        X.mean(axis=0)[None], np.linalg.inv(np.linalg.cholesky(np.cov(X.T)))[None], frame.means_var
    )
    bell = shells_of(np.random.default_rng(7).standard_normal((n, 2)), np.random.default_rng(8))
    assert asked_again(session, once, right, bell, np.array([float(n)])) is once
    (both,) = asked_again(session, once, frame, bell, np.array([float(n)]))
    assert session.left < 0.8 * curator.mu
    sums = per_row(both, float(n))
    assert sums.second_error < 2e-5
    np.testing.assert_allclose(sums.second, X.T @ X / n, atol=5 * sums.second_error)
    np.testing.assert_allclose(sums.mean, X.mean(axis=0), atol=5 * sums.mean_error)
    # Half of what is left, then 80 % of the rest: precisions are as 1 to 0.8.
    assert both.second_sd[0] == pytest.approx(first.second_sd[0] / np.sqrt(1.8))
    assert both.total_sd[0] == pytest.approx(first.total_sd[0] / np.sqrt(1.8))


def test_shells_of_bells_have_no_tails_and_those_of_heavy_rows_have() -> None:
    """Counts of 4,000 rows, noise of 20 rows each, frames a tenth too narrow: 40 tables of each kind and number of columns."""
    rng = np.random.default_rng(8)
    for d in (1, 4):
        bells, heavy = [], []
        for _ in range(40):
            u = 1.1 * rng.standard_normal((4000, d))
            bells.append(tails_of(u, rng))
            heavy.append(tails_of(u * np.exp(rng.standard_normal((4000, 1))), rng))
        assert not any(bells)
        assert all(heavy)


def shells_of(u: np.ndarray, rng: np.random.Generator) -> Shells:
    d, sd = u.shape[1], 20.0
    edges = shell_edges(d, np.array([40.0]))
    at = np.searchsorted(edges[0], np.linalg.norm(u, axis=1))
    counts = np.bincount(at, minlength=edges.shape[1] + 1) + sd * rng.standard_normal(
        edges.shape[1] + 1
    )
    return Shells(counts[None], edges, np.array([sd]), np.array([40.0]))


def tails_of(u: np.ndarray, rng: np.random.Generator) -> bool:
    return has_tails(shells_of(u, rng), np.array([float(len(u))]), u.shape[1])


def sphere(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(4000, 4))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def pile_and_a_far_group(rng: np.random.Generator) -> np.ndarray:
    return np.r_[0.05 * sphere(rng)[400:], np.tile([0.95, 0.0, 0.0, 0.0], (400, 1))]


def one_axis(rng: np.random.Generator) -> np.ndarray:
    X = np.zeros((4000, 4))
    X[:, 0] = rng.uniform(-1, 1, 4000)
    return X


def at_the_corner(values: np.ndarray, high: float) -> np.ndarray:
    """Columns stated to lie between 0 and ``high``, in the region's coordinates."""
    return (2 * np.clip(values, 0, high) / high - 1) / math.sqrt(values.shape[1])


def few_far_rows(rng: np.random.Generator) -> np.ndarray:
    """60 of 5,000, with four hundred times the second moment of all others."""
    X = 0.003 * rng.standard_normal((5000, 3))
    X[:60] = 0.0
    X[np.arange(60), rng.integers(3, size=60)] = 0.95
    return X


def counts(rng: np.random.Generator) -> np.ndarray:
    return at_the_corner(rng.zipf(2.2, (10_000, 2)).astype(float), 1000.0)


def wages(rng: np.random.Generator) -> np.ndarray:
    return at_the_corner(np.exp(2 * rng.standard_normal((10_000, 1))), 3000.0)


@pytest.mark.parametrize(
    ("rows", "adjacency"),
    [
        (sphere, "replace"),
        (pile_and_a_far_group, "add-remove"),
        (one_axis, "replace"),
        (few_far_rows, "replace"),
        (counts, "replace"),
        (wages, "replace"),
    ],
)
def test_no_table_is_told_much_worse_than_by_the_plain_mechanism(
    rows: Callable[[np.random.Generator], np.ndarray], adjacency: str
) -> None:
    """Frobenius error of the second moment, at most twice that of noise on X^T X, mean of six runs.

    With one or two columns it scatters, so there are more runs: 1.6 to 1.8 times is expected (1.7 in 24 runs of the counts), and 2.4 times
    comes by chance once in 100 times.
    """
    errors = []
    for seed in range({wages: 24, counts: 12}.get(rows, 6)):
        X = rows(np.random.default_rng(seed))
        n, d = X.shape
        source = ArraySource(X, np.zeros(n, dtype=np.intp), 1)
        curator = Curator(source, SeededNoise(seed), adjacency, 1.0, 1e-5)
        public = n if adjacency == "replace" else None
        _, m, S = release_record(
            curator, 1, d, public, extent=1 / math.sqrt(d) if rows in (counts, wages) else 1.0
        )[:3]
        errors.append(np.linalg.norm(second(m[0], S[0]) - X.T @ X / n))
        assert np.linalg.eigvalsh(S[0]).min() > 0
        spent = math.hypot(*(m.mu for m in curator.mechanisms))
        assert spent == pytest.approx(curator.mu, rel=1e-8)
    # A row moves X^T X by one if it comes or goes, by sqrt 2 if it is exchanged. The mean length of p normal numbers:
    p = d * (d + 1) / 2
    length = math.sqrt(2) * math.gamma((p + 1) / 2) / math.gamma(p / 2)
    plain = (math.sqrt(2) if adjacency == "replace" else 1.0) / (curator.mu * n) * length
    assert np.mean(errors) < (2.4 if d <= 2 else 2.0) * plain
