"""The scikit-learn estimator: its contract, its warnings, and that it hides nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from privgmm import PrivateGaussianMixture, Release, curate
from privgmm.curate.opened import Made
from privgmm.errors import BudgetError, InputError, PrivacyLeakWarning, RefitWarning
from privgmm.ledger import Ledger

# Nearly every test fits more than once; those on refitting ask for the warning themselves.
pytestmark = pytest.mark.filterwarnings("ignore::privgmm.errors.RefitWarning")
# Checks that cannot pass, with the reason; none at present.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.fixture(scope="module")
def known_releases() -> dict[Any, Release]:
    return {}


@pytest.fixture
def each_release_once(known_releases: dict[Any, Release], monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks fit the same rows with the same seed again and again: repeat the answer.

    That equal seeds give equal releases is tested below, without this.
    """
    release = curate.release

    def remembered(X: np.ndarray, y: np.ndarray, **options: Any) -> Release:
        key = (X.tobytes(), X.shape, tuple(y.tolist()), repr(sorted(options.items())))
        if options["seed"] is None or key not in known_releases:
            known_releases[key] = release(X, y, **options)
        return known_releases[key]

    monkeypatch.setattr(curate, "release", remembered)


@pytest.mark.filterwarnings("ignore::privgmm.errors.PrivacyLeakWarning")
@pytest.mark.usefixtures("each_release_once")
@parametrize_with_checks(
    [PrivateGaussianMixture()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three well separated classes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    return centres[codes] + rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[codes]


def estimator(**options: Any) -> PrivateGaussianMixture:
    return PrivateGaussianMixture(
        **{"epsilon": 8.0, "classes": ["a", "b", "c"], "random_state": 0, **options}
    )


@pytest.fixture(scope="module")
def fitted() -> PrivateGaussianMixture:
    return estimator().fit(*blobs(240))


def test_the_release_is_what_predicts(fitted: PrivateGaussianMixture) -> None:
    X, y = blobs(240, seed=1)
    assert fitted.score(X, y) > 0.95
    mixture = fitted.release_.mixture
    assert np.array_equal(fitted.predict(X), mixture.predict(X))
    assert np.array_equal(fitted.predict_proba(X), mixture.predict_proba(X))
    assert np.array_equal(fitted.score_samples(X), mixture.log_density(X))
    assert np.array_equal(fitted.means_, mixture.means)
    assert fitted.score(X) == np.mean(fitted.score_samples(X))
    assert np.isclose(log_loss(y, fitted.predict_proba(X), labels=fitted.classes_), 0, atol=0.2)


def test_bic_is_that_of_scikit_learn(fitted: PrivateGaussianMixture) -> None:
    X, _ = blobs(240, seed=2)
    assert np.isclose(fitted.bic(X), fitted.release_.to_sklearn().bic(X))


def test_sampling(fitted: PrivateGaussianMixture) -> None:
    X, y = fitted.sample(3000)
    assert X.shape == (3000, 2)
    assert set(y.tolist()) == {"a", "b", "c"}
    assert fitted.score(X, y) > 0.95
    assert np.array_equal(X, fitted.sample(3000)[0])
    assert not np.array_equal(X, fitted.sample(3000, random_state=1)[0])
    rng = np.random.RandomState(0)
    assert not np.array_equal(fitted.sample(5, rng)[0], fitted.sample(5, rng)[0])
    with pytest.raises(NotFittedError):
        PrivateGaussianMixture().sample(3)


def test_noise_is_publishable_unless_seeded(tmp_path: Any) -> None:
    X, y = blobs()
    fresh = estimator(random_state=None).fit(X, y)
    assert fresh.guarantee_.publishable
    seeded = estimator(random_state=7).fit(X, y)
    assert not seeded.guarantee_.publishable
    assert np.array_equal(seeded.means_, estimator(random_state=7).fit(X, y).means_)
    from_state = estimator(random_state=np.random.RandomState(3)).fit(X, y)
    assert not from_state.guarantee_.publishable
    fresh.release_.save(tmp_path / "release.json")
    loaded = Release.load(tmp_path / "release.json")
    assert np.array_equal(loaded.mixture.means, fresh.means_)
    for bad in (-1, "x", np.random.default_rng(0)):
        with pytest.raises(InputError, match="random_state"):
            estimator(random_state=bad).fit(X, y)


def test_a_class_list_read_from_labels_warns_and_is_named() -> None:
    X, y = blobs()
    with pytest.warns(PrivacyLeakWarning, match="class list"):
        leaky = PrivateGaussianMixture(epsilon=8.0, random_state=0).fit(X, y)
    assert any("class list" in line for line in leaky.guarantee_.not_protected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RefitWarning)
        safe = estimator().fit(X, y)
    assert not any("class list" in line for line in safe.guarantee_.not_protected)


def test_class_lists() -> None:
    X, y = blobs()
    assert estimator(classes=("c", "a", "b")).fit(X, y).classes_.tolist() == ["a", "b", "c"]
    assert estimator(classes=np.array(["c", "b", "a"])).fit(X, y).classes_.tolist() == [
        "a",
        "b",
        "c",
    ]
    with pytest.raises(InputError, match="not in the class list"):
        estimator(classes=["a", "b"]).fit(X, y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_and_feature_names(frame: Any) -> None:
    X, y = blobs()
    table = frame({"height": X[:, 0], "weight": X[:, 1]})
    series = pd.Series(y, name="risk") if frame is pd.DataFrame else pl.Series("risk", y)
    model = estimator().fit(table, series)
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    assert model.release_.feature_names == ("height", "weight")
    assert model.release_.label_name == "risk"
    assert np.array_equal(model.means_, estimator().fit(X, y).means_)
    assert model.predict(table).shape == (30,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"weight": X[:, 1], "height": X[:, 0]}))
    clash = frame({"risk": X[:, 0], "label": X[:, 1]})
    assert estimator().fit(clash, series).release_.label_name == "class"


def test_pipelines_clones_and_cross_validation() -> None:
    X, y = blobs()
    model = make_pipeline(StandardScaler(), estimator(epsilon=8.0))
    assert cross_val_score(model, X, y, cv=2).min() > 0.9
    options = {"epsilon": 2.0, "unit": "record", "radius": 20.0, "classes": ["a"]}
    copy = clone(PrivateGaussianMixture(**options))
    assert {name: copy.get_params()[name] for name in options} == options


def test_messages_do_not_quote_cells() -> None:
    X, y = blobs()
    words = X.astype(object)
    words[3, 1] = "secret"
    for rows in (words, pd.DataFrame(words), X.astype(str)):
        if rows is not words and not isinstance(rows, pd.DataFrame):
            rows[3, 1] = "secret"
        with pytest.raises(ValueError, match="must be numbers") as info:
            estimator().fit(rows, y)
        assert "secret" not in str(info.value)
        assert info.value.__cause__ is None
        assert info.value.__suppress_context__ or info.value.__context__ is None


def test_record_level_and_rows_without_labels() -> None:
    X, y = blobs(3000)
    options = {"unit": "record", "radius": 15.0, "center": 5.0, "epsilon": 8.0}
    model = estimator(**options).fit(X, y)
    assert model.guarantee_.unit == "record"
    assert model.score(X, y) > 0.95
    with pytest.raises(InputError, match="stated by you"):
        estimator(unit="record").fit(X, y)
    alone = estimator(**options, classes=None, n_components=3).fit(X)
    assert alone.classes_.tolist() == [0, 1, 2]
    assert alone.predict_proba(X).shape == (3000, 3)
    with pytest.raises(ValueError, match="requires y"):
        estimator(**options).fit(X)


def test_the_published_method_is_offered_and_marked() -> None:
    X, y = blobs()
    model = estimator(mechanism="published").fit(X, y)
    assert model.guarantee_.status == "as-published"
    assert not model.guarantee_.publishable


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.full(20, 8675309.25), "Reshape your data"),
        (np.full((20, 2), 8675309.25 + 1j), "Complex data not supported"),
        ([[10**400, 8675309.25]] * 20, "must be numbers"),
    ],
)
def test_messages_do_not_quote_rows(rows: Any, words: str) -> None:
    """scikit-learn prints the whole array in these."""
    with pytest.raises(InputError, match=words) as info:
        PrivateGaussianMixture(classes=[0, 1]).fit(rows, [0, 1] * 10)
    assert "8675309" not in str(info.value).replace("e+06", "")
    assert "8.67" not in str(info.value)


