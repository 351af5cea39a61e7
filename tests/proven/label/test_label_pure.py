"""Draws for the errors, where labels follow a clustering: rows on a boundary change sides together."""

from types import SimpleNamespace

import numpy as np
import pytest

from privgmm.proven.label.pure import _Swing, how_wrong
from privgmm.proven.label.tuning import TUNING


def counts(labels, size, draws=2000, seed=0):
    """How many rows carry label 0, in draws of the labels and of the labels that are off together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(labels), 2))
    swing = _Swing(X, labels, size, rng)
    found = np.empty((2, draws))
    for s in range(draws):
        lot = rng.random((len(labels), 1))
        code = (lot > labels.cumsum(axis=1)[:, :-1]).sum(axis=1)
        found[:, s] = (code == 0).sum(), (swing.codes(code, lot) == 0).sum()
    return found


def test_rows_that_are_sure_of_their_label_keep_it():
    labels = np.repeat(np.eye(2), 50, axis=0)
    plain, swung = counts(labels, 2.0, draws=50)
    np.testing.assert_array_equal(plain, 50)
    np.testing.assert_array_equal(swung, 50)


def test_rows_on_a_boundary_are_off_together():
    """Log odds that all share have the variance 2 s^2 by the shift and as much by the slope of each of two standard columns.

    The slopes average out over rows with columns of mean zero, the shift does not: of n rows with even odds it moves
    n / 4 per unit. Sampling error of a deviation of 2,000 draws: 1.6 %.
    """
    n, size = 400, 0.25
    plain, swung = counts(np.full((n, 2), 0.5), size)
    alone = n / 4
    assert plain.std() == pytest.approx(np.sqrt(alone), rel=0.06)
    assert swung.std() == pytest.approx(np.sqrt(alone + 2 * (size * n / 4) ** 2), rel=0.1)
    assert swung.mean() == pytest.approx(n / 2, abs=4 * swung.std() / np.sqrt(2000))


def test_without_a_swing_labels_are_those_drawn():
    labels = np.tile([0.3, 0.7], (100, 1))
    plain, swung = counts(labels, 0.0, draws=50)
    np.testing.assert_array_equal(plain, swung)


def test_clusterings_that_explain_the_table_badly_are_farther_off():
    def models(*excess):
        return [SimpleNamespace(excess=e) for e in excess]

    assert how_wrong([], TUNING) == 1.0
    assert how_wrong(models(-2.0, 5.0), TUNING) == 1.0
    one, two, more = (how_wrong(models(e), TUNING) for e in (0.0, TUNING.excess, 30.0))
    assert 1.0 < one < two == more
