"""Tables that are no Gaussian mixtures: 0/1 columns, zeros, lattices, far modes, heavy tails.

J = KL(released || fitted) + KL(fitted || released). Bounds are several times what was measured, and
hundreds of times below what a release that takes a spike for a narrow bell costs.
"""

import numpy as np
import pytest

import privgmm
from privgmm.proven.record import mechanism


def labels(rng, n):
    return (rng.random(n) < 0.4).astype(int)


def zero_one(rng, n=6000):
    y = labels(rng, n)
    return np.c_[rng.random(n) < np.where(y == 1, 0.55, 0.3), rng.normal(y, 1)].astype(float), y


def many_zeros(rng, n=6000):
    y = labels(rng, n)
    counts = np.where(rng.random(n) < 0.6, 0, 1 + rng.poisson(3 + 2 * y))
    return np.c_[counts, rng.normal(y, 1)].astype(float), y


def two_modes(rng, n=6000):
    y = labels(rng, n)
    side = np.where(rng.random(n) < 0.5, -10, 10)
    return np.c_[side + rng.normal(size=n) * 0.5, rng.normal(y, 1)], y


def survey(rng, n=6000):
    y = labels(rng, n)
    common = rng.normal(size=(n, 1))
    return np.clip(np.rint(2.5 + 0.8 * common + rng.normal(size=(n, 3)) + y[:, None]), 0, 5), y


def one_hot(rng, n=6000):
    y = labels(rng, n)
    level = np.where(rng.random(n) < 0.5, 0, 1 + (rng.random(n) < 0.3 + 0.3 * y))
    return np.c_[np.eye(3)[level][:, :2], rng.normal(y, 2)], y


def heavy_tails(rng, n=20_000):
    y = labels(rng, n)
    return rng.standard_t(3, size=(n, 3)) + 2.0 * y[:, None], y


TABLES = {
    "0/1": (zero_one, ([0, -6], [1, 7]), 0.02),
    "60 % zeros": (many_zeros, ([0, -6], [20, 7]), 0.03),
    "two modes": (two_modes, ([-20, -8], [20, 8]), 0.02),
    "integers": (survey, (0, 5), 0.03),
    "one-hot": (one_hot, ([0, 0, -9], [1, 1, 10]), 0.03),
    "t3": (heavy_tails, (-60, 60), 0.5),
}


def distance(X, y, bounds, epsilon, seed=0):
    r = privgmm.release(X, y, epsilon, 1e-6, "record", bounds=bounds, classes=range(2), seed=seed)
    p = privgmm.fit(X, y)
    return privgmm.kl_divergence(r.mixture, p) + privgmm.kl_divergence(p, r.mixture), r


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_any_shape_is_released_close_in_both_directions(name):
    make, bounds, most = TABLES[name]
    X, y = make(np.random.default_rng(7))
    low, r = distance(X, y, bounds, 1.0)
    high, _ = distance(X, y, bounds, 16.0)
    assert low < most
    # Consistent: sixteen times the budget, and the noise is a hundredth.
    assert high < most / 10
    np.testing.assert_allclose(r.mixture.weights, np.bincount(y) / len(y), atol=0.02)


@pytest.mark.slow
def test_small_classes_borrow_the_shape_that_large_ones_have_in_common(monkeypatch):
    rng = np.random.default_rng(4)
    n = np.array([6000, 6000, 250])
    root = np.linalg.qr(rng.normal(size=(6, 6)))[0] * [2.0, 1.5, 1.0, 0.7, 0.5, 0.1]
    y = np.repeat(np.arange(3), n)
    X = rng.normal(size=(n.sum(), 6)) @ root.T + rng.normal(size=(3, 6))[y]
    p = privgmm.fit(X, y)

    def far_off() -> float:
        """The median of sixteen releases, which scatter by a factor of ten, borrowed shape or not."""
        found = []
        for seed in range(1, 17):
            r = privgmm.release(X, y, 1.0, 1e-6, "record", radius=15.0, classes=range(3), seed=seed)
            found.append(privgmm.kl_divergence(r.mixture, p) + privgmm.kl_divergence(p, r.mixture))
        return float(np.median(found))

    borrowed = far_off()
    monkeypatch.setattr(
        mechanism, "shared_shape", lambda *_: mechanism.no_shared_shape(len(n), X.shape[1])
    )
    # 0.155 and 0.294 when this was written: alone, the small class hides its narrow direction in noise.
    assert borrowed < 0.2
    assert far_off() > 1.2 * borrowed
