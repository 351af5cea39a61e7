"""What clipping took is put back, and never much more than the shells count beyond the clip."""

import numpy as np
import pytest

from privgmm.proven.record.clipping import unclipped
from privgmm.proven.record.frames import Frames, Moments
from privgmm.proven.record.tails import RadialLaw

DIM, ROWS = 4, 20_000.0


def clipped_round(rows: np.ndarray, radius: float, noise: float, seed: int) -> Moments:
    """What a round of this radius sees of the rows, in coordinates that are the columns'."""
    length = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    u = rows * np.minimum(1.0, radius / length)
    wild = noise * np.random.default_rng(seed).standard_normal((1, DIM, DIM))
    eye, n = np.eye(DIM)[None], np.array([float(len(rows))])
    frames = Frames(np.zeros((1, DIM)), eye, 1e-6 * eye)
    one = np.array([noise])
    return Moments(
        frames, np.array([radius]), n, u.sum(axis=0)[None], (u.T @ u)[None] + (wild + wild.mT) / 2,
        one, one, one,
    )  # fmt: skip


def law_of(rows: np.ndarray) -> RadialLaw:
    length = np.sort(np.linalg.norm(rows, axis=1))
    return RadialLaw(length, np.full(length.size, 1 / length.size), 1e-3, DIM)


def far_rows(seed: int) -> np.ndarray:
    """One row in a hundred is some hundred times as far out."""
    rng = np.random.default_rng(seed)
    times = np.where(rng.random((int(ROWS), 1)) < 0.01, 100.0, 1.0)
    return times * rng.standard_normal((int(ROWS), DIM))


def test_a_clip_of_a_bell_is_undone():
    rows = np.random.default_rng(0).standard_normal((int(ROWS), DIM))
    seen = clipped_round(rows, 2.5, 1.0, 0)
    (found,) = unclipped((seen,), seen.count, (law_of(rows),))
    assert np.trace(seen.second[0]) < 0.95 * DIM * ROWS
    np.testing.assert_allclose(found.second[0] / ROWS, np.eye(DIM), atol=0.06)


@pytest.mark.parametrize("seed", range(6))
def test_no_more_is_put_back_than_twice_what_shells_show_beyond_the_clip(seed: int):
    """The fit of shapes to noisy moments of clipped far rows used to put back up to twenty times as much."""
    rows = far_rows(seed)
    seen = clipped_round(rows, 150.0, 0.5 * ROWS * 30.0, seed)
    law = law_of(rows)
    (found,) = unclipped((seen,), seen.count, (law,))
    added = np.trace(found.second[0] - seen.second[0])
    assert 0 < added <= 2.0001 * ROWS * law.taken(150.0)
