"""What a holder should hear: class lists read from data, large deltas, replaced files, unused bounds."""

import json
import warnings

import numpy as np
import pytest

import privgmm
from privgmm import CautionWarning, PrivacyLeakWarning, Release
from privgmm.cli import run
from privgmm.datasets import synthetic
from privgmm.releases.registry import registry_yaml
from privgmm.releases.statement import statement_text
from privgmm.releases.wording import badges, best_guess

X, Y = synthetic(200, 2, 2, seed=0)
OPTIONS = ["--label", "kind", "--unit", "label", "--epsilon", "2", "--delta", "1e-5"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{a},{b},{'uv'[k]}" for (a, b), k in zip(X, Y, strict=True))
    (tmp_path / "t.csv").write_text(f"a,b,kind\n{rows}\n")
    return tmp_path


def test_a_class_list_read_from_data_is_not_publishable(tmp_path):
    with pytest.warns(PrivacyLeakWarning, match="private labels"):
        r = privgmm.release(X, Y)
    r.save(tmp_path / "r.json")
    r = Release.load(tmp_path / "r.json")
    assert (r.guarantee.status, r.guarantee.publishable) == ("proven", False)
    assert r.guarantee.classes_from_data
    assert not r.guarantee.seeded
    assert [b.title for b in badges(r.guarantee)] == ["Not publishable: class list read from data"]
    assert "read from the private labels" in r.guarantee.promise
    assert "must not be published" in r.guarantee.promise
    assert "NOT PUBLISHABLE: CLASS LIST READ FROM DATA" in statement_text(r)
    assert "PROVEN" not in statement_text(r).split("\n")[0]
    assert best_guess(r.guarantee) is None
    assert "OpenDP" in registry_yaml(r)
    with pytest.warns(PrivacyLeakWarning):
        seeded = privgmm.release(X, Y, seed=1)
    assert len(badges(seeded.guarantee)) == 2
    stated = privgmm.release(X, Y, classes=[0, 1])
    assert stated.guarantee.publishable
    assert not stated.guarantee.classes_from_data


def test_the_command_asks_for_the_class_list(table, capsys):
    assert run(["release", "t.csv", *OPTIONS, "-o", "r.json"]) == 2
    assert "--classes-from-data" in capsys.readouterr().err
    assert not (table / "r.json").exists()
    assert run(["release", "t.csv", *OPTIONS, "--classes-from-data", "-o", "r.json"]) == 0
    assert "private labels" in capsys.readouterr().err
    assert json.loads((table / "r.json").read_text())["guarantee"]["publishable"] is False
    both = ["--classes", "u,v", "--classes-from-data"]
    assert run(["release", "t.csv", *OPTIONS, *both, "-o", "r.json"]) == 2


def test_the_estimator_warns_and_is_not_publishable():
    with pytest.warns(PrivacyLeakWarning):
        fitted = privgmm.PrivateGaussianMixture().fit(X, Y)
    assert not fitted.guarantee_.publishable


@pytest.mark.parametrize(
    ("delta", "warned"), [(1e-3, True), (6e-4, True), (4e-4, False), (1e-6, False)]
)
def test_delta_is_to_be_far_below_one_over_the_rows(delta, warned, recwarn):
    asked = {"classes": [0, 1], "delta": delta, "seed": 0}
    privgmm.release(X, Y, **asked)
    privgmm.release(X, Y, unit="record", radius=20.0, **asked)
    said = [str(w.message) for w in recwarn if w.category is CautionWarning]
    assert len(said) == 2 * warned
    assert all("smaller delta" in text for text in said)


def test_under_add_remove_the_warning_rests_on_a_noisy_count(monkeypatch, recwarn):
    """200 rows at delta 4e-4: no warning by the exact number, one if the noisy count says 2000."""
    from privgmm.privacy.curator import Curator

    asked = {
        "classes": [0, 1],
        "unit": "record",
        "radius": 20.0,
        "adjacency": "add-remove",
        "seed": 0,
    }
    privgmm.release(X, Y, epsilon=20.0, delta=4e-4, **asked)
    assert not [w for w in recwarn if w.category is CautionWarning]
    with pytest.warns(CautionWarning, match="smaller delta"):
        privgmm.release(X, Y, epsilon=20.0, delta=1e-3, **asked)
    answer = Curator.answer

    def louder(self, query, mu):
        answered = answer(self, query, mu)
        self.noisy_rows = None if self.noisy_rows is None else 2000.0
        return answered

    monkeypatch.setattr(Curator, "answer", louder)
    with pytest.warns(CautionWarning, match="smaller delta"):
        privgmm.release(X, Y, epsilon=20.0, delta=4e-4, **asked)


def test_noisy_counts_are_close_to_the_rows_where_noise_is_small():
    from privgmm.data import ArraySource
    from privgmm.privacy import Curator, SeededNoise
    from privgmm.queries.assigned import AssignedQuery
    from privgmm.queries.class_moments import ClassMoments, ClassMomentsQuery, Shape
    from privgmm.queries.column_histograms import MarginalCounts, MarginalCountsQuery
    from privgmm.queries.column_moments import ColumnMoments
    from privgmm.rowwise import GaussianRule

    curator = Curator(ArraySource(X, Y, 2), SeededNoise(0), "add-remove", 20.0, 1e-5)
    eye = np.stack([np.eye(2) / 9] * 2)
    moments = ClassMomentsQuery(ClassMoments(np.zeros((2, 2)), eye), Shape(1, 1, 1))
    rule = GaussianRule(np.array([[0.0, 0.0], [1.0, 1.0]]), eye, np.zeros(2))
    for query in (
        moments,
        AssignedQuery(moments, rule),
        MarginalCountsQuery(MarginalCounts(np.full((2, 2), -9.0), np.ones((2, 2)), 18)),
        ColumnMoments((-9.0, -9.0), (9.0, 9.0)),
    ):
        curator.answer(query, 1.0)
        assert abs(curator.noisy_rows - 200) < 40
        curator.noisy_rows = None


def test_a_file_that_exists_is_warned_of(table):
    assert run(["release", "t.csv", *OPTIONS, "--classes", "u,v", "-o", "r.json"]) == 0
    r = Release.load("r.json")
    with pytest.warns(CautionWarning, match="will be replaced"):
        r.save("r.json")
    r.save("new.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r.save("new.json", replace=True)


def test_bounds_at_label_level_are_warned_of(table, capsys):
    with pytest.warns(CautionWarning, match="not used at label level"):
        privgmm.release(X, Y, classes=[0, 1], bounds=(0, 1), seed=0)
    options = [*OPTIONS, "--classes", "u,v", "--radius", "3", "-o", "r.json"]
    assert run(["release", "t.csv", *options]) == 0
    assert capsys.readouterr().err.count("not used at label level") == 1
