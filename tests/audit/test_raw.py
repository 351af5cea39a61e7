"""On raw statistics the audit is tight, and it convicts every classic mistake."""

import dataclasses
import importlib
import math
import pkgutil

import numpy as np
import pytest
from tests.audit.mutants import MUTANTS, ROOT, SOURCE

import privgmm.queries
from privgmm.audit.pairs import N_CLASSES, Pair, mixed_pairs, pairs, person_pairs
from privgmm.audit.proven import _queries, mixed_attacks, mixed_script
from privgmm.audit.raw import (
    Claim,
    asks_once,
    asks_until_refused,
    attack,
    replays,
    standard_draws,
    standard_shift,
)
from privgmm.audit.verdict import judge
from privgmm.privacy import SeededNoise, mu_from_epsilon
from privgmm.privacy import curator as curator_module
from privgmm.queries.assigned import AssignedQuery, WithinClasses
from privgmm.queries.cell_counts import CellCounts, CellCountsQuery, Partition
from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
from privgmm.rowwise import GaussianRule

DELTA = 1e-5
ADJACENCIES = ["label", "replace", "add-remove"]


def histogram():
    shape = (N_CLASSES, 1)
    return MarginalCountsQuery(MarginalCounts(np.full(shape, -1.0), np.full(shape, 0.25), 8))


def moments():
    kernel = ClassMoments(np.zeros((N_CLASSES, 1)), np.ones((N_CLASSES, 1, 1)))
    return ClassMomentsQuery(kernel, Shape(1.0, 1.0, 1.0))


def cells():
    nearest = GaussianRule(np.array([[-0.3], [0.3]]), np.ones((2, 1, 1)), np.zeros(2))
    return CellCountsQuery(CellCounts(Partition((nearest,), (2,), np.arange(2)), N_CLASSES))


def components():
    """Two components in every class."""
    halves = GaussianRule(np.array([[-0.3], [0.3]]), np.ones((2, 1, 1)), np.zeros(2))
    kernel = ClassMoments(np.zeros((2 * N_CLASSES, 1)), np.ones((2 * N_CLASSES, 1, 1)))
    query = ClassMomentsQuery(kernel, Shape(1.0, 1.0, 1.0))
    return AssignedQuery(query, WithinClasses((halves,) * N_CLASSES))


def claim(adjacency, epsilon=1.0, trials=100_000, noise=None):
    draws = standard_draws(noise or SeededNoise(17), trials)
    return Claim(adjacency, epsilon, DELTA, draws)


def verdict(client, adjacency, near=None, **kwargs):
    stated = claim(adjacency, **kwargs)
    found = attack("query", client, near or pairs(adjacency, 1), stated)
    (row,) = judge([found], stated.epsilon, DELTA)
    return row


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(
    "query", [histogram(), moments(), components()], ids=["histogram", "moments", "components"]
)
def test_the_bound_is_close_to_epsilon_and_never_above(query, epsilon, adjacency):
    row = verdict(asks_once(query), adjacency, epsilon=epsilon)
    assert 0.8 * epsilon <= row.epsilon_lower <= epsilon
    assert not row.refuted
    assert row.trials == 100_000


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("query", [histogram(), moments()], ids=["histogram", "moments"])
def test_persons_with_49_rows_are_protected_as_a_row_is(query, epsilon, adjacency):
    row = verdict(asks_once(query), adjacency, person_pairs(adjacency, 1), epsilon=epsilon)
    assert 0.8 * epsilon <= row.epsilon_lower <= epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_persons_whose_rows_all_count_are_refuted(adjacency):
    """What a release of single rows promises nobody with 49 of them."""
    bare = [
        Pair(p.name, *(dataclasses.replace(side, shares=None) for side in (p.first, p.second)))
        for p in person_pairs(adjacency, 1)
    ]
    assert verdict(asks_once(histogram()), adjacency, bare).refuted


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_label_table_is_tight_too(epsilon):
    row = verdict(asks_once(cells()), "label", epsilon=epsilon)
    assert 0.8 * epsilon <= row.epsilon_lower <= epsilon


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_categories_and_missing_cells_are_attacked(adjacency, monkeypatch):
    """The histograms alone and all queries of a release; histograms of two columns paid as one are convicted."""
    near = mixed_pairs(adjacency)
    script = mixed_script(near[0].first, SeededNoise(1), claim(adjacency, trials=10))
    monkeypatch.setattr("privgmm.audit.proven.mixed_script", lambda *_: script)
    alone, together = judge(mixed_attacks(SeededNoise(1), claim(adjacency)), 1.0, DELTA)
    assert "column histograms, categories" in alone.query
    for row in (alone, together):
        assert 0.9 <= row.epsilon_lower <= 1.0
    one_column = {"add-remove": math.sqrt(2), "replace": 2.0}
    monkeypatch.setattr(MarginalCountsQuery, "sensitivity", lambda query, kind: one_column[kind])
    alone, _ = judge(mixed_attacks(SeededNoise(1), claim(adjacency)), 1.0, DELTA)
    assert alone.refuted