@pytest.fixture
def quick(fitted: PrivateGaussianMixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """No fit so far in this process, and a mechanism whose answer is ready: only charges are real."""
    answer = Made(fitted.release_.mixture, fitted.guarantee_, (), fitted.release_.errors)
    monkeypatch.setattr("privgmm.curate.publish.proven", lambda request: answer)
    monkeypatch.setattr(PrivateGaussianMixture, "_fits", 0)


@pytest.mark.usefixtures("quick")
def test_a_second_fit_without_a_ledger_warns_before_it_spends() -> None:
    X, y = blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(X, y)
    with pytest.warns(RefitWarning, match="give ledger="):
        estimator().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RefitWarning)
        refused = estimator()
        with pytest.raises(RefitWarning):
            refused.fit(X, y)
        assert not hasattr(refused, "release_")


@pytest.mark.usefixtures("quick")
def test_cross_validation_warns_that_it_refits() -> None:
    X, y = blobs()
    with pytest.warns(RefitWarning, match="overlapping rows and choose by exact private scores"):
        cross_val_score(estimator(), X, y, cv=3)


@pytest.mark.usefixtures("quick")
def test_a_ledger_adds_up_every_fit_and_refuses_what_exceeds_it(tmp_path: Any) -> None:
    X, y = blobs()
    ledger = Ledger.create(tmp_path / "l.db", 2.0, 1e-5, "label")
    model = estimator(epsilon=1.0, ledger=ledger.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(model, {"adjacency": ["replace"]}, cv=2, error_score="raise")
        search.fit(X, y)
    # Two folds and the final fit, all of overlapping rows: more than the epsilon that was asked for.
    assert len(ledger.rows()) == 3
    assert ledger.remaining().spent_epsilon > 1.8
    with pytest.raises(BudgetError, match="does not fit"):
        clone(model).fit(X, y)


def test_the_docstring_says_what_model_selection_costs() -> None:
    words = " ".join((PrivateGaussianMixture.__doc__ or "").split())
    for name in (
        "cross_val_score",
        "GridSearchCV",
        "overlapping private rows",
        "exactly from private",
    ):
        assert name in words
