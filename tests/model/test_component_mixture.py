"""A class of several Gaussians: densities, moments, predictions, samples and conditions of the whole model."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from privgmm import InputError, Mixture
from privgmm.model.components import ComponentMixture

OWNERS = [0, 1, 0, 1, 1]


def model(dim: int = 2, seed: int = 0) -> ComponentMixture:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(5, dim, dim)) + np.eye(dim)
    parts = Mixture(
        [0.1, 0.2, 0.3, 0.15, 0.25],
        2 * rng.normal(size=(5, dim)),
        roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dim),
        feature_names=[f"x{j}" for j in range(dim)],
    )
    return ComponentMixture(parts, OWNERS, ["a", "b"])


def test_densities_are_sums_over_components():
    m = model()
    X = np.random.default_rng(1).normal(size=(7, 2))
    each = np.stack(
        [
            w * multivariate_normal(mu, S).pdf(X)
            for w, mu, S in zip(m.parts.weights, m.parts.means, m.parts.covariances, strict=True)
        ],
        axis=1,
    )
    joint = np.stack([each[:, [0, 2]].sum(axis=1), each[:, [1, 3, 4]].sum(axis=1)], axis=1)
    np.testing.assert_allclose(np.exp(m.log_joint(X)), joint)
    np.testing.assert_allclose(np.exp(m.log_density(X)), joint.sum(axis=1))
    np.testing.assert_allclose(m.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    assert m.predict(X).tolist() == np.array(["a", "b"])[joint.argmax(axis=1)].tolist()
    assert m.components_per_class.tolist() == [2, 3]


def test_moments_are_those_of_its_rows():
    m = model()
    X, y = m.sample(200_000, seed=0)
    for k, name in enumerate("ab"):
        own, whole = X[y == name], m.moments()
        assert abs((y == name).mean() - whole.weights[k]) < 0.006  # five standard errors
        np.testing.assert_allclose(own.mean(axis=0), whole.means[k], atol=0.05)
        np.testing.assert_allclose(np.cov(own.T), whole.covariances[k], atol=0.15)


def test_one_component_per_class_is_the_mixture_and_draws_its_rows():
    plain = model().moments()
    whole = ComponentMixture.of(plain)
    for per_class in (False, True):
        (X, y), (X2, y2) = (m.sample(50, seed=3, per_class=per_class) for m in (plain, whole))
        assert X.tobytes() == X2.tobytes()
        assert y.tolist() == y2.tolist()
    np.testing.assert_array_equal(plain.log_joint(X), whole.log_joint(X))


def test_so_many_rows_of_every_class():
    _, y = model().sample(30, seed=0, per_class=True)
    assert sorted(y.tolist()) == ["a"] * 30 + ["b"] * 30


def test_a_condition_is_bayes_rule():
    m = model()
    rest = m.given({"x1": 0.7})
    assert rest.parts.feature_names == ("x0",)
    at = np.linspace(-4, 4, 9)
    whole = quad(lambda x: np.exp(m.log_density([[x, 0.7]])[0]), -60, 60, limit=200)[0]
    expected = np.exp(m.log_joint(np.column_stack([at, np.full(9, 0.7)]))) / whole
    np.testing.assert_allclose(np.exp(rest.log_joint(at[:, None])), expected, rtol=1e-6)


def test_rows_under_a_condition_have_it_and_follow_the_rest():
    m = model(3)
    X, y = m.sample(100_000, seed=0, given={"x0": 0.5, 2: -1.0})
    assert (X[:, 0] == 0.5).all()
    assert (X[:, 2] == -1.0).all()
    rest = m.given({0: 0.5, "x2": -1.0})
    # Five standard errors.
    share, whole = (y == "a").mean(), rest.weights[0]
    assert abs(share - whole) < 5 * np.sqrt(whole * (1 - whole) / y.size)
    assert abs(X[:, 1].mean() - rest.weights @ rest.moments().means[:, 0]) < 0.1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"none": 1.0}, "no column 'none'"),
        ({5: 1.0}, "no column 5"),
        ({"x0": np.nan}, "finite"),
        ({"x0": 1.0, "x1": 2.0}, "at least one"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(values, said):
    with pytest.raises(InputError, match=said):
        model().given(values)


@pytest.mark.parametrize("owners", [[0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 2, 1, 1], [0.0] * 5])
def test_owners_must_fit(owners):
    with pytest.raises(InputError):
        ComponentMixture(model().parts, owners, ["a", "b"])
