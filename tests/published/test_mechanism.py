"""design(): its refusals, its variants, and the law of its draws."""

import math

import numpy as np
import pytest

from privgmm import InputError, Mixture, datasets
from privgmm.published import baseline, design, design_for, mean_shifts, spent, spent_on


@pytest.fixture(scope="module")
def drawn():
    X, y = datasets.synthetic(n=300, n_classes=2, dim=3, seed=1)
    found = design(X, y)
    rng = np.random.default_rng(0)
    return found, [found.draw(rng) for _ in range(3000)]


def test_mean_noise_has_the_stated_covariance(drawn):
    found, draws = drawn
    noise = np.stack([m.means - found.fitted.means for m in draws])
    for k in range(2):
        # whitened by the stated covariance, the sample covariance is the identity
        white = np.linalg.solve(np.linalg.cholesky(found.mean_noise[k]), noise[:, k].T)
        np.testing.assert_allclose(np.cov(white), np.eye(3), atol=0.1)
        assert np.abs(white.mean(axis=1)).max() < 0.08


def test_covariance_noise_is_wishart(drawn):
    """Mean (d+1)/gamma I and variance of a diagonal entry 2(d+1)/gamma^2; a 30 % error would show."""
    found, draws = drawn
    noise = np.stack([m.covariances - found.fitted.covariances for m in draws])
    for k in range(2):
        scaled = noise[:, k] * found.wishart_scale[k]
        np.testing.assert_allclose(scaled.mean(axis=0), 4 * np.eye(3), atol=0.2)
        assert scaled[:, 0, 0].var() == pytest.approx(8, rel=0.15)
        assert np.linalg.eigvalsh(noise[:, k]).min() > 0


def test_weights_stay_on_the_grid(drawn):
    _, draws = drawn
    counts = np.stack([m.weights for m in draws]) * 300
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert counts.min() >= 1


def test_seeds(labelled):
    found = design(*labelled(0))
    np.testing.assert_array_equal(found.draw(seed=5).means, found.draw(seed=5).means)
    assert (found.draw(seed=None).means != found.draw(seed=None).means).all()
    assert isinstance(found.draw(seed=1), Mixture)
    assert "means" not in repr(found)


def test_class_names_and_order(labelled):
    X, y = labelled(0)
    names = np.array(["oak", "elm", "fir"])[y]
    found = design(X, names, classes=["oak", "elm", "fir"])
    plain = design(X, y)
    np.testing.assert_allclose(found.mean_noise, plain.mean_noise)
    assert found.draw(seed=0).classes == ("oak", "elm", "fir")


def test_scalable_noise_is_eqr5_with_b_squared(labelled):
    """Gamma_k^-1 = 8 B^2 ln(2/delta) / (N_k^2 eps_k^2) I."""
    X, y = labelled(2, dim=3)
    for adjacency in ("label", "record-change", "record-add"):
        found = design(X, y, 1.0, 1e-5, adjacency, radius=20.0, scalable=True)
        for k, n_k in enumerate(found.counts):
            variance = 8 * 20.0**2 * np.log(2e5) / (n_k**2 * found.epsilon_means[k] ** 2)
            np.testing.assert_allclose(found.mean_noise[k], variance * np.eye(3), rtol=1e-9)


def test_listed_neighbours_need_less_noise_than_the_ball(labelled):
    X, y = labelled(2, dim=3)
    listed = design(X, y, radius=20.0)
    ball = design(X, y, radius=20.0, scalable=True)
    assert listed.objective <= ball.objective


def test_record_change_releases_the_weights_as_they_are(labelled):
    found = design(*labelled(4), adjacency="record", radius=30.0)
    assert found.epsilon_weights == 0
    np.testing.assert_array_equal(found.draw(seed=0).weights, found.fitted.weights)


def test_removal_and_addition_move_one_count(labelled):
    X, y = labelled(4)
    for adjacency, step in (("remove", -1), ("add", 1)):
        candidates = design(X, y, adjacency=adjacency, radius=30.0).weights_map.candidates
        assert candidates.shape == (4, 3)
        counts = candidates[1:] * (len(y) + step)
        np.testing.assert_allclose(counts - np.bincount(y), step * np.eye(3), atol=1e-9)


def test_radius_clips_the_fit(labelled):
    X, y = labelled(5)
    found = design(X, y, radius=2.0)
    assert np.linalg.norm(found.fitted.means, axis=1).max() <= 2.0


def test_one_class_at_record_level(labelled):
    X, _ = labelled(6)
    found = design(X, np.zeros(len(X), dtype=int), adjacency="record", radius=30.0)
    np.testing.assert_array_equal(found.draw(seed=0).weights, [1.0])


GOOD = {"epsilon": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "Epsilon"),
        ({"epsilon": -1.0}, "Epsilon"),
        ({"epsilon": float("nan")}, "Epsilon"),
        ({"epsilon": float("inf")}, "Epsilon"),
        ({"delta": 0.0}, "Delta"),
        ({"delta": 1.0}, "Delta"),
        ({"delta": float("nan")}, "Delta"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"method": "newton"}, "method"),
        ({"adjacency": "user"}, "adjacency"),
        ({"adjacency": "record"}, "radius"),
        ({"adjacency": "add"}, "radius"),
        ({"scalable": True}, "radius"),
        ({"radius": -1.0}, "radius"),
        ({"neighbours": "arrivals"}, "neighbours"),
        ({"eqr5": "B"}, "eqr5"),
    ],
)
def test_bad_settings_are_one_sentence(labelled, change, words):
    with pytest.raises(InputError, match=rf"^[^\n]*{words}[^\n]*\.$"):
        design(*labelled(0), **(GOOD | change))


