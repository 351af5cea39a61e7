"""Releases that protect persons: what they say, what they count, what they cost, and that one row each changes nothing."""

import json

import numpy as np
import pandas as pd
import pytest

import privgmm
from privgmm.cli import run
from privgmm.errors import InputError
from privgmm.ledger import Ledger
from privgmm.releases.registry import registry_entry
from privgmm.releases.statement import statement_text

CLASSES = ["u", "v"]
RECORD = {"unit": "record", "bounds": (-5, 5), "classes": CLASSES, "seed": 1}
LABEL = {"unit": "label", "classes": CLASSES, "seed": 1}


def table(persons: int = 300, most: int = 9, seed: int = 0) -> pd.DataFrame:
    """Persons of 1 to 9 rows, who lie the farther to the right the more rows they have."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, persons)
    who = np.repeat(np.arange(persons), sizes)
    y = rng.choice(CLASSES, who.size, p=[0.7, 0.3])
    X = 0.5 * rng.normal(size=(who.size, 2)) + np.c_[0.2 * sizes[who], np.where(y == "u", -1, 1)]
    frame = pd.DataFrame(np.round(X, 3), columns=["a", "b"])
    return frame.assign(kind=y, home_id=[f"h{k}" for k in who]).sample(frac=1, random_state=seed)


FRAME = table()


def released(**wishes):
    return privgmm.release(FRAME, label="kind", person="home_id", **wishes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wishes",
    [
        RECORD,
        {**RECORD, "adjacency": "add-remove"},
        {**RECORD, "preprocessing": ["standardise"]},
        LABEL,
        {**LABEL, "preprocessing": ["standardise"]},
        {"unit": "record", "bounds": (-5, 5), "n_components": 2, "seed": 1},
    ],
)
def test_one_row_per_person_gives_the_bits_of_no_persons(wishes):
    rows = FRAME.drop(columns="home_id")
    if "n_components" in wishes:
        rows, more = rows.drop(columns="kind"), {}
    else:
        more = {"label": "kind"}
    plain = privgmm.release(rows, **more, **wishes).mixture
    own = rows.assign(who=[f"p{n}" for n in np.random.default_rng(0).permutation(len(rows))])
    mine = privgmm.release(own, person="who", **more, **wishes).mixture
    for name in ("weights", "means", "covariances"):
        assert np.array_equal(getattr(plain, name), getattr(mine, name)), name


def test_each_person_counts_once():
    """Against the fit by person and, which is another one here, by row; noise is small at this epsilon."""
    X, y, ids = FRAME[["a", "b"]], FRAME["kind"], FRAME["home_id"]
    by_person = privgmm.fit(X, y, CLASSES, person=ids)
    by_row = privgmm.fit(X, y, CLASSES)
    assert privgmm.kl_divergence(by_person, by_row) > 0.02
    for wishes in (RECORD, LABEL):
        mine = released(**wishes, epsilon=20).mixture
        assert privgmm.kl_divergence(mine, by_person) < 0.005
        rows = released(**wishes, epsilon=20, count="rows", max_rows=9).mixture
        assert privgmm.kl_divergence(rows, by_row) < 0.005


def test_the_fit_weighs_rows_by_their_persons():
    X, y, ids = FRAME[["a", "b"]].to_numpy(), FRAME["kind"].to_numpy(), FRAME["home_id"]
    w = 1 / ids.map(ids.value_counts()).to_numpy()
    found = privgmm.fit(X, y, CLASSES, person=ids)
    mine = y == "u"
    mean = np.average(X[mine], axis=0, weights=w[mine])
    assert found.weights[0] == pytest.approx(w[mine].sum() / 300)
    assert found.means[0] == pytest.approx(mean)
    scatter = (w[mine, None] * (X[mine] - mean)).T @ (X[mine] - mean)
    assert found.covariances[0] == pytest.approx(scatter / (w[mine].sum() - 1))
    alone = privgmm.fit(X, y, CLASSES, person=np.arange(len(y)))
    assert alone.covariances == pytest.approx(privgmm.fit(X, y, CLASSES).covariances)
    with pytest.raises(InputError, match="one per row"):
        privgmm.fit(X, y, person=ids[:5])


def test_the_statement_names_the_person(tmp_path):
    r = released(**RECORD)
    said = r.guarantee
    assert said.protected == "each home_id, with all of its rows"
    assert "any one home_id, with all of its rows, from this release" in said.promise
    assert "the number of different values of home_id" in said.assumed_public
    assert "the number of rows" not in said.assumed_public
    assert "home_id" in said.neighbours
    r.save(tmp_path / "r.json")
    again = privgmm.Release.load(tmp_path / "r.json")
    assert again.guarantee == said
    text = statement_text(again, width=300)
    assert "each home_id, with all of its rows" in text
    assert "protected as with m times mu" not in text
    assert registry_entry(again)["deployment"]["privacy_loss"]["privacy_unit"].startswith(
        "Each home_id"
    )
    written = (tmp_path / "r.json").read_text()
    assert not any(f'"h{k}' in written or f"h{k} " in written for k in range(300))


def test_the_statement_of_labels_rows_and_add_remove():
    label = released(**LABEL).guarantee
    assert label.protected == "the labels of all rows of each home_id"
    assert "which rows have the same home_id" in label.assumed_public
    gone = released(**RECORD, adjacency="add-remove").guarantee
    assert not any("number of" in fact for fact in gone.assumed_public)
    capped = released(**RECORD, count="rows", max_rows=3)
    assert "of one home_id at most 3" in statement_text(capped, width=300)


def test_ids_beside_an_array_and_of_an_estimator():
    X, y = FRAME[["a", "b"]].to_numpy(), FRAME["kind"].to_numpy()
    mine = privgmm.release(X, y, person=FRAME["home_id"], **RECORD)
    assert mine.guarantee.person.column == "home_id"
    assert np.array_equal(mine.mixture.means, released(**RECORD).mixture.means)
    bare = privgmm.release(X, y, person=FRAME["home_id"].tolist(), **RECORD)
    assert bare.guarantee.protected == "each person, with all of its rows"
    kept = {name: value for name, value in RECORD.items() if name != "seed"}
    estimator = privgmm.PrivateGaussianMixture(**kept, random_state=1)
    fitted = estimator.fit(X, y, person=FRAME["home_id"])
    assert np.array_equal(fitted.means_, mine.mixture.means)


@pytest.mark.parametrize(
    ("wishes", "match"),
    [
        ({"count": "homes"}, "'persons' or 'rows'"),
        ({"count": "rows"}, "max_rows"),
        ({"max_rows": 3}, "max_rows"),
        ({"count": "rows", "max_rows": 0}, "most rows"),
        ({"person": None, "count": "rows", "max_rows": 3}, "column of persons"),
        ({"person": "kind"}, "cannot also be"),
        ({"person": "house"}, "no column 'house'"),
        ({"mechanism": "published", "adjacency": "remove"}, "protects rows, not persons"),
    ],
)
def test_what_cannot_be_is_said(wishes, match):
    with pytest.raises(InputError, match=match):
        privgmm.release(FRAME, label="kind", **{"person": "home_id", **RECORD, **wishes})


def test_delta_is_weighed_against_the_persons():
    with pytest.warns(privgmm.errors.CautionWarning, match="number of persons"):
        released(**RECORD, delta=1e-3)


def test_the_ledger_knows_the_unit(tmp_path):
    book = tmp_path / "l.db"
    Ledger.create(book, 10.0, 1e-3)
    released(**RECORD, ledger=book)
    released(**{**RECORD, "adjacency": "add-remove"}, ledger=book)
    kinds = [row.relation for row in Ledger.open(book).rows()]
    assert kinds == ["person-replace", "person-add-remove"]
    labels = tmp_path / "labels.db"
    Ledger.create(labels, 10.0, 1e-3, "person", "label")
    released(**LABEL, ledger=labels)
    (row,) = Ledger.open(labels).rows()
    assert row.relation == "person-label"
    assert Ledger.open(labels).budgets()[0].spent_epsilon < 1.001
    with pytest.raises(InputError, match="no cap on the rows of one person"):
        privgmm.release(FRAME.drop(columns="home_id"), label="kind", ledger=labels, **LABEL)


def test_the_command_and_a_schema(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("t.csv", index=False)
    asked = [
        "--unit",
        "record",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--seed",
        "1",
        "--bounds=-5,5",
    ]
    stated = ["--label", "kind", "--classes", "u,v", "--person", "home_id"]
    assert run(["release", "t.csv", *asked, *stated, "-o", "r.json"]) == 0
    assert "any one home_id, with all of its rows" in capsys.readouterr().out
    made = json.loads((tmp_path / "r.json").read_text())
    assert made["features"] == ["a", "b"]
    assert made["guarantee"]["person"] == {"column": "home_id", "max_rows": None}
    (tmp_path / "s.toml").write_text(
        'label = "kind"\nclasses = ["u", "v"]\nperson = "home_id"\n'
        '[columns.a]\ntype = "number"\n[columns.b]\ntype = "number"\n'
    )
    assert run(["release", "t.csv", "--schema", "s.toml", *asked, "-o", "again.json"]) == 0
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["mixture"] == made["mixture"]
    capped = ["--count", "rows", "--max-rows", "4"]
    assert run(["release", "t.csv", *asked, *stated, *capped, "-o", "rows.json"]) == 0
    assert json.loads((tmp_path / "rows.json").read_text())["guarantee"]["person"]["max_rows"] == 4