def test_every_query_of_a_release_is_attacked_and_has_a_mutant():
    found = {
        thing
        for module in pkgutil.iter_modules(privgmm.queries.__path__, "privgmm.queries.")
        for thing in vars(importlib.import_module(module.name)).values()
        if isinstance(thing, type) and thing.__module__ == module.name
        if hasattr(thing, "sensitivity") and hasattr(thing, "steps")
    }
    assert len(found) == 6
    assert {type(query) for unit in ("label", "record") for query in _queries(unit)} == found
    broken = {mutant.file for mutant in MUTANTS}
    assert {
        thing.__module__.removeprefix("privgmm.").replace(".", "/") + ".py" for thing in found
    } <= broken


def test_every_mutant_still_breaks_one_place():
    """Code that moves must take its mutants along."""
    for mutant in MUTANTS:
        text = (SOURCE / "privgmm" / mutant.file).read_text()
        assert text.count(mutant.old) == 1, mutant.name
        assert not mutant.also[0] or text.count(mutant.also[0]) == 1, mutant.name
        assert (ROOT / mutant.killer.split("::")[0]).exists(), mutant.name


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_some_neighbour_reaches_the_whole_budget(adjacency):
    stated = claim(adjacency, trials=10)
    mu = mu_from_epsilon(1.0, DELTA)
    for query in (histogram(), moments()):
        for client in (
            asks_once(query),
            asks_until_refused(query),
            replays([(query, 0.6 * mu), (query, 0.8 * mu)]),
        ):
            shifts = [
                np.linalg.norm(standard_shift(client, p, stated)) for p in pairs(adjacency, 1)
            ]
            assert max(shifts) <= mu * (1 + 1e-9)
            assert max(shifts) > 0.98 * mu


@dataclasses.dataclass(frozen=True, eq=False)
class Understated(MarginalCountsQuery):
    factor: float = 1.0

    def sensitivity(self, adjacency):
        return self.factor * super().sensitivity(adjacency)


@pytest.mark.parametrize("factor", [0.5, math.sqrt(0.5)])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_an_understated_sensitivity_is_refuted(factor, adjacency):
    query = Understated(histogram().kernel, factor=factor)
    row = verdict(asks_once(query), adjacency)
    assert row.refuted
    assert row.epsilon_lower > 1.2


def test_a_forgotten_second_moment_is_refuted():
    class Forgetful(ClassMomentsQuery):
        def sensitivity(self, adjacency):
            return math.sqrt(2 * (self.shape.count**2 + self.shape.mean**2))

    query = moments()
    assert verdict(asks_once(Forgetful(query.kernel, query.shape)), "label").refuted


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_budget_counted_once_for_two_queries_is_refuted(monkeypatch, adjacency):
    monkeypatch.setattr(curator_module, "compose", lambda mus: list(mus)[-1] if mus else 0.0)
    row = verdict(asks_until_refused(histogram()), adjacency)
    assert row.epsilon_lower > 3


def test_noise_of_half_the_scale_is_refuted():
    class Weak(SeededNoise):
        def gaussian(self, scale, size):
            return super().gaussian(0.5 * scale, size)

    assert verdict(asks_once(histogram()), "replace", noise=Weak(1)).epsilon_lower > 1.7


def test_a_skipped_clip_is_refuted(monkeypatch):
    from privgmm.queries import class_moments

    def unclipped(u):
        return np.rint(u * class_moments.grid_scale(u.shape[0]))

    monkeypatch.setattr(class_moments, "clipped_to_grid", unclipped)
    assert verdict(asks_once(moments()), "replace").epsilon_lower > 10
