"""Preprocessing inside a release: recorded, undone on the way out, paid for where it must be."""

import math

import numpy as np
import pytest

import privgmm
from privgmm import InputError, Release
from privgmm.datasets import synthetic
from privgmm.transform import Standardise

X, Y = synthetic(400, 2, 3, seed=8)
CLASSES = [0, 1]


def test_label_level_steps_are_free_recorded_and_undone(tmp_path):
    wide = X * [1.0, 50.0, 1000.0] + 7
    r = privgmm.release(
        wide, Y, epsilon=4.0, unit="label", classes=CLASSES, seed=0,
        preprocessing=["standardise", "pca:2"], feature_names=["a", "b", "c"],
    )  # fmt: skip
    assert r.mixture.dim == 2
    assert [step.origin for step in r.preprocessing] == ["features", "features"]
    assert sum("Preprocessing" in note for note in r.guarantee.notes) == 2
    r.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    rows, labels = again.sample(2000, seed=1)
    assert rows.shape == (2000, 3)
    np.testing.assert_array_equal(rows, r.sample(2000, seed=1)[0])
    for k in CLASSES:
        near = np.abs(rows[labels == k].mean(0) - wide[k == Y].mean(0))
        assert (near < wide.std(axis=0)).all()
    assert (again.predict(wide) == Y).mean() > 0.9


def test_record_level_standardisation_is_paid_from_the_same_budget():
    r = privgmm.release(
        X, Y, epsilon=4.0, unit="record", classes=CLASSES, seed=0, bounds=(-20, 20),
        preprocessing=["standardise"], preprocessing_share=0.2,
    )  # fmt: skip
    (step,) = r.preprocessing
    assert step.origin == "private-budget"
    mus = [m.mu for m in r.guarantee.mechanisms]
    assert math.hypot(*mus) <= r.guarantee.mu * (1 + 1e-9)
    assert mus[0] == pytest.approx(r.guarantee.mu * math.sqrt(0.2))
    assert r.sample(10, seed=0)[0].shape == (10, 3)


def test_public_parameters_cost_nothing():
    step = Standardise(np.zeros(3), np.full(3, 6.0), "public")
    r = privgmm.release(
        X, Y, epsilon=4.0, unit="record", classes=CLASSES, seed=0, radius=25.0, preprocessing=[step]
    )
    reference = privgmm.fit(X / 6.0, Y)
    assert privgmm.kl_divergence(r.mixture, reference) < 3
    plain = privgmm.release(X, Y, epsilon=4.0, unit="record", classes=CLASSES, seed=0, radius=25.0)
    assert [m.query for m in r.guarantee.mechanisms] == [
        m.query for m in plain.guarantee.mechanisms
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"preprocessing": ["sqrt"]}, "step"),
        ({"preprocessing": "log"}, "log"),
        ({"preprocessing": ["pca:2"], "unit": "record", "radius": 20.0}, "record level"),
        ({"preprocessing": ["standardise"], "preprocessing_share": 1.5}, "share"),
        (
            {
                "preprocessing": [Standardise(np.zeros(3), np.ones(3), "features")],
                "unit": "record",
                "radius": 20.0,
            },
            "record level",
        ),
    ],
)
def test_refusals(settings, words):
    with pytest.raises(InputError, match=words):
        privgmm.release(X, Y, **{"unit": "label", "classes": CLASSES, "seed": 0, **settings})
