"""The curator adds the stated noise, counts every answer and refuses what the budget forbids."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import chi2, norm

from privgmm.data import ArraySource
from privgmm.data.source import Shares
from privgmm.errors import BudgetError, InputError
from privgmm.privacy import Curator, OpenDPNoise, SeededNoise, mu_from_epsilon
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape


@dataclasses.dataclass(frozen=True)
class Counts:
    """Class counts, each repeated: enough coordinates for a test of the noise."""

    n_classes: int
    repeat: int = 1

    def __call__(self, X, codes):
        return np.tile(np.bincount(codes, minlength=self.n_classes), self.repeat)


@dataclasses.dataclass(frozen=True)
class CountQuery:
    kernel: Counts
    steps: np.ndarray
    bound: float = math.sqrt(2)
    name: str = "class counts"

    def sensitivity(self, adjacency):
        return self.bound if adjacency == "label" else 3 * self.bound


@dataclasses.dataclass
class Silent:
    """No noise, but remembers what was asked of it."""

    asked: list = dataclasses.field(default_factory=list)
    publishable = False

    def gaussian(self, scale, size):
        self.asked.append((scale, size))
        return np.zeros(size, dtype=np.int64)


class Broken:
    publishable = False

    def gaussian(self, scale, size):
        raise RuntimeError("the machine stopped here")


def rows(n=60, n_classes=3):
    codes = np.arange(n) % n_classes
    codes[: n // 6] = 0
    return ArraySource(np.zeros((n, 1)), codes, n_classes)


def query(steps=(1.0, 1.0, 1.0), **kwargs):
    return CountQuery(Counts(3), np.array(steps), **kwargs)


def curator(noise, epsilon=1.0, delta=1e-5, adjacency="label"):
    return Curator(rows(), noise, adjacency, epsilon, delta)


def test_without_noise_the_answer_is_the_exact_total():
    held = curator(Silent())
    assert np.array_equal(held.answer(query(), 0.1), np.bincount(rows().codes))


@pytest.mark.parametrize(("adjacency", "factor"), [("label", 1), ("replace", 3)])
def test_noise_is_asked_at_steps_times_sensitivity_over_mu(adjacency, factor):
    noise = Silent()
    steps = np.array([1.0, 3.0, 0.3])
    curator(noise, adjacency=adjacency).answer(query(steps), 0.1)
    asked = {scale for scale, _ in noise.asked}
    assert len(asked) == 3
    for step in steps:
        sigma = step * factor * math.sqrt(2) / 0.1
        multiplier = 2 ** math.ceil(math.log2(2.0**40 / sigma))
        scale = min(asked, key=lambda a, want=sigma * multiplier: abs(a - want))
        # Rounded upwards, by no more than 2^-39; at least 2^40 grid steps.
        assert 1 <= scale / (sigma * multiplier) < 1 + 2.0**-39
        assert 2.0**40 <= scale <= 2.0**41 * (1 + 2.0**-39)


def test_real_noise_has_the_stated_scale_after_division():
    n = 12_000
    big = CountQuery(Counts(3, repeat=n // 3), np.resize([1.0, 7.0, 0.5], n))
    exact = np.tile(np.bincount(rows().codes), n // 3)
    error = curator(OpenDPNoise()).answer(big, 0.2) - exact
    total = np.square(error / (big.steps * math.sqrt(2) / 0.2)).sum()
    # False alarm 1e-9; a scale off by 10 % is rejected (tests/privacy/test_noise.py).
    assert chi2.ppf(5e-10, n) < total < chi2.isf(5e-10, n)
    assert abs((error / big.steps).mean()) < norm.isf(5e-10) * math.sqrt(2) / 0.2 / math.sqrt(n)


def test_answers_together_stay_within_mu():
    held = curator(Silent())
    assert held.mu == mu_from_epsilon(1.0, 1e-5)
    for _ in range(4):
        held.answer(query(), held.mu / 2)
    assert held.remaining_mu < 1e-4 * held.mu
    with pytest.raises(BudgetError, match="budget of mu"):
        held.answer(query(), 0.01 * held.mu)
    assert len(held.mechanisms) == 4


def test_the_rest_of_the_budget_can_be_spent_exactly():
    held = curator(Silent())
    held.answer(query(), 0.6 * held.mu)
    assert held.remaining_mu == pytest.approx(0.8 * held.mu, rel=1e-9)
    held.answer(query(), held.remaining_mu)


@pytest.mark.parametrize("share", [1 + 1e-8, 1.5, math.inf])
def test_one_answer_cannot_spend_more_than_all(share):
    noise = Silent()
    held = curator(noise)
    with pytest.raises(BudgetError):
        held.answer(query(), share * held.mu)
    assert noise.asked == []
    assert held.mechanisms == ()


@pytest.mark.parametrize("mu", [0.0, -0.1, math.nan])
def test_a_share_must_be_positive(mu):
    with pytest.raises(BudgetError, match="positive share"):
        curator(Silent()).answer(query(), mu)


def test_the_cost_is_written_before_the_noise_is_drawn():
    held = curator(Broken())
    with pytest.raises(RuntimeError):
        held.answer(query(), 0.2)
    (record,) = held.mechanisms
    assert (record.query, record.coordinates, record.mu) == ("class counts", 3, 0.2)
    assert record.sensitivity == math.sqrt(2)
    assert record.sensitivity / record.sigma == pytest.approx(0.2, rel=1e-11)
    with pytest.raises(BudgetError):
        held.answer(query(), 0.2)


@pytest.mark.parametrize(("epsilon", "delta"), [(45.0, 1e-5), (20.0, 1e-20), (1e4, 1e-5)])
def test_a_budget_that_the_integer_slack_would_break_is_refused(epsilon, delta):
    noise = Silent()
    with pytest.raises(InputError, match="too extreme for integer noise"):
        curator(noise, epsilon, delta).answer(query(), 0.1)
    assert noise.asked == []


def test_slack_adds_over_queries(monkeypatch):
    # At a scale of 2^10 one coordinate costs (1 + e) 0.021 / 2^20 = 7.4e-8 of delta.
    monkeypatch.setattr("privgmm.privacy.curator.FINEST_SCALE", 2.0**10)
    monkeypatch.setattr("privgmm.privacy.curator.FINEST_SHARE", 0)
    monkeypatch.setattr("privgmm.privacy.curator.TV_LIMIT", 1.0)
    held = curator(Silent(), delta=1e-3)
    for _ in range(4):
        held.answer(query(steps=(1.0, 1.0, 1.0), bound=102.4), 0.1)
    with pytest.raises(InputError, match="too extreme"):
        held.answer(query(steps=(1.0, 1.0, 1.0), bound=102.4), 0.1)


def test_the_distance_limit_of_the_ledger_is_enforced(monkeypatch):
    monkeypatch.setattr("privgmm.privacy.curator.FINEST_SCALE", 2.0**20)
    monkeypatch.setattr("privgmm.privacy.curator.FINEST_SHARE", 0)
    with pytest.raises(InputError, match="too extreme"):
        curator(Silent(), delta=0.1).answer(query(), 0.1)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf, 2.0**60])
def test_a_sensitivity_without_meaning_is_refused(bound):
    with pytest.raises(InputError, match="Noise scales must lie"):
        curator(Silent()).answer(query(bound=bound), 0.1)


def test_steps_must_match_totals():
    with pytest.raises(InputError, match="3 totals names 2 noise scales"):
        curator(Silent()).answer(query(steps=(1.0, 1.0)), 0.1)


def test_a_scale_beyond_the_grid_still_adds_exactly():
    # Totals times multiplier leave 64 bits long before the sum does: Python integers hold them.
    source = ArraySource(np.zeros((4, 1)), np.zeros(4, dtype=np.intp), 1)

    @dataclasses.dataclass(frozen=True)
    class Huge:
        def __call__(self, X, codes):
            return np.full(1, len(codes) * 2**58, dtype=np.int64)

    held = Curator(source, Silent(), "label", 1.0, 1e-5)
    answer = held.answer(CountQuery(Huge(), np.array([1.0])), 0.1)
    assert answer[0] == 2.0**60


def test_one_row_per_person_is_the_table_without_persons():
    """The lattice has room for shares in every answer, so that none of its bits tells the two apart."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    alone = Shares.each(np.ones(40, np.int64), np.ones(40, np.int64), 40)
    kernel = ClassMoments(np.zeros((3, 2)), np.tile(np.eye(2), (3, 1, 1)))
    asked = ClassMomentsQuery(kernel, Shape(1.0, 0.3, 3.0))
    for epsilon in (1e-4, 1.0, 30.0):
        plain, shared = (
            Curator(ArraySource(X, codes, 3, shares=s), SeededNoise(5), "replace", epsilon, 1e-5)
            for s in (None, alone)
        )
        for share in (1e-3, 0.9):
            found = [c.answer(asked, share * c.mu) for c in (plain, shared)]
            assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize(("bound", "bits"), [(1.0, 20), (2.0**34, 20), (2.0**36, 18), (2.0**53, 1)])
def test_shares_get_the_bits_that_the_noise_leaves(bound, bits):
    """Public: a function of the noise scales alone. Two rows of one person are then half a row each, or none."""
    shares = Shares.each(np.ones(2, np.int64), np.full(2, 3, np.int64), 1)
    source = ArraySource(np.zeros((2, 1)), np.zeros(2, np.intp), 1, shares=shares)
    noise = Silent()
    held = Curator(source, noise, "label", 1.0, 1e-5)
    answer = held.answer(query(steps=(1.0, 1.0, 1.0), bound=bound * 0.1), 0.1)
    assert answer[0] == 2 * ((1 << bits) // 3) / (1 << bits)
    assert all(scale <= 2.0**55 * (1 + 2.0**-39) for scale, _ in noise.asked)
