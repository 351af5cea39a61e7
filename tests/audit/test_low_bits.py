"""Mironov's attack works on naive noise and learns nothing from ours; the lattice says nothing.

Thresholds are Clopper-Pearson intervals at CONFIDENCE: a correct mechanism fails a test with
probability below 0.002 for other seeds.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.audit.low_bits import gaussian, laplace, low_bits_score, possible

from privgmm.audit.proven import label_releaser
from privgmm.audit.raw import Claim
from privgmm.audit.success import successes
from privgmm.audit.verdict import Attack
from privgmm.data import ArraySource
from privgmm.privacy import Curator, OpenDPNoise, SeededNoise, mu_from_epsilon

EPSILON, DELTA = 0.5, 1e-5
# A count of zero and of one: the neighbours of Mironov's paper.
FIRST, SECOND = 0, 1
RUNS = 2000


def success(low, high, gaussian=True):
    (found,) = successes([Attack("low bits", "counts", low, high, gaussian)], EPSILON, DELTA)
    return found


@dataclass(frozen=True)
class Repeated:
    """The number of rows of class 1, asked so often at once; sensitivity is stated for one of them.

    All answers together give away more than stated; each alone is what one query would answer.
    """

    times: int = RUNS
    name: str = "repeated count"

    @property
    def steps(self):
        return np.ones(self.times)

    def sensitivity(self, adjacency):
        return 1.0

    def kernel(self, X, codes):
        return np.full(self.times, int((codes == 1).sum()), dtype=np.int64)


def table(count, rows=12):
    codes = (np.arange(rows) < count).astype(np.intp)
    return ArraySource(np.zeros((rows, 1)), codes, 2)


def answers(count, noise):
    """Noisy counts, the integers under them, and their multiplier."""
    curator = Curator(table(count), noise, "add-remove", EPSILON, DELTA)
    found = curator.answer(Repeated(), curator.mu)
    multiplier = 2 ** math.ceil(math.log2(2.0**40 / curator.mechanisms[0].sigma))
    integers = found * multiplier
    assert (integers == np.rint(integers)).all()
    return found, integers.astype(np.int64), multiplier


@pytest.mark.parametrize("kind", [laplace, gaussian])
def test_the_attack_breaks_naive_noise(kind):
    scale = 1 / EPSILON if kind is laplace else 1 / mu_from_epsilon(EPSILON, DELTA)
    noise, rng = kind(scale), np.random.default_rng(1)
    low, high = (
        low_bits_score(t + noise.draw(RUNS, rng), FIRST, SECOND, noise) for t in (FIRST, SECOND)
    )
    found = success(low, high, gaussian=kind is gaussian)
    assert found.accuracy.broken
    assert found.accuracy.value > 0.7 > found.accuracy.ceiling + 0.05
    # Proof rather than evidence: what a count really made is always possible for it.
    assert (low <= 0).all()
    assert (high >= 0).all()


def test_the_same_attack_learns_nothing_from_our_answers():
    noise = gaussian(1 / mu_from_epsilon(EPSILON, DELTA))
    low, high = (
        low_bits_score(answers(t, OpenDPNoise())[0], FIRST, SECOND, noise) for t in (FIRST, SECOND)
    )
    found = success(low, high)
    assert not found.broken
    assert abs(found.accuracy.value - 0.5) < 0.06


@pytest.mark.slow
def test_the_same_attack_on_released_mixtures():
    # Eight equal rows: a weight times eight is a count, without rounding.
    first, second = (table(count, rows=8) for count in (3, 4))
    claim = Claim("label", EPSILON, DELTA, np.empty(0))
    sides = [label_releaser(t, claim, SeededNoise(5 + t.codes.sum()))(40) for t in (first, second)]
    noise = laplace(2 / EPSILON)
    low, high = (
        low_bits_score(np.array([8 * m.weights[1] for m in side]), 3, 4, noise) for side in sides
    )
    assert not success(low, high).broken
    rng = np.random.default_rng(2)
    naive = [low_bits_score(8 * ((t + noise.draw(RUNS, rng)) / 8), 3, 4, noise) for t in (3, 4)]
    assert success(*naive, gaussian=False).accuracy.broken


def test_possible_knows_its_own_outputs():
    noise, rng = laplace(3.0), np.random.default_rng(3)
    made = 7.0 + noise.draw(500, rng)
    assert possible(made, 7.0, noise).all()
    assert possible(np.nextafter(made, np.inf), 7.0, noise).mean() < 1


class Given:
    publishable = False

    def __init__(self, drawn):
        self.drawn = drawn

    def gaussian(self, scale, size):
        return self.drawn


def test_every_output_of_one_table_is_an_output_of_its_neighbour():
    found, integers, multiplier = answers(FIRST, OpenDPNoise())
    other, _, _ = answers(SECOND, Given(integers - multiplier * SECOND))
    assert found.tobytes() == other.tobytes()


@pytest.mark.parametrize("modulus", [2, 3, 8])
def test_divisibility_of_the_statistic_is_not_seen(modulus):
    # Six is divisible by two and three, seven by neither. p < 1e-6: one in a million per case.
    for count in (6, 7):
        _, integers, _ = answers(count, OpenDPNoise())
        assert np.gcd.reduce(integers) == 1
        seen = np.bincount(integers % modulus, minlength=modulus)
        assert chisquare(seen).pvalue > 1e-6


def test_a_lattice_that_moves_with_the_data_would_be_seen():
    class Coarse(SeededNoise):
        def gaussian(self, scale, size):
            return super().gaussian(scale / 2**40, size) * 2**40

    parts = [answers(count, Coarse(1))[1] for count in (6, 7)]
    assert [np.unique(part % 2**40).size for part in parts] == [1, 1]
    assert parts[0][0] % 2**40 != parts[1][0] % 2**40
