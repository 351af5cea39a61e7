"""Adversarial neighbours never exceed the stated sensitivity, and come within 1 % of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.queries.assigned import AssignedQuery, WithinClasses
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
from privgmm.rowwise import GaussianRule

weights = st.floats(0.05, 3.0)
shapes = st.builds(Shape, weights, weights, weights)


def query_of(seed: int, shape: Shape, n_classes: int, dim: int) -> ClassMomentsQuery:
    rng = np.random.default_rng(seed)
    maps = np.tril(rng.normal(size=(n_classes, dim, dim))) + 0.1 * np.eye(dim)
    return ClassMomentsQuery(ClassMoments(rng.normal(size=(n_classes, dim)), maps), shape)


def change(query, X, codes, X2, codes2) -> float:
    moved = query.kernel(X, codes) - query.kernel(X2, codes2)
    return float(np.linalg.norm(moved / query.steps))


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(
    shapes,
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.integers(1, 5),
    st.floats(1e-3, 1e6),
    st.sampled_from(["opposite", "same direction", "free"]),
)
def test_no_neighbour_exceeds_it(shape, seed, n_classes, dim, size, how) -> None:
    query = query_of(seed, shape, n_classes, dim)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, dim)) * size
    codes = rng.integers(0, n_classes, 3)
    X2, codes2 = X.copy(), codes.copy()
    codes2[0] = rng.integers(0, n_classes)
    factor = {"opposite": -1.0, "same direction": 0.3}.get(how)
    if factor is None:
        X2[0] = rng.standard_normal(dim) * size
    else:
        X2[0] = query.kernel.centres[codes[0]] * (1 - factor) + factor * X[0]
    slack = 1 + 1e-12
    assert change(query, X, codes, X2, codes2) <= query.sensitivity("replace") * slack
    assert change(query, X, codes, X[1:], codes[1:]) <= query.sensitivity("add-remove") * slack
    assert change(query, X, codes, X, codes2) <= query.sensitivity("label") * slack
    # Replacing by a row that is dropped, or by a label outside the list: one contribution goes.
    for adjacency in ("replace", "label"):
        dropped = change(query, X, codes, X[1:], codes[1:])
        assert dropped <= query.sensitivity(adjacency) * slack


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(
    "shape",
    [(0.1, 0.3, 1), (0.45, 0.71, 1), (0.5, 1, 1), (1, 0.5, 0.05), (2, 1, 1), (0.05, 0.7, 1)],
)
def test_a_single_block_by_brute_force(shape, dim) -> None:
    """Every pair of a fine grid on the ball's diameter (d > 1: of its great circle), and rows that come or go; never above, and close."""
    a, b, c = shape
    single = ClassMoments(np.zeros((1, dim)), np.eye(dim)[None])
    query, zero = ClassMomentsQuery(single, Shape(a, b, c)), np.zeros(1, dtype=np.intp)
    if dim == 1:
        rows = np.linspace(-1.0, 1.0, 201)[:, None]
    else:
        angles = np.linspace(0.0, np.pi, 100)
        circle = np.c_[np.cos(angles), np.sin(angles), np.zeros((100, dim - 2))]
        rows = np.concatenate([size * circle for size in (0.0, 0.5, 1.0)])
    parts = np.array([query.kernel(row[None], zero) / query.steps for row in rows])
    gaps = parts[:, None] - parts[None]
    worst = max(np.linalg.norm(gaps, axis=2).max(), np.linalg.norm(parts, axis=1).max())
    stated = query.sensitivity("replace")
    # On a line (1 - y^2)^2 was taken to be 1 - y^2, which costs up to a tenth.
    assert (0.9 if dim == 1 else 0.99) * stated <= worst <= stated
    assert stated <= query_of(0, Shape(a, b, c), 2, dim).sensitivity("replace")
    for adjacency in ("add-remove", "label"):
        assert query.sensitivity(adjacency) == query_of(0, Shape(a, b, c), 2, dim).sensitivity(adjacency)  # fmt: skip