def test_bad_data_is_one_sentence(labelled):
    X, y = labelled(0)
    with pytest.raises(InputError, match=r"one class only.*\.$"):
        design(X, np.zeros(len(X)))
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        with pytest.raises(InputError, match="missing or infinite"):
            design(broken, y)
    keep = np.concatenate([np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:3]])
    with pytest.raises(InputError, match=r"Class 1 has 3 rows.*at least 4.*merge"):
        design(X[keep], y[keep])
    with pytest.raises(InputError, match="positive definite"):
        design(np.column_stack([X[:, 0], X[:, 0]]), y)


@pytest.mark.parametrize("epsilon", [5e-324, 1e308, None, "x"])
def test_budgets_that_make_no_numbers_are_one_sentence(epsilon):
    X, y = datasets.synthetic(60, 2, 2, seed=0)
    with pytest.raises(InputError, match="Epsilon"):
        design(X, y, epsilon=epsilon)
    with pytest.raises(InputError, match="Epsilon"):
        baseline("laplace", X, y, epsilon=epsilon)
    with pytest.raises(InputError, match="Delta"):
        baseline("gaussian", X, y, delta=5e-324)


@pytest.mark.parametrize("radius", ["x", [1], 0, math.nan])
def test_a_radius_is_a_positive_number(radius):
    X, y = datasets.synthetic(60, 2, 2, seed=0)
    with pytest.raises(InputError, match="radius"):
        design(X, y, adjacency="record-change", radius=radius)


def test_nearly_dependent_columns_are_one_sentence():
    """A covariance may pass Cholesky and still have no inverse."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1e-160, 1.0]
    with pytest.raises(InputError):
        design(X, np.arange(30) % 2).draw(seed=0)


def test_parameters_give_the_design_of_the_rows_they_came_from(labelled):
    X, y = labelled(3)
    whole = design(X, y, neighbours="departures")
    shifts = [
        mean_shifts(X, y, k, mean, "label", "departures")
        for k, mean in enumerate(whole.fitted.means)
    ]
    same = design_for(whole.fitted, len(y), shifts)
    np.testing.assert_allclose(same.mean_noise, whole.mean_noise, rtol=1e-9)
    assert same.objective == pytest.approx(whole.objective)
    assert spent_on(same, shifts).total == pytest.approx(spent(whole, X, y).total)
    assert spent_on(same, shifts).total <= 1 + 1e-6


def test_an_em_fit_can_be_released_and_its_weights_lie_on_the_grid():
    from sklearn.mixture import GaussianMixture

    X, _ = datasets.synthetic(n=300, n_classes=2, dim=3, seed=1)
    em = GaussianMixture(2, random_state=0).fit(X)
    fitted, codes = Mixture(em.weights_, em.means_, em.covariances_), em.predict(X)
    shifts = [mean_shifts(X, codes, k, mean, "label") for k, mean in enumerate(em.means_)]
    found = design_for(fitted, 300, shifts, method="joint")
    on_grid = found.fitted.weights * 300
    np.testing.assert_allclose(on_grid, np.rint(on_grid), atol=1e-9)
    assert np.abs(found.fitted.weights - em.weights_).max() <= 1 / 300
    np.testing.assert_array_equal(found.counts, np.rint(on_grid))
    np.testing.assert_allclose(found.draw(0).weights * 300 % 1, 0, atol=1e-9)
    ball = design_for(fitted, 300, adjacency="record", radius=30.0)
    assert ball.epsilon_weights == 0
    assert spent_on(ball, None).total == pytest.approx(1)


def test_the_printed_bound_spends_more_than_it_says(labelled):
    """8B for 8B^2 at B = 20: sqrt(20) times the stated eps_k, which Theorem 1's check finds."""
    X, y = labelled(2, dim=3)
    found = design(X, y, adjacency="record", radius=20.0, eqr5="printed")
    np.testing.assert_allclose(spent(found, X, y).means, found.epsilon_means * np.sqrt(20))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "number of rows"),
        ({"n": 1}, "grid"),
        ({"shifts": None}, "one array for each"),
        ({"shifts": [np.ones((3, 2))]}, "one array for each"),
        ({"shifts": [np.ones((3, 1))] * 2}, "2 columns"),
        ({"shifts": [np.full((3, 2), np.nan)] * 2}, "missing"),
        ({"fitted": "model"}, "Mixture"),
        ({"lambda_": 0.1}, "no option"),
        ({"adjacency": "record"}, "radius"),
    ],
)
def test_bad_parameters_are_one_sentence(change, words):
    shifts = [np.random.default_rng(k).standard_normal((9, 2)) for k in range(2)]
    fitted = Mixture([0.5, 0.5], np.zeros((2, 2)), np.stack([np.eye(2)] * 2))
    good = {"fitted": fitted, "n": 20, "shifts": shifts}
    assert design_for(**good).counts.tolist() == [10, 10]
    with pytest.raises(InputError, match=rf"^[^\n]*{words}[^\n]*\.$"):
        design_for(**(good | change))
