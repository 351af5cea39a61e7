"""Rows of one person, wherever they are and however they come in: the same shares, the same bits."""

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyarrow import parquet

from privgmm.data import parquetfile, persons, register
from privgmm.data.ids import id_array
from privgmm.data.opening import open_rows
from privgmm.data.source import MappedSource
from privgmm.errors import InputError
from privgmm.queries.class_moments import ClassMoments
from privgmm.types import PersonUnit

NAMES = ["a", "b", "c"]
KERNEL = ClassMoments(np.zeros((3, 2)), np.tile(np.eye(2), (3, 1, 1)))
UNITS = [PersonUnit("home"), PersonUnit("home", 4)]


def frame(seed: int = 0, homes: int = 40, n: int = 600) -> pd.DataFrame:
    """Homes with one row and with many, in no order; some rows are equal, some of no listed class."""
    rng = np.random.default_rng(seed)
    who = np.concatenate([np.arange(homes), rng.integers(0, homes // 4, n - homes)])
    table = pd.DataFrame(np.round(rng.normal(size=(n, 2)), 1), columns=["x", "z"])
    table["home"] = [f"{'0' * (k % 3)}{k}" for k in who]
    table["y"] = rng.choice([*NAMES, "other"], n)
    return table.sample(frac=1, random_state=seed)


def weighted_by_hand(table: pd.DataFrame) -> list[int]:
    """2^20 / m of each row's contribution, rounded down, one row at a time."""
    sizes = table.groupby("home")["x"].transform("size").to_numpy()
    total = [0] * 18
    for (x, z, _, y), m in zip(table.to_numpy(), sizes, strict=True):
        if y in NAMES:
            row = KERNEL(np.array([[x, z]], dtype=float) / 8, np.array([NAMES.index(y)]))
            total = [
                t + ((1 << 20) // int(m)) * int(v) for t, v in zip(total, row.ravel(), strict=True)
            ]
    return total


def totals(opened) -> tuple[int, list[int]]:
    scaled = MappedSource(opened.source, lambda X: X / 8)
    return opened.source.n_units, scaled.fixed_point(KERNEL, 20)


def opened(data, unit, **more):
    if not isinstance(data, np.ndarray):
        more = {"label": "y", "columns": ["x", "z"], **more}
    return open_rows(data, classes=NAMES, drop_bad=True, persons=unit, **more)


def test_a_row_counts_for_its_part_of_a_person():
    table = frame()
    assert totals(opened(table, UNITS[0])) == (40, weighted_by_hand(table))


@pytest.mark.parametrize("unit", UNITS)
def test_every_way_in_gives_the_same_bits(tmp_path, unit):
    table = frame()
    expected = totals(opened(table, unit))
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_excel(tmp_path / "t.xlsx", index=False)
    parquet.write_table(arrow, tmp_path / "t.parquet", row_group_size=50)
    (tmp_path / "parts").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(600), 4)):
        table.iloc[rows].to_csv(tmp_path / "parts" / f"{part}.csv", index=False)
    X, y, ids = table[["x", "z"]].to_numpy(), table["y"].to_numpy(), table["home"].to_numpy()
    assert totals(opened(arrow, unit)) == expected
    assert totals(opened(polars.from_arrow(arrow), unit)) == expected
    assert totals(opened(table.astype({"home": "category"}), unit)) == expected
    assert totals(opened(X, unit, y=y, ids=ids)) == expected
    for name in ("t.csv", "t.parquet", "t.xlsx", "parts"):
        for limit in (0, 1 << 20):
            assert totals(opened(tmp_path / name, unit, in_memory=limit)) == expected, name


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("room", [0, 1 << 29])
def test_rows_sorted_in_many_blocks_with_and_without_room_to_remember_them(
    tmp_path, monkeypatch, unit, room
):
    table = frame()
    expected = totals(opened(table, unit))
    parquet.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet", row_group_size=50)
    monkeypatch.setattr(parquetfile, "_PIECE_ROWS", 50)
    monkeypatch.setattr(register, "_BLOCK_ROWS", 120)
    monkeypatch.setattr(register, "_BLOCK_BYTES", room)
    source = opened(tmp_path / "t.parquet", unit, in_memory=0)
    assert len(source.source.people.known) == (12 if room else 0)
    assert totals(source) == totals(source) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_persons_with_one_first_word_are_still_different(tmp_path, monkeypatch, unit):
    table = frame()
    expected = totals(opened(table, unit))
    table.to_csv(tmp_path / "t.csv", index=False)
    real = persons.digests
    rough = np.array([[1], [2**64 - 1]], np.uint64)
    monkeypatch.setattr(
        persons.row_keys, "__defaults__", (lambda ids, key: real(ids, key) & rough,)
    )
    assert totals(opened(tmp_path / "t.csv", unit, in_memory=0)) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_workers_find_persons_too(tmp_path, unit):
    import dask.dataframe
    from distributed import Client, LocalCluster

    table = frame()
    expected = totals(opened(table, unit))
    table.to_csv(tmp_path / "t.csv", index=False)
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        parts = dask.dataframe.from_pandas(table, npartitions=5, sort=False)
        assert totals(opened(parts, unit, client=client)) == expected
        assert totals(opened(tmp_path / "t.csv", unit, client=client)) == expected
        X, y, ids = table[["x", "z"]].to_numpy(), table["y"].to_numpy(), table["home"].to_numpy()
        assert totals(opened(X, unit, y=y, ids=ids, client=client)) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_rows_in_another_order_change_no_bit(tmp_path, unit):
    first, second = frame(), frame().sample(frac=1, random_state=9)
    first.to_csv(tmp_path / "first.csv", index=False)
    second.to_csv(tmp_path / "second.csv", index=False)
    assert totals(opened(tmp_path / "first.csv", unit)) == totals(
        opened(tmp_path / "second.csv", unit)
    )


def test_public_features_carry_their_shares(tmp_path):
    """At label level every row with usable features is there, of whatever label, and a person adds up to one."""
    table = frame()
    table.to_csv(tmp_path / "t.csv", index=False)
    for found in (opened(table, UNITS[0]), opened(tmp_path / "t.csv", UNITS[0])):
        rows = [rows for rows, _ in found.features.shared_chunks(100)]
        shares = np.concatenate([shares for _, shares in found.features.shared_chunks(100)])
        assert np.array_equal(np.concatenate(rows), table[["x", "z"]].to_numpy())
        assert pd.Series(shares).groupby(
            table["home"].to_numpy()
        ).sum().to_numpy() == pytest.approx(1)
        assert found.features.n_units == pytest.approx(40)


def test_at_most_so_many_rows_of_a_person_count():
    table = pd.DataFrame(
        {"x": np.linspace(-1, 1, 50), "z": 0.0, "home": ["a"] * 47 + ["b"] * 3, "y": "a"}
    )
    source = opened(table, PersonUnit("home", 4)).source
    assert source.shares.fractions.sum() == pytest.approx(7 / 4)
    kept = source.shares.fractions > 0
    again = opened(table.iloc[::-1], PersonUnit("home", 4)).source
    assert np.array_equal(again.shares.fractions[::-1] > 0, kept)


def test_ids_are_texts_of_their_own():
    """01 is not 1, and one odd id changes nobody else's; a number is its digits, in any type of column."""
    X, y = np.zeros((4, 2)), np.array(["a", "a", "b", "b"])
    for ids, n_persons in (
        (["1", "01", "1", "x"], 3),
        ([1, 1, 2, 2], 2),
        ([1.0, 1, "1", "1.0"], 2),
        ([10**30, 10**30, "b", "b"], 2),
    ):
        assert opened(X, UNITS[0], y=y, ids=ids).source.n_units == n_persons
    # Half a character is no text: such a row is nobody's, and no message quotes it.
    assert id_array(["a", "b\ud800", None]).to_pylist() == ["a", None, None]


def test_rows_of_nobody_are_refused_or_count_for_nothing(tmp_path):
    table = frame()
    table.iloc[[3, 5], 2] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    for data, more in (
        (table, {}),
        (tmp_path / "t.csv", {"in_memory": 1 << 20}),
        (tmp_path / "t.csv", {}),
    ):
        with pytest.raises(InputError, match=r"'home' \(2 missing\)"):
            open_rows(
                data,
                label="y",
                columns=["x", "z"],
                classes=[*NAMES, "other"],
                persons=UNITS[0],
                **more,
            ).check()
        rest, found = table.dropna(), opened(data, UNITS[0], **more)
        # The second time shares are known, and ids are not read again.
        assert totals(found) == totals(found) == totals(opened(rest, UNITS[0]))


def test_what_cannot_be_a_column_of_persons_is_said():
    table = frame()
    for unit, match in (
        (PersonUnit("house"), "no column 'house'"),
        (PersonUnit("y"), "cannot also be"),
    ):
        with pytest.raises(InputError, match=match):
            opened(table, unit)
    with pytest.raises(InputError, match="one per row"):
        opened(np.zeros((3, 2)), UNITS[0], y=["a"] * 3, ids=["p"])
    with pytest.raises(InputError, match="texts or whole numbers"):
        opened(table.assign(home=pd.Timestamp("2020-01-01")), UNITS[0])