@pytest.mark.parametrize("dim", [2, 3, 8])
@pytest.mark.parametrize("shape", [(0.1, 1, 2), (0.5, 1, 1), (0.1, 2, 1), (2, 1, 1), (0.1, 0.2, 1)])
def test_the_worst_neighbours_come_within_one_per_cent(shape, dim) -> None:
    a, b, c = shape
    plain = ClassMoments(np.zeros((2, dim)), np.repeat(np.eye(dim)[None], 2, axis=0))
    query = ClassMomentsQuery(plain, Shape(a, b, c))
    cosine = max(-1.0, -(b**2) / (2 * c**2))
    u, w = np.zeros((1, dim)), np.zeros((1, dim))
    u[0, :2] = math.cos(0.7), math.sin(0.7)
    angle = 0.7 + math.acos(cosine)
    w[0, :2] = math.cos(angle), math.sin(angle)
    zero, one = np.zeros(1, dtype=np.intp), np.ones(1, dtype=np.intp)
    worst = max(change(query, u, zero, w, zero), change(query, u, zero, w, one))
    assert 0.99 * query.sensitivity("replace") <= worst <= query.sensitivity("replace")
    alone = change(query, u, zero, u[:0], zero[:0])
    assert 0.99 * query.sensitivity("add-remove") <= alone <= query.sensitivity("add-remove")
    flipped = change(query, u, zero, u, one)
    assert 0.99 * query.sensitivity("label") <= flipped <= query.sensitivity("label")


def test_off_diagonal_steps_make_the_norm_frobenius() -> None:
    query = ClassMomentsQuery(ClassMoments(np.zeros((1, 2)), np.eye(2)[None]), Shape(1, 1, 1))
    count, first, _, diagonal, off, last = query.steps
    assert diagonal == last
    assert off == pytest.approx(diagonal / math.sqrt(2))
    assert (count, first) == (1, math.sqrt(diagonal))


@settings(max_examples=300, deadline=None)
@given(
    shapes, st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.none() | st.integers()
)
def test_assigned_rows_obey_the_same_bound(shape, seed, n_classes, dim, salt) -> None:
    query = query_of(seed, shape, n_classes, dim)
    rng = np.random.default_rng(seed)
    rule = GaussianRule(
        rng.normal(size=(n_classes, dim)),
        np.tril(rng.normal(size=(n_classes, dim, dim))),
        rng.normal(size=n_classes),
        salt,
    )
    assigned = AssignedQuery(query, rule)
    X = 2 * rng.standard_normal((4, dim))
    X2 = X.copy()
    X2[0] = 2 * rng.standard_normal(dim)
    unused = np.zeros(4, dtype=np.intp)
    assert change(assigned, X, unused, X2, unused) <= assigned.sensitivity("replace")
    gone = change(assigned, X, unused, X[1:], unused[1:])
    assert gone <= assigned.sensitivity("add-remove") * (1 + 1e-12)


@settings(max_examples=300, deadline=None)
@given(
    shapes,
    st.integers(0, 10**6),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(1, 3),
    st.none() | st.integers(),
)
def test_components_within_classes_obey_the_same_bound(shape, seed, sizes, dim, salt) -> None:
    """Any row against any other, of any class or none; a row goes to one block, whatever the others do."""
    rng = np.random.default_rng(seed)
    rules = tuple(
        GaussianRule(
            rng.normal(size=(m, dim)), np.tril(rng.normal(size=(m, dim, dim))), np.zeros(m), salt
        )
        for m in sizes
    )
    within = AssignedQuery(query_of(seed, shape, sum(sizes), dim), WithinClasses(rules))
    X = 2 * rng.standard_normal((4, dim))
    codes = rng.integers(-1, len(sizes), 4)
    X2, codes2 = X.copy(), codes.copy()
    X2[0], codes2[0] = 2 * rng.standard_normal(dim), rng.integers(-1, len(sizes))
    slack = 1 + 1e-12
    assert change(within, X, codes, X2, codes2) <= within.sensitivity("replace") * slack
    assert change(within, X, codes, X, codes2) <= within.sensitivity("label") * slack
    gone = change(within, X, codes, X[1:], codes[1:])
    assert gone <= within.sensitivity("add-remove") * slack


def test_rows_of_two_components_of_one_class_attain_the_bound() -> None:
    """On the sphere of their ellipsoids: no constant below the stated one would do."""
    at = np.array([[-5.0], [5.0]])
    rule = GaussianRule(at, np.ones((2, 1, 1)), np.zeros(2))
    plain = ClassMoments(at, np.ones((2, 1, 1)))
    within = AssignedQuery(ClassMomentsQuery(plain, Shape(1.0, 1.0, 1.0)), WithinClasses((rule,)))
    zero = np.zeros(1, dtype=np.intp)
    worst = change(within, at[:1] + 1, zero, at[1:] - 1, zero)
    assert 0.99 * within.sensitivity("replace") <= worst <= within.sensitivity("replace")
    alone = change(within, at[:1] + 1, zero, at[:0], zero[:0])
    assert 0.99 * within.sensitivity("add-remove") <= alone <= within.sensitivity("add-remove")
