"""The domain is total: rows that cannot be used contribute nothing, and no row makes a release fail."""

import json
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privgmm
from privgmm.cli import run
from privgmm.data.dask_opening import connected
from privgmm.data.opening import open_rows
from privgmm.errors import InputError
from privgmm.ledger import Ledger
from privgmm.queries.class_moments import ClassMoments

RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(80, 2)) + 5, 3)
Y = np.array(["u", "v"] * 40)
# Row 3: a missing cell. Row 9: not a number. Row 20: infinite. Row 31, 32: no listed label, none at all.
BAD_FEATURES, BAD_LABELS = [3, 9, 20], [31, 32]
KERNEL = ClassMoments(np.zeros((2, 2)), np.stack([np.eye(2) / 9] * 2))
RECORD = {"unit": "record", "bounds": (0, 10), "classes": ["u", "v"]}


def expected():
    used = np.setdiff1d(np.arange(80), BAD_FEATURES + BAD_LABELS)
    codes = (Y == "v").astype(np.intp)
    return KERNEL(X[used], codes[used]), np.delete(X, BAD_FEATURES, axis=0)


@pytest.fixture
def csv(tmp_path):
    cells = [[str(a), str(b), k] for (a, b), k in zip(X, Y, strict=True)]
    cells[3][0], cells[9][1], cells[20][0] = "", "4,0".replace(",", "·"), "inf"
    cells[31][2], cells[32][2] = "secret", ""
    path = tmp_path / "t.csv"
    path.write_text("a,b,kind\n" + "\n".join(map(",".join, cells)) + "\n")
    return path


def spoiled():
    x, y = X.astype(object), Y.astype(object)
    x[3, 0], x[9, 1], x[20, 0], y[31], y[32] = None, "no number", np.inf, "secret", None
    return x, y


def numbers():
    x = X.copy()
    x[3, 0], x[9, 1], x[20, 0] = np.nan, np.nan, np.inf
    return x


@pytest.fixture
def parquet(tmp_path):
    table = pa.table({"a": numbers()[:, 0], "b": numbers()[:, 1], "kind": spoiled()[1].tolist()})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=16)
    return tmp_path / "t.parquet"


def check(opened):
    totals, features = expected()
    assert opened.classes == ("u", "v")
    assert opened.source.total(KERNEL).tolist() == totals.tolist()
    np.testing.assert_array_equal(np.concatenate(list(opened.features.chunks(7))), features)
    rows = np.array([0, 2, 3, 7, 70])
    np.testing.assert_array_equal(opened.features.at(rows), features[rows])
    assert opened.features.n_rows == len(features)
    opened.check()


def test_bad_rows_count_for_nothing_in_every_source(csv, parquet):
    stated = {"classes": ["u", "v"], "drop_bad": True}
    check(open_rows(*spoiled(), **stated))
    check(open_rows(spoiled()[0].tolist(), spoiled()[1].tolist(), **stated))
    check(open_rows(numbers(), spoiled()[1], **stated))
    masked = np.ma.masked_array(Y, mask=np.isin(np.arange(80), BAD_LABELS))
    check(open_rows(np.ma.masked_invalid(numbers()), masked, **stated))
    for path in (csv, parquet):
        opened = open_rows(path, label="kind", **stated)
        check(opened)
        loaded = opened.loaded("Preprocessing")
        check(loaded)
    with pytest.raises(InputError, match=r"numeric|unusable"):
        open_rows(csv, label="kind", classes=["u", "v"]).check()


@pytest.mark.slow
def test_bad_rows_count_for_nothing_on_workers(parquet):
    frame = pd.DataFrame({"a": numbers()[:, 0], "b": numbers()[:, 1], "kind": spoiled()[1]})
    with connected() as client:
        stated = {"classes": ["u", "v"], "drop_bad": True, "client": client}
        check(open_rows(parquet, label="kind", **stated))
        check(open_rows(dd.from_pandas(frame, npartitions=3), label="kind", **stated))
        check(open_rows(numbers(), spoiled()[1], **stated))


