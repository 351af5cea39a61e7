import numpy as np
import pytest
from scipy.stats import multivariate_normal

import privgmm
from privgmm.proven.label import release
from privgmm.proven.label.assignments import PurePosterior, bell_shaped, reweighted
from privgmm.proven.label.tuning import Tuning

# Three components in a row; the first two lie close together.
CENTRES = np.array([[0.0, 0.0], [1.5, 0.0], [12.0, 0.0]])
COMPONENT = np.repeat([0, 1, 2], 200)
X = np.random.default_rng(0).normal(size=(600, 2)) + CENTRES[COMPONENT]
R = np.eye(3)[COMPONENT]
SCALE = X.std(axis=0)
BELIEF = 0.05


def test_the_prior_is_the_likelihood_of_gaussian_classes():
    z = np.array([0, 0, 1])
    y = z[COMPONENT]
    expected = 0.0
    base = 4 * np.cov(X.T)
    for k in range(2):
        rows = X[y == k]
        n = len(rows)
        shape = (n * np.cov(rows.T, bias=True) + base) / (n + 4)
        # The log-density without its quadratic form, which is the same for any shape fitted to its rows.
        at_peak = multivariate_normal(np.zeros(2), shape).logpdf(np.zeros(2)) + np.log(2 * np.pi)
        expected += n * (at_peak + np.log(n / 600))
    found = bell_shaped(X, np.ones(len(X)), R, 2, SCALE, BELIEF)(z[None])
    np.testing.assert_allclose(found, BELIEF * expected, rtol=1e-7)


def test_components_side_by_side_rather_share_a_class():
    together, apart, across = bell_shaped(X, np.ones(len(X)), R, 2, SCALE, BELIEF)(
        np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]])
    )
    assert together > apart + 5
    assert together > across + 5


def test_a_class_of_hardly_any_rows_is_no_prize():
    few = np.eye(3)[np.where(np.arange(600) < 3, 2, COMPONENT // 2)]
    whole, split = bell_shaped(X, np.ones(len(X)), few, 3, SCALE, BELIEF)(
        np.array([[0, 1, 0], [0, 1, 2]])
    )
    assert split < whole


def test_a_constant_column_says_nothing():
    flat = np.column_stack([X, np.full(600, 7.0)])
    z = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0]])
    found = bell_shaped(flat, np.ones(len(X)), R, 2, np.append(SCALE, 1.0), BELIEF)(z)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        np.argsort(found), np.argsort(bell_shaped(X, np.ones(len(X)), R, 2, SCALE, BELIEF)(z))
    )


def test_draws_and_evidence_follow_the_new_prior():
    draws = np.array([[0, 0, 1]] * 30 + [[0, 1, 1]] * 10)
    found = PurePosterior(draws, log_evidence=-7.0)
    rng = np.random.default_rng(1)
    # Nine times as much for the rarer one: 30 to 90.
    new = reweighted(found, lambda z: np.log(1 + 8.0 * z[:, 1]), rng)
    assert new.log_evidence == pytest.approx(-7.0 + np.log((30 + 90) / 40))
    assert new.draws.shape == draws.shape
    assert 20 < (new.draws[:, 1] == 1).sum() < 40
    same = reweighted(found, lambda z: np.zeros(len(z)), rng)
    assert same.log_evidence == pytest.approx(-7.0)


def test_noise_that_names_the_wrong_class_is_overruled_by_the_features(monkeypatch):
    """Iris at epsilon 1, with noise that gives a part of setosa to virginica."""
    from sklearn.datasets import load_iris

    features, y = load_iris(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    fitted = privgmm.fit(features, y)

    def distance():
        r = privgmm.release(
            features, y, epsilon=1.0, classes=[0, 1, 2], objective="paper", seed=204
        )
        return privgmm.kl_divergence(r.mixture, fitted)

    assert distance() < 0.2
    monkeypatch.setattr(release, "TUNING", Tuning(belief=0.0))
    assert distance() > 1.0
