"""A class with one direction thousands of times narrower than the others is still released well."""

import numpy as np

import privgmm
from privgmm.data import ArraySource
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.record import release_record
from privgmm.proven.record.frames import Frames, Moments, unresolved
from privgmm.proven.record.tuning import TUNING


def test_looks_are_repeated_until_the_narrow_direction_is_seen() -> None:
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = rng.normal(size=(5000, 3)) * [3.0, 1.0, 3e-3] @ turn.T
    y = np.zeros(5000, dtype=np.intp)
    curator = Curator(ArraySource(X / 20, y, 1), SeededNoise(0), "replace", 1.0, 1e-5)
    w, m, S = release_record(curator, 1, 3, 5000)[:3]
    q = privgmm.Mixture(w, m * 20, S * 400)
    # Two looks, whatever their budget, would leave a KL in the tens here.
    assert len(curator.mechanisms) > 3
    assert privgmm.kl_divergence(q, privgmm.fit(X, y)) < 0.5


def test_only_a_class_seen_well_asks_for_another_look() -> None:
    frames = Frames(np.zeros((1, 2)), np.eye(2)[None], np.eye(2)[None])
    n = np.array([1000.0])

    def round_(smallest: float, sd: float) -> Moments:
        second = np.diag([1.0, smallest])[None] * n
        return Moments(frames, n / n, n, np.zeros((1, 2)), second, n * 0.01, n * 0.01, n * sd)

    untold = np.zeros((1, 2), dtype=bool)
    few = TUNING.rounds.looks.seen, TUNING.rounds.looks.flat, untold
    assert unresolved(round_(0.01, 0.05), n, *few) == 1
    assert unresolved(round_(0.5, 0.05), n, *few) == 0
    assert unresolved(round_(0.01, 0.5), n, *few) == 0
    # With many columns noisier classes count, but only if they are surely flat.
    many = TUNING.rounds.glances.seen, TUNING.rounds.glances.flat, untold
    assert unresolved(round_(-0.5, 0.5), n, *many) == 1
    assert unresolved(round_(0.1, 0.5), n, *many) == 0
    assert unresolved(round_(0.01, 0.05), n, *many) == 1
    # A direction along a column whose frame is wide for a reason does not.
    assert unresolved(round_(0.01, 0.05), n, *few[:2], np.array([[False, True]])) == 0
    assert unresolved(round_(0.01, 0.05), n, *few[:2], np.array([[True, False]])) == 1
