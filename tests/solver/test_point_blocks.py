"""Points that do not fit in memory: the same bits for any cutting, and memory for a block only."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from certificate import check
from pyarrow import parquet

from privgmm.errors import InputError
from privgmm.solver import min_trace_ellipsoid
from privgmm.solver.points import reader_of


class Cut:
    """An array cut at the given rows; some blocks may be empty."""

    def __init__(self, array, at):
        self.pieces = np.split(array, at)
        self.opened = 0

    def blocks(self):
        self.opened += 1
        return iter(self.pieces)


class RowGroups:
    """What one writes to read a Parquet file."""

    def __init__(self, path):
        self.path = path

    def blocks(self):
        with parquet.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                yield np.column_stack([c.to_numpy() for c in file.read_row_group(group).columns])


def same_bits(one, other):
    np.testing.assert_array_equal(one.shape, other.shape)
    np.testing.assert_array_equal(one.support, other.support)
    np.testing.assert_array_equal(one.multipliers, other.multipliers)
    assert (one.value, one.gap, one.passes) == (other.value, other.gap, other.passes)


@pytest.fixture(scope="module")
def cloud():
    """Ten blocks of the solver's own size, and a bit."""
    rng = np.random.default_rng(8)
    return rng.standard_normal((140_000, 10)) @ rng.standard_normal((10, 10))


@pytest.fixture(scope="module")
def whole(cloud):
    return min_trace_ellipsoid(cloud)


def test_any_cutting_gives_the_same_bits(cloud, whole):
    check(cloud, np.eye(10), whole, 1e-4)
    rng = np.random.default_rng(9)
    cuttings = [
        np.arange(1, 400),  # single rows first
        np.sort(rng.integers(0, len(cloud), 300)),  # uneven, some empty
        np.arange(0, len(cloud), 5000),
        [len(cloud) - 1],
    ]
    for at in cuttings:
        same_bits(min_trace_ellipsoid(Cut(cloud, at)), whole)


@pytest.mark.parametrize("layout", ["F", "strided", "float32", "int"])
def test_layout_and_type_of_the_array_do_not_matter(cloud, layout):
    array = {
        "F": np.asfortranarray(cloud),
        "strided": np.repeat(cloud, 2, axis=0)[::2],
        "float32": cloud.astype(np.float32),
        "int": np.rint(100 * cloud).astype(np.int32),
    }[layout]
    same_bits(min_trace_ellipsoid(array), min_trace_ellipsoid(np.array(array, float, order="C")))


def test_row_groups_of_a_parquet_file(cloud, whole, tmp_path):
    table = pa.table({f"x{j}": column for j, column in enumerate(cloud.T)})
    parquet.write_table(table, tmp_path / "points.parquet", row_group_size=33_333)
    same_bits(min_trace_ellipsoid(RowGroups(tmp_path / "points.parquet")), whole)


def test_every_reading_is_counted(cloud):
    source = Cut(cloud, [70_000])
    found = min_trace_ellipsoid(source)
    assert source.opened == found.passes + 1  # the first look only asks for the number of columns
    flat = Cut(cloud[:2000] * ([1.0] * 9 + [0.0]), [500])
    assert flat.opened == 0
    assert min_trace_ellipsoid(flat).passes + 1 == flat.opened


def test_a_memory_map_is_not_copied(tmp_path):
    """40 MiB of float32 on disk: a copy would show, as float64 twice over."""
    n, d = 1 << 20, 10
    path = tmp_path / "points.f32"
    stored = np.memmap(path, np.float32, "w+", shape=(n, d))
    stored[:] = np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)
    stored.flush()
    points = np.memmap(path, np.float32, "r", shape=(n, d))
    tracemalloc.start()
    try:
        found = min_trace_ellipsoid(points)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.gap <= 1e-4
    assert peak < 10 * 2**20


def test_reused_buffers_are_safe(cloud, whole):
    """A source may overwrite the block it gave: nothing of it is kept by reference."""

    class Overwriting:
        def blocks(self):
            room = np.empty((6000, 10))
            for start in range(0, len(cloud), 6000):
                part = cloud[start : start + 6000]
                room[: len(part)] = part
                yield room[: len(part)]
                room[:] = np.nan

    same_bits(min_trace_ellipsoid(Overwriting()), whole)


def test_sources_that_cannot_be_right_are_refused():
    class Changing:
        rows = 10

        def blocks(self):
            self.rows += 1
            return [np.eye(self.rows, 3) + 1]

    bad = [Cut(np.empty((0, 2)), [0]), Changing()]
    ragged = Cut(np.ones((2, 2)), [1])
    ragged.pieces[1] = np.ones((1, 3))
    nothing = Cut(np.ones((2, 2)), [1])
    nothing.pieces = []
    for source in (*bad, ragged, nothing, (row for row in np.eye(2))):
        with pytest.raises(InputError, match=r"^[^\n]+\.$"):
            min_trace_ellipsoid(source)


def test_blocks_are_of_one_length_whatever_the_source_gives():
    points = np.arange(50_000.0 * 8).reshape(50_000, 8)
    lengths = [len(block) for _, block in reader_of(Cut(points, [3, 20_000, 20_000, 49_999]))]
    assert len(set(lengths[:-1])) == 1
    assert sum(lengths) == len(points)
    firsts = [first for first, _ in reader_of(points)]
    assert firsts == np.cumsum([0, *lengths[:-1]]).tolist()
