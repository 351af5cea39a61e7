"""Preparing rows by the rules of the unit: free at label level, fixed or paid at record level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privgmm.data import ArraySource
from privgmm.errors import InputError
from privgmm.privacy import Curator, SeededNoise
from privgmm.transform import Log, Pca, Standardise, fit_label_level
from privgmm.transform.prepare import prepare, standardise_privately

X = np.exp(np.random.default_rng(0).normal(size=(500, 3)))


def test_label_level_fits_what_is_named() -> None:
    prepared = prepare(["log", Standardise([0.0] * 3, [2.0] * 3), "pca:2"], X, "label")
    assert [s.kind for s in prepared.steps] == ["log", "standardise", "pca"]
    assert [s.origin for s in prepared.steps] == ["public", "public", "features"]
    assert prepared.X.shape == (500, 2)
    assert prepared.region == {}


def test_record_level_with_public_parameters() -> None:
    steps = [Log(), Standardise([0.0] * 3, [2.0] * 3)]
    prepared = prepare(steps, X, "record", bounds=(0.1, 10.0))
    clipped = np.clip(X, 0.1, 10.0)
    assert np.allclose(prepared.X, np.log(clipped) / 2)
    low, high = prepared.region["bounds"]
    assert np.allclose(low, np.log(0.1) / 2)
    assert np.allclose(high, np.log(10.0) / 2)
    pca = Pca([0.0] * 3, np.eye(3)[:2])
    narrowed = prepare([*steps, pca], X, "record", bounds=(0.1, 10.0))
    assert narrowed.region["center"].shape == (2,)
    assert (
        np.linalg.norm(narrowed.X - narrowed.region["center"], axis=1).max()
        <= (narrowed.region["radius"])
    )


def test_record_level_pays_for_a_standardisation() -> None:
    asked: list[Any] = []

    def paid(rows: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> Standardise:
        asked.append((lo, hi))
        source = ArraySource(rows, np.zeros(len(rows), dtype=np.intp), 1)
        curator = Curator(source, SeededNoise(0), "replace", 8.0, 1e-5)
        return standardise_privately(curator, lo, hi, mu=1.0, n_rows=len(rows))

    prepared = prepare(
        ["log", "standardise"], X, "record", bounds=(0.01, 100.0), paid_standardise=paid
    )
    assert np.allclose(asked[0][0], np.log(0.01))
    assert prepared.steps[1].origin == "private-budget"
    assert np.allclose(prepared.X.std(0), 1, atol=0.2)


def test_one_row_cannot_change_how_others_are_mapped_or_make_a_step_fail() -> None:
    """The map of each row is fixed: an extreme neighbour changes its own row only."""
    other = X.copy()
    other[0] = [-1e308, 0.0, 1e308]
    one = prepare([Log()], X, "record", bounds=(0.1, 10.0))
    two = prepare([Log()], other, "record", bounds=(0.1, 10.0))
    assert np.array_equal(one.X[1:], two.X[1:])
    assert np.array_equal(one.region["bounds"], two.region["bounds"])
    ball = prepare([Log()], other, "record", radius=1.0, center=1.5)
    assert np.isfinite(ball.X).all()


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (["standardise"], "would read private rows"),
        (["log", "pca:2"], "would read private rows"),
        ([fit_label_level("standardise", X)], "private at record level"),
        ("log", "as a list"),
    ],
)
def test_record_level_refuses_to_read_rows(wanted: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        prepare(wanted, X, "record", bounds=(0.1, 10.0))


def test_record_level_needs_stated_bounds() -> None:
    with pytest.raises(InputError, match="State where rows may lie"):
        prepare([Log()], X, "record")
