"""Labels that follow a clustering agree with the noisy counts of every cell, and noise moves nobody far."""

import numpy as np
import pytest

from privgmm.proven.label.cell_table import CellTable, fit_bend
from privgmm.proven.label.statistics import ClassFit, FitDraws
from privgmm.proven.label.tuning import Tuning

TUNING = Tuning(tilt_close=1e-6)


def table(counts, sigma):
    counts = np.asarray(counts, dtype=float)
    return CellTable(counts, counts.sum(axis=1), np.full(len(counts), sigma), totals_public=True)


def rows(n=300, seed=0):
    """Likely labels of rows in three cells, and labels that are not drawn from them."""
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet([0.5, 0.5, 0.5], n)
    cells = np.arange(n) % 3
    y = np.where(rng.random(n) < 0.3, 0, likely.argmax(axis=1))
    return likely, cells, y, np.bincount(3 * cells + y, minlength=9).reshape(3, 3)


def counted(labels, cells, weight=1.0):
    return weight * np.stack([np.bincount(cells, q) for q in labels.T], axis=1)


def test_without_noise_bent_labels_have_the_counts_of_every_cell():
    likely, cells, _, counts = rows()
    bend = fit_bend(likely, cells, np.ones(300), table(counts, 1e-3), TUNING)
    found = bend.labels(likely, cells, np.ones(300))
    np.testing.assert_allclose(counted(found, cells), counts, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_slopes_balance_noise_and_counts():
    likely, cells, _, counts = rows()
    bend = fit_bend(likely, cells, np.ones(300), table(counts, 4.0), TUNING)
    gap = counts - counted(bend.labels(likely, cells, np.ones(300)), cells)
    np.testing.assert_allclose(gap, 16.0 * bend.slopes, atol=1e-4)


def test_rows_that_are_chosen_stand_for_all_rows_of_their_cell():
    likely, cells, _, counts = rows()
    bend = fit_bend(likely, cells, np.ones(300), table(7 * counts, 1e-3), TUNING)
    found = bend.labels(likely, cells, np.ones(300))
    np.testing.assert_allclose(counted(found, cells, 7.0), 7 * counts, atol=1e-2)


def test_noise_gives_no_row_to_a_class_that_is_far_away():
    """A count of three that is noise of deviation one; a row of that class would lie eight deviations from it."""
    likely = np.tile([1 - np.exp(-32.0), np.exp(-32.0)], (50, 1))
    noisy = table([[47.0, 3.0]], 1.0)
    bend = fit_bend(likely, np.zeros(50, dtype=int), np.ones(50), noisy, TUNING)
    assert bend.labels(likely, np.zeros(50, dtype=int), np.ones(50))[:, 1].sum() < 1e-9


def test_a_label_that_nobody_listed_is_not_counted():
    likely, cells, _, counts = rows()
    listed = CellTable(counts[:, :2] * 1.0, counts.sum(axis=1) * 1.0, np.full(3, 1e-3), False)
    found = fit_bend(likely, cells, np.ones(300), listed, TUNING).labels(
        likely, cells, np.ones(300)
    )
    np.testing.assert_allclose(counted(found, cells), counts, atol=1e-2)


def test_draws_of_all_rows_change_as_those_of_some_rows_did():
    rng = np.random.default_rng(3)

    def draws(rows_):
        fits = [
            ClassFit(np.array([float(len(x))]), x.mean(axis=0)[None], len(x) * np.cov(x.T)[None])
            for x in rows_
        ]
        return FitDraws.of(fits, np.ones(2))

    some = [rng.normal(size=(40, 2)) for _ in range(2)]
    moved = [x[:20] @ np.array([[2.0, 0.5], [0.0, 1.0]]) + 3.0 for x in some]
    found = draws(some).carried(draws(some), draws(moved))
    assert found.counts == pytest.approx(draws(moved).counts)
    np.testing.assert_allclose(found.means, draws(moved).means)
    np.testing.assert_allclose(found.covariances, draws(moved).covariances)
