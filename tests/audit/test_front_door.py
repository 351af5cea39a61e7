"""Releases of files, field by field: what shows itself there without noise is refuted."""

import re

import numpy as np
import pytest

from privgmm.audit import front_door, judge
from privgmm.audit.front_door import file_pairs, front_door_attacks
from privgmm.errors import InputError
from privgmm.model import Mixture
from privgmm.releases import Guarantee, Release

RELATIONS = ["label", "replace", "add-remove"]


def noisy_release(path, seed, classes=("01", "10"), notes=(), **_):
    """A stand-in for ``privgmm.release``, quick: its numbers are noise, the rest is as given."""
    rng = np.random.default_rng(seed)
    mixture = Mixture(rng.dirichlet([5, 5]), rng.normal(size=(2, 1)), np.ones((2, 1, 1)), classes)
    guarantee = Guarantee("proven", "label", "label", 1.0, 1e-5, 0.27, False, notes=notes)
    return Release(mixture, guarantee)


def typed_by_data(path, **how):
    names = ("01", "10") if re.search(",01$", path.read_text(), re.MULTILINE) else (1, 10)
    return noisy_release(path, how["seed"], names)


def tells_the_number_of_rows(path, **how):
    rows = len(path.read_text().splitlines())
    return noisy_release(path, how["seed"], notes=(f"{rows} rows",))


def refuses_without(path, **how):
    if "other" not in path.read_text():
        raise InputError(f"{path} has no such class.")
    return noisy_release(path, how["seed"])


def _rows(monkeypatch, adjacency, stand_in):
    monkeypatch.setattr(front_door, "release", stand_in)
    rows = judge(front_door_attacks(adjacency, 1.0, 1e-5, seed=1, seconds=0), 1.0, 1e-5)
    return {row.query: row.refuted for row in rows}


@pytest.mark.parametrize(
    ("adjacency", "stand_in"),
    [
        ("label", typed_by_data),
        ("add-remove", tells_the_number_of_rows),
        ("replace", refuses_without),
        ("add-remove", refuses_without),
    ],
)
def test_what_shows_without_noise_is_refuted(adjacency, stand_in, monkeypatch):
    found = _rows(monkeypatch, adjacency, stand_in)
    assert all(refuted for query, refuted in found.items() if query.startswith("noise-free"))
    assert any(query.startswith("noise-free") for query in found)


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_noise_alone_is_not_refuted(adjacency, monkeypatch):
    assert not any(_rows(monkeypatch, adjacency, lambda path, **how: noisy_release(path, how["seed"])).values())  # fmt: skip


def test_pca_and_private_em_have_their_rows():
    for adjacency in RELATIONS:
        names = " ".join(pair.what for pair in file_pairs(adjacency))
        assert "PCA" in names
        assert "private EM" in names or adjacency == "label"


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["label", "add-remove"])
def test_real_releases_of_neighbouring_files_differ_in_no_field_without_noise(
    adjacency, monkeypatch
):
    """With one run no number can be judged, but the first difference would be counted."""
    monkeypatch.setattr(front_door, "FEWEST_RUNS", 1)
    monkeypatch.setattr(front_door, "_REFERENCES", 2)
    for attack in front_door_attacks(adjacency, 1.0, 1e-5, seed=1, seconds=0):
        assert np.isfinite(attack.low).all()
        if attack.query.startswith("noise-free"):
            assert max(attack.low.max(), attack.high.max()) < 1e-6, attack.query
