"""``privgmm.release``: what it asks for, what it stamps, what it refuses."""

import math

import numpy as np
import pandas as pd
import pytest

import privgmm
from privgmm import InputError, PrivacyLeakWarning
from privgmm.datasets import synthetic
from privgmm.model import label_by_kmeans

X, Y = synthetic(300, 3, 2, seed=4)
CLASSES = [0, 1, 2]
RECORD = {"unit": "record", "radius": 20.0, "classes": CLASSES, "seed": 1}
LABEL = {"unit": "label", "classes": CLASSES, "seed": 1}


@pytest.mark.parametrize("settings", [LABEL, RECORD, {**RECORD, "adjacency": "add-remove"}])
def test_a_proven_release_accounts_for_every_mechanism(settings):
    r = privgmm.release(X, Y, epsilon=1.0, delta=1e-5, **settings)
    g = r.guarantee
    assert (g.status, g.unit, g.epsilon, g.delta) == ("proven", settings["unit"], 1.0, 1e-5)
    assert g.mu == pytest.approx(0.2681, abs=2e-4)
    assert math.hypot(*(m.mu for m in g.mechanisms)) <= g.mu * (1 + 1e-9)
    # Nothing of the budget is left lying about.
    assert math.hypot(*(m.mu for m in g.mechanisms)) == pytest.approx(g.mu, rel=1e-6)
    for m in g.mechanisms:
        assert m.mu == pytest.approx(m.sensitivity / m.sigma, rel=1e-9)
    assert r.mixture.classes == (0, 1, 2)


@pytest.mark.parametrize(
    "settings",
    [
        LABEL,
        RECORD,
        {**LABEL, "components_per_class": 2},
        {**RECORD, "components_per_class": 2},
        {**RECORD, "on_bad_row": "drop"},
        {**LABEL, "mechanism": "published"},
        {"unit": "record", "radius": 20.0, "n_components": 2, "seed": 1, "unlabelled": True},
    ],
)
def test_the_callers_rows_are_read_and_never_written(settings):
    settings = dict(settings)
    labels = None if settings.pop("unlabelled", False) else Y.copy()
    rows = X.copy()
    for array in (rows, labels):
        if array is not None:
            array.setflags(write=False)
    privgmm.release(rows, labels, epsilon=2.0, **settings)
    np.testing.assert_array_equal(rows, X)


def test_unseeded_releases_are_publishable_and_seeded_ones_are_not():
    assert privgmm.release(X, Y, unit="label", classes=CLASSES).guarantee.publishable
    seeded = privgmm.release(X, Y, **LABEL)
    assert not seeded.guarantee.publishable
    assert "must not be published" in seeded.guarantee.promise
    again = privgmm.release(X, Y, **LABEL)
    np.testing.assert_array_equal(seeded.mixture.means, again.mixture.means)


def test_unseeded_releases_differ():
    first, second = (privgmm.release(X, Y, **{**RECORD, "seed": None}) for _ in range(2))
    assert not np.array_equal(first.mixture.means, second.mixture.means)


def test_a_class_list_read_from_labels_warns_and_is_named_in_the_statement():
    with pytest.warns(PrivacyLeakWarning, match="class list"):
        r = privgmm.release(X, Y, unit="label", seed=0)
    assert any("class list" in item for item in r.guarantee.not_protected)
    quiet = privgmm.release(X, Y, **LABEL)
    assert not any("class list" in item for item in quiet.guarantee.not_protected)


def test_published_is_stamped_and_never_publishable():
    r = privgmm.release(X, Y, mechanism="published", unit="label", classes=CLASSES)
    assert (r.guarantee.status, r.guarantee.mu) == ("as-published", None)
    assert not r.guarantee.publishable
    assert "not proven" in r.guarantee.promise


def test_published_at_record_level_uses_the_stated_ball():
    centre = np.array([100.0, -50.0])
    moved = privgmm.release(
        X + centre, Y, mechanism="published", **{**RECORD, "center": centre, "epsilon": 8.0}
    )
    still = privgmm.release(X, Y, mechanism="published", **{**RECORD, "epsilon": 8.0})
    np.testing.assert_allclose(moved.mixture.means - centre, still.mixture.means, atol=1e-6)


def test_published_states_its_split_of_epsilon():
    """eps_0 and, for every class, eps_k and eps'_k: they add up to epsilon (eq09)."""
    r = privgmm.release(X, Y, mechanism="published", unit="label", classes=CLASSES, seed=0)
    design = privgmm.published.design(X, Y, epsilon=1.0, delta=1e-5)
    (note,) = [n for n in r.guarantee.notes if "split" in n]
    for value in (design.epsilon_weights, *design.epsilon_means, *design.epsilon_covariances):
        assert f"{value:.4g}" in note
    total = design.epsilon_weights + (design.epsilon_means + design.epsilon_covariances).max()
    assert total == pytest.approx(1.0)
    assert not any("weights='counts'" in n for n in r.guarantee.notes)


