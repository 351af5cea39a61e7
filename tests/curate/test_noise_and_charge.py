"""A release draws all of its noise from OpenDP, and pays for it in full before the first draw."""

from __future__ import annotations

import numpy as np
import opendp.measurements
import pytest

import privgmm
from privgmm.ledger import Ledger
from privgmm.privacy import Curator, mu_from_epsilon

X = np.random.default_rng(0).uniform(-1, 1, (30, 1))
Y = np.array(["a", "b"] * 15)
UNITS = [
    {"unit": "label"},
    {"unit": "record", "bounds": (-1.0, 1.0)},
    {"unit": "record", "bounds": (-1.0, 1.0), "adjacency": "add-remove"},
]


@pytest.mark.parametrize("how", UNITS)
def test_every_number_of_noise_comes_from_opendp(how, monkeypatch):
    drawn = []
    make = opendp.measurements.make_gaussian

    def counting(*space, scale):
        sampler = make(*space, scale=scale)

        def draw(zeros):
            drawn.append(len(zeros))
            return sampler(zeros)

        return draw

    monkeypatch.setattr(opendp.measurements, "make_gaussian", counting)
    found = privgmm.release(X, Y, classes=["a", "b"], **how)
    assert found.guarantee.publishable
    assert sum(drawn) == sum(mechanism.coordinates for mechanism in found.guarantee.mechanisms)


@pytest.mark.parametrize("how", UNITS)
def test_the_ledger_is_charged_in_full_before_the_first_answer(how, tmp_path, monkeypatch):
    Ledger.create(tmp_path / "l.db", 8.0, 1e-5)

    def refuse(*_):
        (row,) = Ledger.open(tmp_path / "l.db").rows()
        assert row.cost.mu == mu_from_epsilon(0.7, 1e-6)
        assert (row.epsilon, row.delta) == (0.7, 1e-6)
        raise KeyboardInterrupt

    monkeypatch.setattr(Curator, "answer", refuse)
    with pytest.raises(KeyboardInterrupt):
        privgmm.release(
            X, Y, 0.7, 1e-6, classes=["a", "b"], ledger=tmp_path / "l.db", **how
        )  # fmt: skip
    assert len(Ledger.open(tmp_path / "l.db").rows()) == 1


@pytest.mark.parametrize(
    "how",
    [
        {"published": {"smoothing": 2.0}},
        {"published": {"scalable": True}},
        {"published": {"scalable": True}, "radius": 2.0, "preprocessing": ["standardise"]},
        {"unit": "record", "bounds": (-1.0, 1.0), "adjacency": "add-remove"},
    ],
)
def test_what_the_published_method_cannot_do_costs_nothing(how, tmp_path):
    Ledger.create(tmp_path / "l.db", 8.0, 1e-5)
    with pytest.raises(privgmm.InputError):
        privgmm.release(
            X, Y, mechanism="published", classes=["a", "b"], ledger=tmp_path / "l.db", **how
        )
    assert Ledger.open(tmp_path / "l.db").rows() == []
