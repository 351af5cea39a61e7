"""Tables with categories and missing cells, from a schema to samples that obey it."""

import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from privgmm import Column, Release, Schema, release
from privgmm.errors import InputError
from privgmm.ledger import Ledger

SCHEMA = Schema(
    "bad", ("0", "1"), None,
    (
        Column("loan", "integer", 0.0, 100.0),
        Column("debt", "number", 0.0, 50.0, decimals=1, missing=True),
        Column("job", "category", levels=("Other", "Office", "Sales", "Rare"), missing=True),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 4000
    bad = (rng.random(n) < 0.3).astype(int)
    loan = np.clip(np.rint(rng.normal(30 + 20 * bad, 8)), 0, 100).astype(int)
    debt = np.round(np.clip(rng.gamma(2, 4, n) + 0.2 * loan, 0, 50), 1)
    debt[rng.random(n) < 0.1 + 0.4 * bad] = np.nan
    job = rng.choice(["Other", "Office", "Sales"], n, p=[0.5, 0.3, 0.2]).astype(object)
    job[(rng.random(n) < 0.1)] = None
    return pd.DataFrame({"bad": bad, "loan": loan, "debt": debt, "job": job})


@pytest.fixture(scope="module")
def made(frame):
    return make(frame)


def make(data, **options):
    options = {"adjacency": "add-remove", **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return release(
            data, epsilon=4.0, delta=1e-6, unit="record", schema=SCHEMA, seed=1, **options
        )


def test_samples_obey_the_statement_and_look_like_the_table(made, frame):
    table = made.sample_table(20_000, seed=0)
    assert table.column_names == ["bad", "loan", "debt", "job"]
    assert [str(t) for t in table.schema.types] == ["string", "int64", "double", "string"]
    drawn = table.to_pandas()
    assert drawn.loan.between(0, 100).all()
    assert drawn.debt.dropna().between(0, 50).all()
    assert np.allclose(drawn.debt.dropna() * 10, np.rint(drawn.debt.dropna() * 10))
    assert set(drawn.job.dropna()) <= {"Other", "Office", "Sales", "Rare"}
    for k in (0, 1):
        real, mine = frame[frame.bad == k], drawn[drawn.bad == str(k)]
        assert mine.debt.isna().mean() == pytest.approx(real.debt.isna().mean(), abs=0.03)
        assert mine.loan.mean() == pytest.approx(real.loan.mean(), abs=1.0)
        assert mine.debt.mean() == pytest.approx(real.debt.mean(), abs=1.0)
        assert (mine.job == "Office").mean() == pytest.approx(
            (real.job == "Office").mean(), abs=0.04
        )
    assert drawn.loan.corr(drawn.debt) == pytest.approx(frame.loan.corr(frame.debt), abs=0.1)


def test_a_file_keeps_every_bit(made, tmp_path):
    made.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again.sample_table(200, seed=3).equals(made.sample_table(200, seed=3))
    assert again.columns == SCHEMA.columns
    assert again.encoding == made.encoding


def test_csv_parquet_and_frames_give_the_same_release(made, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), tmp_path / "t.parquet")
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        assert make(path).sample_table(50, seed=0).equals(made.sample_table(50, seed=0))


def test_unlisted_levels_and_undeclared_missing_cells_follow_the_bad_row_rule(made, frame):
    more = pd.DataFrame(
        {"bad": [0, 1], "loan": [5.0, np.nan], "debt": [1.0, 2.0], "job": ["x", "Other"]}
    )
    longer = pd.concat([frame, more], ignore_index=True)
    with pytest.raises(InputError, match="unusable cells"):
        make(longer)
    dropped = make(longer, on_bad_row="drop")
    assert dropped.sample_table(50, seed=0).equals(made.sample_table(50, seed=0))


def test_rows_under_conditions(made):
    table = made.sample_table(
        500, seed=0, given={"bad": "1", "job": "Sales", "loan": 45}
    ).to_pandas()
    assert set(table.bad) == {"1"}
    assert set(table.job) == {"Sales"}
    assert set(table.loan) == {45}
    assert made.sample_table(50, seed=0, given={"debt": None}).to_pandas().debt.isna().all()
    for wrong in ({"job": "x"}, {"loan": 4.5}, {"loan": 1000}, {"nothing": 1}, {"bad": "7"}):
        with pytest.raises(InputError):
            made.sample_table(5, given=wrong)


def test_conditions_agree_with_filtered_samples(made):
    """Given a condition, rows are those that a long unconditional sample would have kept."""
    every = made.sample_table(300_000, seed=1).to_pandas()
    kept = every[(every.loan == 40) & (every.job == "Office")]
    given = made.sample_table(5000, seed=2, given={"loan": 40, "job": "Office"}).to_pandas()
    assert (given.bad == "1").mean() == pytest.approx((kept.bad == "1").mean(), abs=0.05)
    assert given.debt.mean() == pytest.approx(kept.debt.mean(), abs=0.6)


@pytest.mark.parametrize("wanted", [2, "auto"])
def test_components_of_categories_are_refused_before_anything_is_charged(frame, tmp_path, wanted):
    ledger = Ledger.create(tmp_path / "l.db", 4.0, 1e-4)
    with pytest.raises(InputError, match=r"^The column 'debt' holds .* leave components_per_class"):
        make(frame, components_per_class=wanted, ledger=tmp_path / "l.db")
    assert not ledger.rows()


def test_a_ledger_and_the_holders_eyes(frame, tmp_path):
    """Categories have no range to clip at; a missing cell lies outside none."""
    ledger, told = Ledger.create(tmp_path / "l.db", 8.0, 1e-4), []
    make(frame[:200], ledger=tmp_path / "l.db", diagnose=told.extend)
    assert len(ledger.rows()) == 1
    assert told[0] == "No row lies outside the stated bounds."


def test_the_statement_names_levels_and_what_is_dropped(frame):
    stated = make(frame[:200], on_bad_row="drop").guarantee
    assert "the stated levels of categories" in stated.assumed_public
    assert any("a level that was not stated" in note for note in stated.notes)


def test_what_cannot_hold_categories_says_so(frame):
    for unit in ("label", "record"):
        with pytest.raises(InputError, match="categories or missing cells"):
            release(frame, schema=SCHEMA, unit=unit, preprocessing=["log"])


@pytest.fixture(scope="module")
def beside_labels(frame):
    return release(frame, epsilon=1.0, delta=1e-6, unit="label", schema=SCHEMA, seed=1)


def test_public_categories_beside_private_labels(beside_labels, frame, tmp_path):
    drawn = beside_labels.sample_table(20_000, seed=0).to_pandas()
    assert drawn.columns.tolist() == ["bad", "loan", "debt", "job"]
    assert drawn.loan.between(0, 100).all()
    assert drawn.debt.dropna().between(0, 50).all()
    assert np.allclose(drawn.debt.dropna() * 10, np.rint(drawn.debt.dropna() * 10))
    assert set(drawn.job.dropna()) <= {"Other", "Office", "Sales", "Rare"}
    for k in (0, 1):
        real, mine = frame[frame.bad == k], drawn[drawn.bad == str(k)]
        assert mine.debt.isna().mean() == pytest.approx(real.debt.isna().mean(), abs=0.04)
        assert mine.loan.mean() == pytest.approx(real.loan.mean(), abs=1.0)
        assert mine.debt.mean() == pytest.approx(real.debt.mean(), abs=1.0)
        assert (mine.job == "Office").mean() == pytest.approx(
            (real.job == "Office").mean(), abs=0.04
        )
    assert drawn.loan.corr(drawn.debt) == pytest.approx(frame.loan.corr(frame.debt), abs=0.1)
    assert "all feature values" in beside_labels.guarantee.assumed_public
    beside_labels.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again.sample_table(200, seed=3).equals(beside_labels.sample_table(200, seed=3))
    given = again.sample_table(50, seed=0, given={"job": "Sales", "bad": "1"}).to_pandas()
    assert set(given.job) == {"Sales"}


def test_ranges_need_not_be_stated_beside_private_labels(frame):
    """Nor need a category have rare levels, or a column that may have missing cells any."""
    columns = (
        Column("loan", "integer", missing=True),
        Column("job", "category", levels=("Other", "Office", "Sales"), missing=True),
    )
    stated = Schema("bad", ("0", "1"), None, columns)
    drawn = (
        release(frame[:500], epsilon=1.0, delta=1e-6, unit="label", schema=stated, seed=1)
        .sample_table(2000, seed=0)
        .to_pandas()
    )
    assert drawn.loan.notna().mean() > 0.98
    assert drawn.loan.dropna().between(frame.loan.min(), frame.loan.max()).all()