@pytest.mark.parametrize(
    ("adjacency", "stated"),
    [("replace", "record-change"), ("add", "record-add"), ("remove", "record-remove")],
)
def test_published_protects_what_was_asked(adjacency, stated):
    r = privgmm.release(X, Y, mechanism="published", adjacency=adjacency, **RECORD)
    assert r.guarantee.adjacency == stated


def test_published_has_no_mechanism_for_adding_and_removing_at_once():
    with pytest.raises(InputError, match="choose the adjacency 'add' or 'remove'"):
        privgmm.release(X, Y, mechanism="published", adjacency="add-remove", **RECORD)
    for adjacency in ("add", "remove"):
        with pytest.raises(InputError, match="'replace' or 'add-remove'"):
            privgmm.release(X, Y, adjacency=adjacency, **RECORD)


def test_published_labels_unlabelled_rows_by_kmeans():
    """Footnote 1: K-means first, then Algorithm 1; the statement says what that means."""
    settings = {"mechanism": "published", "n_components": 2, "epsilon": 8.0, "seed": 1}
    r = privgmm.release(X, unit="label", **settings)
    labels = label_by_kmeans(X, 2, seed=1)
    fitted = privgmm.published.design(X, labels, epsilon=8.0).fitted
    np.testing.assert_allclose(r.mixture.means, fitted.means, atol=1.5)
    assert any("K-means" in note for note in r.guarantee.notes)
    record = privgmm.release(X, unit="record", radius=20.0, **settings)
    assert record.guarantee.adjacency == "record-change"
    with pytest.raises(InputError, match="give y"):
        privgmm.release(X, unit="label", n_components=2)


def test_published_options_reach_the_design():
    asked = {"smoothing": 0.5, "method": "joint", "neighbours": "departures"}
    r = privgmm.release(X, Y, mechanism="published", classes=CLASSES, published=asked, seed=3)
    same = privgmm.published.design(X, Y, **asked).draw(seed=3)
    np.testing.assert_array_equal(r.mixture.means, same.means)
    np.testing.assert_array_equal(r.mixture.weights, same.weights)
    ball = privgmm.release(
        X,
        Y,
        mechanism="published",
        classes=CLASSES,
        radius=20.0,
        published={"scalable": True},
        seed=3,
    )
    wide = privgmm.published.design(X, Y, scalable=True, radius=20.0).draw(seed=3)
    np.testing.assert_allclose(ball.mixture.means, wide.means)
    for wrong, words in (
        ({"lambda": 1}, "no option 'lambda'"),
        ({"smoothing": 2.0}, "smoothing"),
        ({"method": "newton"}, "method"),
    ):
        with pytest.raises(InputError, match=words):
            privgmm.release(X, Y, mechanism="published", classes=CLASSES, published=wrong)
    with pytest.raises(InputError, match="mechanism='published'"):
        privgmm.release(X, Y, classes=CLASSES, published=asked)


def test_a_moved_ball_moves_the_release():
    centre = np.array([64.0, -32.0])
    moved = privgmm.release(X + centre, Y, **{**RECORD, "center": centre, "epsilon": 4.0})
    still = privgmm.release(X, Y, **{**RECORD, "epsilon": 4.0})
    np.testing.assert_allclose(moved.mixture.means - centre, still.mixture.means, atol=0.05)


def test_bounds_per_column_reach_the_user_s_units():
    stretched = X * [1.0, 1000.0]
    r = privgmm.release(
        stretched, Y, epsilon=20.0, unit="record", classes=CLASSES, seed=0,
        bounds=([-15, -15e3], [15, 15e3]),
    )  # fmt: skip
    reference = privgmm.fit(stretched, Y)
    assert privgmm.kl_divergence(r.mixture, reference) < 2


@pytest.mark.slow
def test_one_gaussian_and_unlabelled_rows():
    one = privgmm.release(
        X, np.zeros(300, int), epsilon=8.0, unit="record", radius=20.0, classes=[0], seed=0
    )
    assert one.mixture.n_classes == 1
    bare = privgmm.release(X, epsilon=8.0, unit="record", radius=20.0, n_components=1, seed=0)
    assert bare.mixture.n_classes == 1
    three = privgmm.release(X, epsilon=8.0, unit="record", radius=20.0, n_components=3, seed=0)
    assert three.mixture.n_classes == 3


