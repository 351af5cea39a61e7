"""Persons with 1 to 1,000 rows, by brute force: exchanged, come, gone or relabelled (docs/proofs/persons.md)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privgmm.data import ArraySource
from privgmm.data.persons import Whose
from privgmm.queries.assigned import AssignedQuery
from privgmm.queries.cell_counts import CellCounts, CellCountsQuery, Partition
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
from privgmm.queries.column_moments import ColumnMoments
from privgmm.queries.radial_counts import RadialCounts, RadialCountsQuery
from privgmm.rowwise import GaussianRule
from privgmm.types import PersonUnit

K = 3
# A person: rows (m, d) and class codes (m,), -2 for a label outside the list.
Person = tuple[np.ndarray, np.ndarray]


def queries(dim: int, seed: int, shape: Shape) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    centres = 0.3 * rng.normal(size=(K, dim))
    maps = np.tril(0.3 * rng.normal(size=(K, dim, dim))) + np.eye(dim)
    rule = GaussianRule(centres, maps, np.zeros(K), salt=seed)
    moments = ClassMomentsQuery(ClassMoments(centres, maps), shape)
    # Rows of the other classes are in no block.
    one_block = ClassMomentsQuery(ClassMoments(centres[:1], maps[:1]), shape)
    histograms = MarginalCountsQuery(
        MarginalCounts(np.full((K, dim), -1.0), np.full((K, dim), 0.25), n_bins=8)
    )
    shells = RadialCountsQuery(RadialCounts(centres, maps, np.tile([0.5, 1.0, 2.0], (K, 1))))
    return {
        "moments": moments,
        "one block": one_block,
        "histograms": histograms,
        "shells": shells,
        "columns": ColumnMoments((-1.0,) * dim, (1.0,) * dim),
        "cells": CellCountsQuery(CellCounts(Partition((rule,), (K,), np.arange(K)), K)),
        "assigned moments": AssignedQuery(moments, rule),
        "assigned histograms": AssignedQuery(histograms, rule),
        "assigned shells": AssignedQuery(shells, rule),
    }


def totals(query, persons: list[Person], unit: PersonUnit, shift: int) -> np.ndarray:
    """T(D) / steps as the curator has it before the noise."""
    X = np.concatenate([x for x, _ in persons])
    codes = np.concatenate([c for _, c in persons]).astype(np.intp)
    ids = pa.array([f"p{i}" for i, (x, _) in enumerate(persons) for _ in x], pa.large_string())
    shares = Whose.of(ids, X, unit).shares()
    source = ArraySource(X, codes, K, chunk_rows=257, shares=shares)
    exact = source.fixed_point(query.kernel, shift)
    return np.array([total / (1 << shift) for total in exact]) / query.steps


def person(rng: np.random.Generator, dim: int, rows: int, how: str) -> Person:
    x = rng.choice([0.3, 1.0, 30.0]) * rng.standard_normal(dim)
    X = np.tile(x, (rows, 1))
    codes = np.full(rows, rng.integers(K))
    if how == "disagree":
        X[::2] *= -1
    elif how == "different classes":
        codes = rng.integers(0, K, rows)
    elif how == "anything":
        X = rng.choice([0.1, 1.0, 1e6], (rows, 1)) * rng.standard_normal((rows, dim))
        codes = rng.choice([-2, *range(K)], rows)
    elif how == "of no class":
        codes = np.full(rows, -2)
    return X, codes


sizes = st.integers(1, 1000) | st.sampled_from([1, 2, 49, 64, 1000])
hows = st.sampled_from(["agree", "disagree", "different classes", "anything", "of no class"])
weights = st.floats(0.05, 3.0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.builds(Shape, weights, weights, weights),
    st.tuples(sizes, sizes),
    st.tuples(hows, hows),
    st.sampled_from([None, 1, 7, 50]),
    st.sampled_from([20, 20, 9, 3, 0]),
)
def test_no_neighbour_exceeds_what_one_row_may_move(seed, dim, shape, rows, how, most, shift):
    rng = np.random.default_rng(seed)
    unit = PersonUnit("home", most)
    others = [person(rng, dim, int(m), "anything") for m in rng.integers(1, 60, 3)]
    one, two = (person(rng, dim, m, h) for m, h in zip(rows, how, strict=True))
    relabelled = one[0], rng.choice([-2, *range(K)], len(one[0]))
    for name, query in queries(dim, seed, shape).items():
        before = totals(query, [*others, one], unit, shift)
        near = {"label": [*others, relabelled]}
        if name != "cells":
            near |= {"replace": [two, *others], "add-remove": others}
        if name == "columns":
            del near["label"]
        for adjacency, persons in near.items():
            moved = np.linalg.norm(totals(query, persons, unit, shift) - before)
            assert moved <= query.sensitivity(adjacency) * (1 + 1e-12), (name, adjacency)


@pytest.mark.parametrize("rows", [1, 2, 64, 1024])
@pytest.mark.parametrize("most", [None, 64])
def test_persons_whose_rows_agree_reach_it(rows, most):
    """2^20 is a multiple of these numbers of rows: such persons count in full, and not an integer more."""
    unit, edge = PersonUnit("home", most), np.full((1, 1), 1e3)
    if most is not None and rows < most:
        pytest.skip("Such a person counts for less than the most.")
    others = [(np.zeros((3, 1)), np.zeros(3, np.intp))]
    here = np.tile(edge, (rows, 1))
    one, moved = (here, np.zeros(rows, np.intp)), (here, np.ones(rows, np.intp))
    shape = Shape(1.0, 1.0, 1.0)
    for name, query in queries(1, 0, shape).items():
        before = totals(query, [*others, one], unit, 20)
        if name in ("moments", "histograms", "shells", "cells"):
            change = np.linalg.norm(totals(query, [*others, moved], unit, 20) - before)
            assert change == pytest.approx(query.sensitivity("label"), rel=1e-2), name
        if name != "cells":
            gone = np.linalg.norm(totals(query, others, unit, 20) - before)
            assert gone == pytest.approx(query.sensitivity("add-remove"), rel=1e-2), name


def test_nobody_can_count_for_nothing_without_paying_for_it():
    """More rows than 2^shift have weight zero: to or from such a person columns move by more than 2."""
    query = ColumnMoments((-1.0,), (1.0,))
    crowd = np.ones((9, 1)), np.zeros(9, np.intp)
    one = np.ones((1, 1)), np.zeros(1, np.intp)
    others = [(np.zeros((1, 1)), np.zeros(1, np.intp))]
    unit = PersonUnit("home")
    gap = totals(query, [*others, one], unit, 3) - totals(query, [*others, crowd], unit, 3)
    assert np.linalg.norm(gap) == pytest.approx(query.sensitivity("replace"))
    assert query.sensitivity("replace") > 2.13


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_order_and_chunks_change_no_bit(seed, most):
    rng = np.random.default_rng(seed)
    X, codes = np.round(rng.normal(size=(60, 2)), 0), rng.integers(-1, K, 60)
    ids = rng.integers(0, 9, 60)
    query = queries(2, 1, Shape(1.0, 1.0, 1.0))["moments"]

    def total(order, chunk):
        texts = pa.array([f"p{i}" for i in ids[order]], pa.large_string())
        shares = Whose.of(texts, X[order], PersonUnit("home", most)).shares()
        source = ArraySource(X[order], codes[order], K, chunk, shares)
        return source.fixed_point(query.kernel, 20)

    assert total(np.arange(60), 60) == total(rng.permutation(60), int(rng.integers(1, 60)))
