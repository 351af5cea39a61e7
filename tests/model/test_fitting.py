"""The non-private fit (eq2), its refusals, K-means labels and the 1/N grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privgmm import InputError, fit
from privgmm.datasets import synthetic
from privgmm.model import label_by_kmeans, weights_on_grid


def test_eq2_is_frequencies_means_and_unbiased_covariances():
    x, y = synthetic(400, 3, 2, seed=5)
    m = fit(x, y)
    for k in range(3):
        rows = x[y == k]
        assert m.weights[k] == len(rows) / 400
        np.testing.assert_allclose(m.means[k], rows.mean(0), rtol=1e-12)
        np.testing.assert_allclose(m.covariances[k], np.cov(rows.T), rtol=1e-10)


def test_classes_may_be_strings_and_keep_the_stated_order():
    x, y = synthetic(300, 3, 2, seed=1)
    names = np.array(["low", "mid", "high"])
    m = fit(x, names[y], classes=["high", "low", "mid"])
    assert m.classes == ("high", "low", "mid")
    np.testing.assert_allclose(m.means[0], x[y == 2].mean(0))
    assert fit(x, names[y]).classes == ("high", "low", "mid")


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([[1.0, np.nan]] * 8, [0, 1] * 4, r"columns \[1\]"),
        ([[np.inf, 1.0]] * 8, [0, 1] * 4, r"columns \[0\]"),
        ([["a", "b"]] * 8, [0, 1] * 4, "numbers"),
        (np.zeros((0, 2)), [], "rows and columns"),
        (np.zeros(4), [0] * 4, "rows and columns"),
        (np.eye(3), [0, 1], "one per row"),
        (np.eye(3), [0, 1, np.nan], "missing"),
        (np.eye(3), np.array([0, None, 1], object), "missing"),
        (np.eye(3), np.array(["a", 1, 2.0], object), "types"),
        (np.random.default_rng(0).normal(size=(9, 2)), [0] * 7 + [1] * 2, "Class 1 has 2 rows"),
        (np.ones((9, 2)), [0] * 9, "constant or linearly dependent"),
    ],
)
def test_bad_input_is_one_sentence(x, y, words):
    with pytest.raises(InputError, match=words) as caught:
        fit(x, y)
    assert "\n" not in str(caught.value)


def test_labels_outside_the_class_list_are_refused_without_their_value():
    x, y = synthetic(100, 2, 2, seed=0)
    labels = np.where(y == 0, "known", "secret-name")
    with pytest.raises(InputError, match="not in the class list") as caught:
        fit(x, labels, classes=["known", "other"])
    assert "secret" not in str(caught.value)


def test_kmeans_labels_separate_clusters():
    x = np.concatenate([np.zeros((20, 2)), np.full((30, 2), 9.0)])
    labels = label_by_kmeans(x + np.random.default_rng(0).normal(size=x.shape), 2)
    assert len(set(labels[:20])) == len(set(labels[20:])) == 1
    assert labels[0] != labels[-1]
    with pytest.raises(InputError, match="1 to 50"):
        label_by_kmeans(x, 51)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda v: sum(v) > 0.01),
    st.integers(8, 500),
)
def test_grid_weights_lie_in_s_and_are_near(raw, n):
    w = np.array(raw) / np.sum(raw)
    grid = weights_on_grid(w, n)
    counts = grid * n
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    assert counts.min() >= 1 - 1e-9
    assert round(counts.sum()) == n
    # No point of S is nearer: moving one unit between any two classes never helps.
    distance = np.abs(grid - w).sum()
    for i in range(w.size):
        for j in range(w.size):
            if i != j and counts[j] > 1.5:
                moved = counts.copy()
                moved[i] += 1
                moved[j] -= 1
                assert np.abs(moved / n - w).sum() >= distance - 1e-9


def test_grid_needs_room_for_every_class():
    with pytest.raises(InputError, match="grid"):
        weights_on_grid([0.2] * 5, 4)


def test_masked_cells_and_labels_are_missing_ones():
    """NumPy's own conversion takes what lies under the mask."""
    X, y = np.arange(8.0).reshape(4, 2) ** 2, np.array([0, 0, 1, 1])
    hidden = np.ma.masked_array(X, X == 9)
    with pytest.raises(InputError, match="missing"):
        fit(hidden, y)
    with pytest.raises(InputError, match="missing"):
        fit(X, np.ma.masked_array(y, [True, False, False, False]))


@pytest.mark.parametrize(
    "X",
    [np.ones((4, 2)) * 1j, np.full((4, 2), "2020", "M8[D]"), [[10**400, 1]] * 4, [["1", "2"]] * 4],
)
def test_features_are_real_numbers(X):
    with pytest.raises(InputError, match="must be numbers"):
        fit(X, [0, 0, 1, 1])


def test_labels_are_not_dates():
    with pytest.raises(InputError, match="texts, numbers or booleans"):
        fit(np.ones((4, 2)), np.array(["2020"] * 4, "M8[D]"))