def test_a_cell_is_read_alike_whatever_cells_stand_beside_it(tmp_path):
    good = ["1.5", "-2", "3e2", " 4 ", "007", ".5", "5.", "1e400", "-0.0", "123456789012345678901"]
    odd = ["x", "1,5".replace(",", ";"), "--1", "1e", "0x10", "\xff", "١"]
    read = []
    for extra in ([], odd):
        lines = [f"{cell},u" for cell in (*good, *extra)]
        (tmp_path / "t.csv").write_bytes(
            ("a,k\n" + "\n".join(lines) + "\n").encode("latin-1", "replace")
        )
        opened = open_rows(tmp_path / "t.csv", label="k", classes=["u"], drop_bad=True)
        read.append(np.concatenate(list(opened.features.chunks())).ravel().tolist())
    assert read[0] == read[1]
    assert read[0][:5] == [1.5, -2.0, 300.0, 4.0, 7.0]


def test_labels_that_are_no_text_at_all_are_dropped_too(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,k\n1,u\n2,\xff\xfe\n3,v\n")
    opened = open_rows(tmp_path / "t.csv", label="k", classes=["u", "v"], drop_bad=True)
    assert opened.source.n_rows == 3
    assert opened.source.total(ClassMoments(np.zeros((2, 1)), np.ones((2, 1, 1))))[
        [0, 3]
    ].tolist() == [1, 1]


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("steps", [[], ["log:1", "standardise"]])
def test_record_level_uses_no_exact_number_of_rows_when_rows_may_be_dropped(
    monkeypatch, adjacency, steps
):
    from privgmm.proven import record

    told = []
    released = record.release_record

    def watched(curator, k, dim, n_rows=None, *more, **options):
        told.append(n_rows)
        return released(curator, k, dim, n_rows, *more, **options)

    monkeypatch.setattr(record, "release_record", watched)
    asked = {**RECORD, "adjacency": adjacency, "preprocessing": steps, "seed": 1, "epsilon": 4.0}
    r = privgmm.release(*spoiled(), on_bad_row="drop", **asked)
    assert told == [None]
    assert any("counted for nothing" in note for note in r.guarantee.notes)
    if adjacency == "replace":
        privgmm.release(X, Y, **asked)
        assert told[-1] == 80


def test_label_level_keeps_unlisted_rows_among_the_features_and_projects_nothing(monkeypatch):
    from privgmm.proven.label import release as label

    seen = []
    counted = label.count_cells

    def watched(curator, query, sizes, sensitivity, mu, totals_public):
        table = counted(curator, query, sizes, sensitivity, mu, totals_public)
        seen.append((sizes.sum(), totals_public, table.counts.sum()))
        return table

    monkeypatch.setattr(label, "count_cells", watched)
    privgmm.release(*spoiled(), classes=["u", "v"], on_bad_row="drop", seed=0)
    assert seen
    # All rows with good features are there; the table's total is noisy, not theirs.
    assert all(rows == len(expected()[1]) and not public for rows, public, _ in seen)
    assert all(abs(total - rows) > 1e-6 for rows, _, total in seen)
    seen.clear()
    privgmm.release(X, Y, classes=["u", "v"], seed=0)
    assert all(rows == 80 and public for rows, public, _ in seen)
    assert all(abs(total - rows) < 1e-6 for rows, _, total in seen)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [[], ["log:1"], ["standardise"]])
