"""Every neighbour is made by hand and compared with the formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.errors import InputError
from privgmm.published.neighbours import (
    adjacency_named,
    adjacent_counts,
    ball_shape,
    clip_to_ball,
    mean_shifts,
)


def data(seed, n=30, d=2, k=3):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(k), 3), rng.integers(0, k, n - 3 * k)])
    return rng.standard_normal((n, d)) * 3, codes


def outer_set(rows):
    """Rows up to sign and order."""
    products = np.einsum("ni,nj->nij", rows, rows).reshape(len(rows), -1)
    return np.array(sorted(map(tuple, np.round(products, 10))))


def test_label_shifts_are_those_of_all_flips():
    X, codes = data(0)
    for k in range(3):
        by_hand = []
        for n in range(len(X)):
            for other in range(3):
                flipped = codes.copy()
                flipped[n] = other
                by_hand.append(X[codes == k].mean(axis=0) - X[flipped == k].mean(axis=0))
        by_hand = np.array(by_hand)
        moved = by_hand[np.abs(by_hand).max(axis=1) > 1e-12]
        shifts = mean_shifts(X, codes, k, X[codes == k].mean(axis=0), "label")
        np.testing.assert_allclose(
            np.unique(outer_set(moved), axis=0), np.unique(outer_set(shifts), axis=0), atol=1e-9
        )


def test_departures_are_the_flips_out_of_the_class():
    """(eq10) as printed: row n gets the label k' != k, so only rows of class k move its mean."""
    X, codes = data(3)
    mean = X[codes == 2].mean(axis=0)
    by_hand = []
    for n in np.flatnonzero(codes == 2):
        flipped = codes.copy()
        flipped[n] = 0
        by_hand.append(mean - X[flipped == 2].mean(axis=0))
    shifts = mean_shifts(X, codes, 2, mean, "label", "departures")
    np.testing.assert_allclose(outer_set(np.array(by_hand)), outer_set(shifts), atol=1e-9)


def test_removal_shifts():
    X, codes = data(1)
    inside = X[codes == 0]
    by_hand = [
        inside.mean(axis=0) - np.delete(inside, n, axis=0).mean(axis=0) for n in range(len(inside))
    ]
    shifts = mean_shifts(X, codes, 0, inside.mean(axis=0), "record-remove")
    np.testing.assert_allclose(outer_set(np.array(by_hand)), outer_set(shifts), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), radius=st.floats(0.1, 10))
def test_ball_bounds_every_change_addition_and_flip(seed, radius):
    X, codes = data(seed)
    X = clip_to_ball(X, radius)
    assert np.linalg.norm(X, axis=1).max() <= radius * (1 + 1e-12)
    inside = X[codes == 1]
    shape = ball_shape(len(inside), 2, radius)
    rng = np.random.default_rng(seed)
    new = clip_to_ball(rng.standard_normal((50, 2)) * radius * 3, radius)
    changed = (new - inside[0]) / len(inside)
    added = (new - inside.mean(axis=0)) / (len(inside) + 1)
    flips = mean_shifts(X, codes, 1, inside.mean(axis=0), "label")
    for shifts in (changed, added, flips):
        assert np.einsum("ni,ij,nj->n", shifts, np.linalg.inv(shape), shifts).max() <= 1 + 1e-9


def test_ball_is_tight_for_a_change():
    """A point at -B replaced by +B reaches the bound: 8 B would be too small or too large."""
    shift = np.array([2 * 7.0, 0.0]) / 5
    shape = ball_shape(5, 2, 7.0)
    assert shift @ np.linalg.inv(shape) @ shift == pytest.approx(1, rel=1e-12)


def test_the_printed_ball_has_b_where_b_squared_belongs():
    np.testing.assert_allclose(ball_shape(5, 2, 7.0, printed=True) * 7.0, ball_shape(5, 2, 7.0))


def test_clipping_leaves_short_rows_alone():
    """The print lacks the 1 in min{1, B/|x|}: short rows would be stretched to the sphere."""
    X = np.array([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(clip_to_ball(X, 1.0), [[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]])


def test_adjacent_counts():
    counts = np.array([4, 1, 3])
    flips = adjacent_counts(counts, "label")
    assert len(flips) == 4  # K(K-1) = 6, less the two that would empty class 1
    assert (np.abs(flips - counts).sum(axis=1) == 2).all()
    assert (flips.sum(axis=1) == 8).all()
    assert (flips > 0).all()
    assert len(adjacent_counts(np.array([4, 2, 3]), "label")) == 6
    np.testing.assert_array_equal(adjacent_counts(counts, "record-remove"), [[3, 1, 3], [4, 1, 2]])
    np.testing.assert_array_equal(
        adjacent_counts(counts, "record-add"), [[5, 1, 3], [4, 2, 3], [4, 1, 4]]
    )
    assert len(adjacent_counts(counts, "record-change")) == 0


def test_names():
    assert adjacency_named("record") == adjacency_named("change") == "record-change"
    assert adjacency_named("remove") == "record-remove"
    assert adjacency_named("add") == "record-add"
    with pytest.raises(InputError, match="Unknown adjacency"):
        adjacency_named("user")
    with pytest.raises(InputError, match="cannot be listed"):
        mean_shifts(np.ones((3, 1)), np.zeros(3, dtype=np.intp), 0, np.ones(1), "record-add")