def test_a_class_without_rows_is_released_all_the_same():
    for settings in (LABEL, RECORD):
        r = privgmm.release(X, Y, **{**settings, "classes": [0, 1, 2, 99]})
        assert r.mixture.classes == (0, 1, 2, 99)
        assert r.mixture.weights[3] < 0.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0}, "Epsilon"),
        ({"epsilon": math.inf}, "Epsilon"),
        ({"delta": 0}, "Delta"),
        ({"delta": 1.5}, "Delta"),
        ({"unit": "person"}, "unit"),
        ({"mechanism": "magic"}, "mechanism"),
        ({"adjacency": "other"}, "adjacency"),
        ({"unit": "record"}, "radius"),
        ({"unit": "record", "radius": 1.0, "bounds": (0, 1)}, "either"),
        ({"classes": [0, 1]}, "class list"),
        ({"classes": [0, 1, 2, 2]}, "distinct"),
    ],
)
def test_refusals(changes, words):
    with pytest.raises(InputError, match=words):
        privgmm.release(X, Y, **{**LABEL, **changes})


@pytest.mark.parametrize(
    ("x", "y", "settings", "words"),
    [
        (X, Y[:-1], LABEL, "one per row"),
        (np.where(X > 5, np.nan, X), Y, LABEL, "missing"),
        (X, np.zeros(300), {**LABEL, "classes": [0]}, "two classes"),
        (X, None, LABEL, "labels"),
        (X, None, {"unit": "record", "radius": 9.0}, "n_components"),
        (np.zeros((0, 2)), [], LABEL, "rows"),
        (X * 1e300, Y, LABEL, "rescale"),
    ],
)
def test_refusals_of_rows(x, y, settings, words):
    with pytest.raises(InputError, match=words):
        privgmm.release(x, y, **settings)


@pytest.mark.parametrize("settings", [LABEL, RECORD])
def test_weights_are_the_noisy_class_frequencies_unless_the_paper_is_followed(settings):
    r = privgmm.release(X, Y, epsilon=4.0, **settings)
    # Counts of 300 rows carry noise of a few rows at this epsilon.
    np.testing.assert_allclose(r.mixture.weights, np.bincount(Y) / 300, atol=0.08)
    assert not any("Weights minimise" in note for note in r.guarantee.notes)
    paper = privgmm.release(X, Y, epsilon=4.0, objective="paper", **settings)
    assert any("Weights minimise" in note for note in paper.guarantee.notes)
    with pytest.raises(InputError, match="objective"):
        privgmm.release(X, Y, objective="other", **settings)


@pytest.mark.parametrize(
    "wish",
    [
        {"epsilon": None}, {"epsilon": "1"}, {"delta": [1e-5]}, {"seed": -1}, {"seed": "x"}, {"classes": 3},
        {"classes": "ab"}, {"preprocessing": None}, {"preprocessing": 5}, {"preprocessing_share": None},
        {"feature_names": 5}, {"ledger": 5}, {"unit": "record", "radius": "9"}, {"unit": "record", "radius": 10**400},
        {"unit": "record", "bounds": (1j, 2)}, {"unit": "record", "radius": 1.0, "center": 10**400},
    ],
)  # fmt: skip
def test_wishes_of_the_wrong_type_are_one_sentence(wish):
    with pytest.raises(InputError):
        privgmm.release(np.zeros((4, 2)), [0, 1, 0, 1], **{"classes": [0, 1], **wish})


@pytest.mark.parametrize("n_components", [0, 1.5, "2", 10**30, True])
def test_components_are_a_whole_number(n_components):
    with pytest.raises(InputError, match="number of components"):
        privgmm.release(np.zeros((4, 2)), unit="record", radius=1.0, n_components=n_components)


def test_rows_without_labels_keep_the_shapes_of_their_columns() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"wait": rng.exponential(10, 4000), "visits": rng.poisson(1.0, 4000)})
    stated = privgmm.Schema(
        columns=(
            privgmm.Column("wait", "number", 0.0, 100.0, decimals=1),
            privgmm.Column("visits", "integer", 0, 10),
        )
    )
    r = privgmm.release(
        rows, schema=stated, unit="record", epsilon=4.0, delta=1e-6, n_components=1, seed=0
    )
    drawn = r.sample_table(20_000, seed=0).to_pandas()
    assert drawn.wait.between(0, 100).all()
    assert (drawn.wait < 5).mean() == pytest.approx((rows.wait < 5).mean(), abs=0.04)
    for count in range(3):
        share = (rows.visits == count).mean()
        assert (drawn.visits == count).mean() == pytest.approx(share, abs=0.04)
