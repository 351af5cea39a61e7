"""Standardisation from the budget: close to the truth, paid for, and sane when noise dominates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privgmm.data import ArraySource
from privgmm.errors import BudgetError, InputError
from privgmm.privacy import Curator, SeededNoise
from privgmm.transform.prepare import standardise_privately
from privgmm.types import Adjacency

LOW, HIGH = [-10.0, 0.0, 0.0], [10.0, 100.0, 1000.0]


def curator(n: int, adjacency: Adjacency = "replace", seed: int = 0) -> tuple[Curator, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal([1.0, 30.0, 500.0], [2.0, 10.0, 50.0], size=(n, 3))
    source = ArraySource(X, np.zeros(n, dtype=np.intp), 1)
    return Curator(source, SeededNoise(seed), adjacency, 1.0, 1e-5), X


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_close_to_the_truth_with_many_rows(adjacency: Adjacency) -> None:
    private, X = curator(100_000, adjacency)
    n_rows = 100_000 if adjacency == "replace" else None
    step = standardise_privately(private, LOW, HIGH, mu=0.1, n_rows=n_rows)
    assert step.origin == "private-budget"
    assert np.allclose(step.mean, X.mean(0), atol=[0.05, 0.3, 3.0])
    assert np.allclose(step.scale, X.std(0), rtol=0.1)
    (record,) = private.mechanisms
    assert record.mu == 0.1
    assert record.coordinates == 7


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_sane_when_noise_dominates(adjacency: Adjacency) -> None:
    """Scales stay within the stated half-range and means within the stated range."""
    for seed in range(20):
        private, _ = curator(5, adjacency, seed)
        step = standardise_privately(private, LOW, HIGH, mu=0.01, n_rows=5)
        assert (step.mean >= LOW).all()
        assert (step.mean <= HIGH).all()
        assert (step.scale > 0).all()
        assert (step.scale <= np.subtract(HIGH, LOW) / 2).all()


def test_a_constant_column_gets_the_scale_of_its_noise() -> None:
    X = np.full((1000, 1), 0.25)
    source = ArraySource(X, np.zeros(1000, dtype=np.intp), 1)
    private = Curator(source, SeededNoise(1), "replace", 1.0, 1e-5)
    step = standardise_privately(private, [0.0], [1.0], mu=0.2, n_rows=1000)
    noise = 2 / 0.2 / 1000
    # u = -1/2, so the variance's standard error is noise * sqrt(r^2 + 4 / 4), within its own noise.
    floor = 0.5 * np.sqrt(noise * np.sqrt(0.625**2 + 1))
    assert 0.7 * floor < step.scale[0] < 2 * floor


def test_refusals_spend_nothing() -> None:
    private, _ = curator(10)
    for low, high in [(HIGH, LOW), ([0.0] * 3, [np.inf] * 3), ("a", "b")]:
        with pytest.raises(InputError):
            standardise_privately(private, low, high, mu=0.1, n_rows=10)
    with pytest.raises(BudgetError):
        standardise_privately(private, LOW, HIGH, mu=1.0, n_rows=10)
    assert private.mechanisms == ()


def test_without_a_public_number_of_rows_the_noisy_one_divides() -> None:
    private, _ = curator(10)
    step = standardise_privately(private, LOW, HIGH, mu=0.1)
    assert np.isfinite(step.mean).all()


def test_the_levels_that_bound_a_paid_step_are_those_of_its_query() -> None:
    from privgmm.queries.column_moments import LEVELS
    from privgmm.transform.prepare import prepare

    assert prepare.__globals__["LEVELS"] == LEVELS
    private, _ = curator(10)
    step = standardise_privately(private, LOW, HIGH, mu=0.1)
    for corner in (LOW, HIGH):
        assert (np.abs((np.asarray(corner) - step.mean) / step.scale) <= 2 * LEVELS).all()
