"""What the figures call a proven release is ``privgmm.release``, and expectations are what draws average to."""

from __future__ import annotations

import numpy as np
import pytest

from privgmm import datasets, fit, kl_divergence, release
from privgmm.reproduce.figures import methods


def case(epsilon: float, seed: int, shift: float = 0.0, **more: object) -> methods.DataCase:
    X, y = datasets.synthetic(n=300, n_classes=3, dim=2, seed=seed)
    X = X + shift
    return methods.DataCase(X, y, fit(X, y), epsilon, X, y, **more)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_proven_release_of_labels_is_that_of_the_package_to_the_bit(epsilon: float) -> None:
    """The held view of the public features changes nothing; other features get a view of their own."""
    for data in (case(epsilon, 1), case(epsilon, 1), case(epsilon, 1, 0.5), case(epsilon, 2)):
        mine = methods.proven_release(data, seed=3)
        asked = {"epsilon": epsilon, "delta": methods.DELTA, "unit": "label", "seed": 3}
        theirs = release(data.X, data.y, classes=list(data.fitted.classes), **asked).mixture
        assert mine.classes == theirs.classes
        for name in ("weights", "means", "covariances"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name


def test_the_points_of_a_sweep_share_what_is_taken_from_the_public_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    known = methods.public_view

    def counted(X: np.ndarray, n_classes: int) -> object:
        looked.append(n_classes)
        return known(X, n_classes)

    monkeypatch.setattr(methods, "public_view", counted)
    methods._public_view.cache_clear()
    for epsilon in (1.0, 2.0, 4.0):
        methods.proven_release(case(epsilon, 5), seed=3)
    assert looked == [3]
    methods.proven_release(case(1.0, 6), seed=3)
    assert looked == [3, 3]


@pytest.mark.parametrize("method", ["published", "published-departures", "laplace"])
def test_the_kl_of_a_noisy_method_is_the_mean_over_its_releases(method: str) -> None:
    """2000 draws against the expectation: six standard errors, and both are told of one design."""
    data = case(4.0, 1)
    expected = methods.measured(method, data, seed=1).numbers["kl"]
    design, rng = methods.designed(method, data), np.random.default_rng(0)
    drawn = np.array([kl_divergence(design.draw(rng), data.fitted) for _ in range(2000)])
    assert abs(drawn.mean() - expected) < 6 * drawn.std() / np.sqrt(drawn.size) + 0.05 * expected
