"""Tables on disk give the totals of the same rows in memory, bit for bit, or one sentence."""

import dataclasses
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.data.some import subsample

from privgmm.data import ArraySource
from privgmm.data import parquetfile as pieces_module
from privgmm.data.features import StreamedFeatures
from privgmm.data.opening import open_rows
from privgmm.data.region import Region
from privgmm.data.source import MappedSource
from privgmm.errors import InputError

NAMES = ("a", "b", "c", "d")


@dataclasses.dataclass(frozen=True)
class Moments:
    """Counts, sums and second moments on a 15-bit grid, by class."""

    n_classes: int

    def __call__(self, X, codes):
        grid = np.rint(np.clip(X, -1, 1) * 2**14)
        blocks = []
        for k in range(self.n_classes):
            rows = grid[codes == k]
            blocks += [np.array([len(rows)]), rows.sum(axis=0), (rows.T @ rows).ravel()]
        return np.concatenate(blocks).astype(np.int64)


def rows(n=5000, dim=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, dim)).astype(dtype)
    return X, rng.integers(0, len(NAMES), size=n)


def table(X, labels, **more):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return pa.table({"noise": np.arange(len(X)), **columns, "y": labels, **more})


def opened(path, **changes):
    wanted = {"columns": ("x0", "x1", "x2"), "label": "y", "classes": NAMES}
    return open_rows(path, **{**wanted, **changes})


def in_memory(X, codes):
    return ArraySource(X.astype(np.float64), codes, len(NAMES)).total(Moments(len(NAMES)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint64])
@pytest.mark.parametrize("group", [70, 1000, 1 << 20])
def test_parquet_gives_the_bits_of_the_rows_in_memory(tmp_path, monkeypatch, dtype, group):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 1500)
    X, codes = rows()
    X = np.abs(X * 3).astype(dtype) if np.dtype(dtype).kind in "iu" else X.astype(dtype)
    pq.write_table(table(X, np.array(NAMES)[codes]), tmp_path / "t.parquet", row_group_size=group)
    source = opened(tmp_path / "t.parquet").source
    assert (source.n_rows, source.dim, source.n_classes) == (5000, 3, 4)
    for threads in (1, 3):
        total = dataclasses.replace(source, threads=threads).total(Moments(4))
        assert np.array_equal(total, in_memory(X, codes))