@pytest.mark.parametrize("labelled", [True, False])
def test_an_empty_table_under_add_remove_is_released(tmp_path, steps, labelled):
    asked = {
        "unit": "record",
        "bounds": (0, 10),
        "adjacency": "add-remove",
        "seed": 0,
        "preprocessing": steps,
    }
    asked |= {"classes": ["u", "v"]} if labelled else {"n_components": 2}
    label = {"label": "k"} if labelled else {"columns": ["a", "b"]}
    (tmp_path / "t.csv").write_text("a,b,k\n")
    pq.write_table(
        pa.table({"a": [0.0], "b": [0.0], "k": ["u"]}).slice(0, 0), tmp_path / "t.parquet"
    )
    privgmm.release(np.empty((0, 2)), np.empty(0, dtype="U1") if labelled else None, **asked)
    for name in ("t.csv", "t.parquet"):
        assert privgmm.release(tmp_path / name, **label, **asked).mixture.dim == 2
    with pytest.raises(InputError, match="no usable rows"):
        privgmm.release(tmp_path / "t.csv", **label, **{**asked, "adjacency": "replace"})


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_a_table_of_bad_rows_alone_is_released(adjacency):
    x = np.full((5, 2), np.nan)
    r = privgmm.release(x, ["u"] * 5, **RECORD, adjacency=adjacency, on_bad_row="drop", seed=0)
    assert np.isfinite(r.mixture.means).all()


def test_bounds_of_a_logarithm_are_checked_before_the_ledger_is_charged(tmp_path, capsys):
    rows = "\n".join(f"{a},{b},{k}" for (a, b), k in zip(X, Y, strict=True))
    (tmp_path / "t.csv").write_text(f"a,b,kind\n{rows}\n")
    ledger = tmp_path / "l.db"
    Ledger.create(ledger, 9.0, 1e-3, "record", "replace")
    options = ["--label", "kind", "--unit", "record", "--classes", "u,v", "--epsilon", "1"]
    options += ["--delta", "1e-5", "--ledger", str(ledger), "-o", str(tmp_path / "r.json")]
    for steps, bounds in [("log", "0,10"), ("standardise,log", "1,10"), ("log:-2", "1,10")]:
        more = ["--preprocess", steps, "--bounds", bounds]
        assert run(["release", str(tmp_path / "t.csv"), *options, *more]) == 2
        said = capsys.readouterr().err
        assert "lower bound" in said
        assert not any(c.isdigit() for c in said)
    assert Ledger.open(ledger).rows() == []


def test_label_level_preprocessing_fails_before_the_ledger_is_charged(tmp_path):
    ledger = tmp_path / "l.db"
    Ledger.create(ledger, 9.0, 1e-3, "label")
    asked = {"classes": ["u", "v"], "delta": 1e-5, "ledger": ledger}
    for steps, x in [(["log"], X - 5), (["standardise"], np.ones((80, 2)))]:
        with pytest.raises(InputError):
            privgmm.release(x, Y, preprocessing=steps, **asked)
    assert Ledger.open(ledger).rows() == []


def test_a_table_that_changed_is_refused_without_a_count(parquet):
    opened = open_rows(parquet, label="kind", classes=["u", "v", "secret"], drop_bad=False)
    with pytest.raises(InputError, match="changed while it was read") as refusal:
        opened.source.total(KERNEL)
    assert "1 missing" not in str(refusal.value)


def test_the_command_drops_what_it_is_told_to(csv, tmp_path, capsys):
    options = ["--label", "kind", "--unit", "record", "--bounds", "0,10", "--classes", "u,v"]
    options += ["--epsilon", "4", "--delta", "1e-5", "-o", str(tmp_path / "r.json")]
    assert run(["release", str(csv), *options]) == 2
    assert run(["release", str(csv), *options, "--on-bad-row", "drop"]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["guarantee"]["publishable"]
    assert capsys.readouterr().err.count("\n") == 1  # the refusal; dropping says nothing


def test_no_warning_tells_how_many_rows_were_dropped():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        privgmm.release(*spoiled(), **RECORD, on_bad_row="drop", seed=0)
    with pytest.raises(InputError, match="drop"):
        privgmm.release(X, Y, **RECORD, on_bad_row="impute")
