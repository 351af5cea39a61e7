"""Several Gaussians per class: exact class moments, better densities where classes are no bells, one where they are."""

import numpy as np
import pytest

from privgmm import InputError, Release, fit, release
from privgmm.data import ArraySource
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.mixtures import into_classes, ladder, standardised
from privgmm.proven.record import release_record
from privgmm.proven.record.components import component_sizes

CLASSES = ["ring", "pair"]


def shapes(n: int, seed: int = 0):
    """A ring of three spots and a pair of them: no bells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    spot = rng.integers(0, 6, n)
    angle = 2 * np.pi * (spot % 3) / 3
    ring = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    pair = np.column_stack([np.full(n, 12.0), np.where(spot % 2, 3.0, -3.0)])
    X = np.where(y[:, None] == 0, ring, pair) + 0.7 * rng.normal(size=(n, 2))
    return X, np.array(CLASSES)[y]


def some_parts(seed: int, size: int = 4, dim: int = 3):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(size, dim, dim)) + np.eye(dim)
    return (
        rng.dirichlet(np.ones(size)),
        rng.normal(size=(size, dim)),
        roots @ roots.transpose(0, 2, 1),
    )


@pytest.mark.parametrize("seed", range(5))
def test_standardised_components_have_mean_zero_and_covariance_one(seed):
    w, m, S = standardised(some_parts(seed))
    np.testing.assert_allclose(w @ m, 0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("c,cij->ij", w, S) + (m.T * w) @ m, np.eye(3), atol=1e-12)


def test_components_keep_the_released_moments():
    released = np.array([0.3, 0.7]), np.array([[1e3, 0, 0], [0, 1, 2.0]]), some_parts(1, 2)[2]
    weights, means, covariances, owners = into_classes(released, [some_parts(2), some_parts(3, 1)])
    for k in range(2):
        own = owners == k
        w = weights[own] / weights[own].sum()
        assert weights[own].sum() == pytest.approx(released[0][k])
        np.testing.assert_allclose(w @ means[own], released[1][k], atol=1e-9)
        off = means[own] - released[1][k]
        np.testing.assert_allclose(
            np.einsum("c,cij->ij", w, covariances[own]) + (off.T * w) @ off,
            released[2][k],
            atol=1e-8,
        )


def test_the_ladder_holds_what_a_class_carries():
    assert ladder("auto", 5.9) == (1, 2, 4)
    assert ladder("auto", 0.0) == (1,)
    assert ladder(3, 100) == (3,)
    assert ladder(3, 2.5) == (2,)


def test_auto_sizes_grow_with_rows_and_budget_and_shrink_with_columns():
    counts = np.array([10.0, 1e3, 1e4, 1e6])
    small = component_sizes("auto", counts, 0.3, 4)
    assert small == sorted(small)
    assert small[0] == 1
    assert small[-1] == 8
    assert all(np.less_equal(small, component_sizes("auto", counts, 0.9, 4)))
    assert all(np.greater_equal(small, component_sizes("auto", counts, 0.3, 16)))
    assert component_sizes(5, counts, 0.3, 4) == [5] * 4


ASKED = {
    "label": {"unit": "label"},
    "replace": {"unit": "record", "bounds": (-20, 20)},
    "add-remove": {"unit": "record", "adjacency": "add-remove", "bounds": (-20, 20)},
}


@pytest.fixture(scope="module", params=ASKED)
def made(request) -> tuple[str, Release]:
    X, y = shapes(20_000)
    r = release(
        X, y, epsilon=2.0, delta=1e-6, classes=CLASSES, seed=1, components_per_class="auto",
        **ASKED[request.param],
    )  # fmt: skip
    return request.param, r


def test_the_private_model_beats_the_fitted_bells_on_fresh_rows(made):
    """Two nats are possible; a seeded release and fixed rows, so there is no false alarm."""
    X, y = shapes(20_000)
    fresh, classes = shapes(5000, seed=9)
    bells = fit(X, y, classes=CLASSES)
    gain = made[1].model.log_density(fresh) - bells.log_density(fresh)
    assert gain.mean() > 0.4
    assert (made[1].model.predict(fresh) == classes).mean() > 0.99


def test_classes_of_the_model_have_the_moments_of_the_mixture(made):
    own, mixture = made[1].model.moments(), made[1].mixture
    np.testing.assert_allclose(own.weights, mixture.weights, rtol=1e-9)
    np.testing.assert_allclose(own.means, mixture.means, atol=1e-9)
    np.testing.assert_allclose(own.covariances, mixture.covariances, atol=1e-8)


def test_all_of_the_budget_and_no_more_is_spent(made):
    guarantee = made[1].guarantee
    spent = sum(m.mu**2 for m in guarantee.mechanisms) ** 0.5
    assert spent == pytest.approx(guarantee.mu, rel=1e-9)
    within = [m for m in guarantee.mechanisms if "within classes" in m.query]
    assert bool(within) == (made[0] != "label")


def test_label_level_asks_nothing_more_for_components():
    X, y = shapes(2000)
    one, four = (
        release(X, y, epsilon=2.0, classes=CLASSES, seed=1, components_per_class=c) for c in (1, 4)
    )
    assert one.guarantee.mechanisms == four.guarantee.mechanisms
    assert one.mixture.means.tobytes() == four.mixture.means.tobytes()
    assert one.components is None
    assert four.model.components_per_class.tolist() == [4, 4]


@pytest.mark.parametrize("unit", ["label", "replace"])
def test_bells_stay_bells(unit):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 8000)
    X = rng.normal(size=(8000, 2)) @ [[1.0, 0.5], [0.0, 0.4]] + 6 * y[:, None]
    r = release(
        X, y, epsilon=2.0, classes=[0, 1], seed=2, components_per_class="auto", **ASKED[unit]
    )
    assert r.model.components_per_class.tolist() == [1, 1]


def test_a_table_too_small_for_components_spends_nothing_on_them():
    X, y = shapes(60)
    codes = (y == "pair").astype(np.intp)
    curator = Curator(ArraySource(X / 20, codes, 2), SeededNoise(0), "replace", 1.0, 1e-5)
    found = release_record(curator, 2, 2, 60, components="auto")
    assert found.components is None
    assert not any("within classes" in m.query for m in curator.mechanisms)


def test_a_stated_number_is_what_every_class_gets_however_small():
    X, y = shapes(300)
    r = release(
        X, y, epsilon=1.0, classes=CLASSES, seed=0, components_per_class=3, **ASKED["add-remove"]
    )
    assert r.model.components_per_class.tolist() == [3, 3]
    assert np.isfinite(r.model.log_density(X)).all()


@pytest.mark.parametrize("wanted", [0, 65, -1, 2.0, True, "many", None])
def test_other_numbers_are_refused(wanted):
    X, y = shapes(50)
    with pytest.raises(InputError, match="whole number from 1 to 64 or 'auto'"):
        release(X, y, classes=CLASSES, components_per_class=wanted)


def test_components_go_with_classes_and_the_proven_mechanism():
    X, y = shapes(50)
    with pytest.raises(InputError, match="one component per class"):
        release(X, y, classes=CLASSES, components_per_class=2, mechanism="published")
    with pytest.raises(InputError, match="need classes"):
        release(X, unit="record", radius=20, n_components=2, components_per_class=2)