def test_pieces_join_small_row_groups_and_split_large_files(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 1500)
    X, codes = rows()
    pq.write_table(table(X, codes), tmp_path / "t.parquet", row_group_size=400)
    assert opened(tmp_path / "t.parquet", classes=range(4)).source.lengths == (
        1200,
        1200,
        1200,
        1400,
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_of_parts_is_one_table(tmp_path, kind):
    X, codes = rows()
    for part, (start, stop) in enumerate([(0, 1000), (1000, 1001), (1001, 5000)]):
        one = table(X[start:stop], np.array(NAMES)[codes[start:stop]])
        if kind == "csv":
            pyarrow.csv.write_csv(one, tmp_path / f"part-{part}.csv")
        else:
            pq.write_table(one, tmp_path / f"part-{part}.parquet")
    source = opened(tmp_path).source
    assert source.lengths == (1000, 1, 3999)
    assert np.array_equal(source.total(Moments(4)), in_memory(X, codes))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (lambda codes: codes.astype(np.int8), (0, 1, 2, 3)),
        (lambda codes: codes.astype(np.int64), ("0", "1", "2", "3")),
        (lambda codes: codes / 2, (0, 0.5, 1, 1.5)),
        (lambda codes: codes / 2, ("0.0", "0.5", "1.0", "1.5")),
        (lambda codes: np.array(NAMES)[codes], NAMES),
        (lambda codes: pa.array(np.array(NAMES)[codes]).dictionary_encode(), NAMES),
        (lambda codes: pa.array(np.array(NAMES)[codes], pa.large_string()), NAMES),
        (lambda codes: pa.array(np.array(NAMES)[codes], pa.string_view()), NAMES),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_of_every_type_find_their_class(tmp_path, labels, classes, kind):
    X, codes = rows(500)
    one = table(X, labels(codes))
    if kind == "csv":
        plain = one["y"].combine_chunks()
        plain = plain.dictionary_decode() if pa.types.is_dictionary(plain.type) else plain
        if pa.types.is_string_view(plain.type):
            plain = plain.cast(pa.string())
        one = one.set_column(4, "y", plain)
        pyarrow.csv.write_csv(one, tmp_path / "t.csv")
    else:
        pq.write_table(one, tmp_path / "t.parquet")
    source = opened(tmp_path / f"t.{kind}", classes=classes).source
    assert np.array_equal(source.total(Moments(4)), in_memory(X, codes))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_class_list_that_is_not_stated_is_read_and_flagged(tmp_path, kind):
    X, codes = rows(300)
    write = pyarrow.csv.write_csv if kind == "csv" else pq.write_table
    write(table(X, codes * 10), tmp_path / f"t.{kind}")
    found = opened(tmp_path / f"t.{kind}", classes=None)
    assert found.classes == (0, 10, 20, 30)
    assert found.classes_from_data
    assert (found.feature_names, found.label_name) == (("x0", "x1", "x2"), "y")
    assert np.array_equal(found.source.total(Moments(4)), in_memory(X, codes))
    assert not opened(tmp_path / f"t.{kind}", classes=(0, 10, 20, 30)).classes_from_data


def test_unlabelled_rows_have_code_zero(tmp_path):
    X, codes = rows(300)
    pq.write_table(table(X, codes), tmp_path / "t.parquet")
    found = opened(tmp_path / "t.parquet", label=None, classes=None, n_components=4)
    assert found.classes == (0, 1, 2, 3)
    assert np.array_equal(found.source.total(Moments(4)), in_memory(X, np.zeros(300, int)))
    with pytest.raises(InputError, match="n_components"):
        opened(tmp_path / "t.parquet", label=None, classes=None)


def test_only_the_chosen_columns_are_read(tmp_path):
    X, codes = rows(300)
    one = table(X, codes).add_column(0, "text", pa.array(["secret"] * 300))
    pq.write_table(one, tmp_path / "t.parquet")
    source = opened(tmp_path / "t.parquet", classes=range(4)).source
    (batch,) = source.pieces[0].batches(source.layout)
    assert set(batch.schema.names) == {"x0", "x1", "x2", "y"}


def test_mapped_rows_are_the_rows_mapped_beforehand(tmp_path):
    X, codes = rows()
    pq.write_table(table(X, codes), tmp_path / "t.parquet", row_group_size=999)
    region = Region(np.array([0.1, 0.0, -0.2]), np.array([3.0, 4.0, 5.0]))
    source = MappedSource(opened(tmp_path / "t.parquet", classes=range(4)).source, region.to_unit)
    assert (source.n_rows, source.dim, source.n_classes) == (5000, 3, 4)
    assert np.array_equal(source.total(Moments(4)), in_memory(region.to_unit(X), codes))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_unusable_cells_are_counted_over_the_whole_table(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 1000)
    X, codes = rows()
    X[[10, 4000], 0] = np.nan
    X[[20, 2000, 4999], 2] = [np.inf, -np.inf, np.inf]
    labels = [None if i in (5, 3000) else NAMES[k] for i, k in enumerate(codes)]
    write = pyarrow.csv.write_csv if kind == "csv" else pq.write_table
    write(table(X, pa.array(labels)), tmp_path / f"t.{kind}")
    with pytest.raises(InputError) as refusal:
        opened(tmp_path / f"t.{kind}").check()
    for words in ("'y' (2 missing)", "'x0' (2 missing)", "'x2' (3 infinite)", "fill them in"):
        assert words in str(refusal.value)


def test_nulls_are_missing_and_check_says_so_without_a_kernel(tmp_path):
    X, codes = rows(100)
    one = table(X, codes).set_column(1, "x0", pa.array([None, *range(99)], pa.int32()))
    pq.write_table(one, tmp_path / "t.parquet")
    source = opened(tmp_path / "t.parquet", classes=range(4)).source
    with pytest.raises(InputError, match=r"'x0' \(1 missing\)"):
        source.check()
    opened(tmp_path / "t.parquet", columns=["x1"], classes=range(4)).source.check()


def test_huge_finite_values_are_not_taken_for_infinite(tmp_path):
    X, codes = rows(100)
    X[:, 1] = 1.7e308
    pq.write_table(table(X, codes), tmp_path / "t.parquet")
    total = opened(tmp_path / "t.parquet", classes=range(4)).source.total(Moments(4))
    assert np.array_equal(total, in_memory(X, codes))


@pytest.mark.parametrize(
    ("labels", "changes", "words"),
    [
        (["a", "b", "secret"], {}, r"1 rows carry a label that is not in the class list"),
        (["a", "", "b"], {}, r"'y' \(1 missing\)"),
        ([1.0, np.nan, 2.0], {"classes": (1, 2)}, r"'y' \(1 missing\)"),
        ([1, 2, 3], {"classes": ("one", "two")}, "3 rows carry a label"),
        ([True, False, True], {"classes": ("yes", "no")}, "3 rows carry a label"),
        (["a", "b", "c"], {"label": "z"}, "no label column"),
        (["a", "b", "c"], {"columns": ("x0", "y2")}, "no column"),
        (["a", "b", "c"], {"columns": ("x0", "word")}, "not numeric"),
        (["a", "b", "c"], {"classes": ("a", "a")}, "distinct"),
    ],
)
def test_refusals_are_one_sentence_without_values(tmp_path, labels, changes, words):
    X, _ = rows(3)
    pq.write_table(table(X, labels, word=["secret"] * 3), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=words) as refusal:
        opened(tmp_path / "t.parquet", **changes).source.check()
    assert "secret" not in str(refusal.value)


def test_empty_and_damaged_tables_are_refused(tmp_path):
    X, codes = rows(1000)
    pq.write_table(table(X[:0], codes[:0]), tmp_path / "empty.parquet")
    empty = opened(tmp_path / "empty.parquet", classes=range(4)).source
    assert (empty.n_rows, empty.total(Moments(4)).any()) == (0, False)
    with pytest.raises(InputError, match="has no rows"):
        opened(tmp_path / "empty.parquet", classes=None)
    path = tmp_path / "cut.parquet"
    pq.write_table(table(X, codes), path)
    source = opened(path, classes=range(4)).source
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        source.total(Moments(4))


def test_a_table_that_changes_between_passes_is_refused(tmp_path):
    X, codes = rows(1000)
    pq.write_table(table(X, codes), tmp_path / "t.parquet")
    source = opened(tmp_path / "t.parquet", classes=range(4)).source
    pq.write_table(table(X[:900], codes[:900]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="changed while it was read"):
        source.total(Moments(4))


def test_identifiers_are_not_taken_for_classes(tmp_path):
    X, _ = rows(20_000)
    pq.write_table(table(X, np.arange(20_000)), tmp_path / "t.parquet", row_group_size=5000)
    with pytest.raises(InputError, match="more than 10000 distinct"):
        opened(tmp_path / "t.parquet", classes=None)


def test_progress_counts_every_row_of_every_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 600)
    X, codes = rows()
    pq.write_table(table(X, codes), tmp_path / "t.parquet", row_group_size=500)
    steps = []
    source = opened(tmp_path / "t.parquet", classes=range(4), progress=steps.append).source
    assert not steps
    for passes in (1, 2):
        source.total(Moments(4))
        assert sum(steps) == 5000 * passes


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_public_samples_are_rows_of_the_table(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 700)
    monkeypatch.setattr(pieces_module, "_BATCH_ROWS", 2000)
    X, codes = rows()
    write = pyarrow.csv.write_csv if kind == "csv" else pq.write_table
    write(table(X, codes), tmp_path / f"t.{kind}")
    source = opened(tmp_path / f"t.{kind}", classes=range(4)).source
    chosen = np.array([0, 1, 699, 700, 2600, 4999])
    assert np.array_equal(source.features_at(chosen), X[chosen])
    features = StreamedFeatures(source)
    sample = subsample(features, 200, np.random.default_rng(1))[0]
    again = subsample(features, 200, np.random.default_rng(1))[0]
    assert np.array_equal(sample, again)
    position = {row.tobytes(): i for i, row in enumerate(X)}
    found = [position[row.tobytes()] for row in sample]
    assert len(set(found)) == 200
    assert found == sorted(found)
    # Uniform row numbers: mean 2500 with standard error 102; six of them.
    assert abs(np.mean(found) - 2500) < 610
    assert np.array_equal(subsample(features, 10**9, np.random.default_rng(1))[0], X)


def test_memory_does_not_grow_with_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces_module, "_BATCH_ROWS", 2000)
    monkeypatch.setattr(pieces_module, "_BUFFER_BYTES", 1 << 14)
    peaks, arrow_peaks = [], []
    for n in (20_000, 200_000):
        X, codes = rows(n, dtype=np.float32)
        # One row group: the hardest case, since it cannot be read in parts by skipping groups.
        pq.write_table(
            table(X, codes), tmp_path / "t.parquet", row_group_size=n, data_page_size=1 << 14,
            use_dictionary=False,
        )  # fmt: skip
        source = opened(tmp_path / "t.parquet", classes=range(4)).source
        before = pa.total_allocated_bytes()
        largest = 0
        for _ in source.pieces[0].batches(source.layout):
            largest = max(largest, pa.total_allocated_bytes() - before)
        arrow_peaks.append(largest)
        tracemalloc.start()
        source.total(Moments(4))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    # Four columns of 200,000 rows are 4 MB; the reader keeps a page and a buffer per column.
    assert arrow_peaks[1] < 1e6


def test_labels_that_are_not_utf8_are_one_sentence(tmp_path):
    labels = pa.array([b"u", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": labels}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not UTF-8"):
        open_rows(tmp_path / "t.parquet", label="y", classes=["u", "v"]).check()
