"""Public features come in the same chunks from everywhere."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.some import subsample

from privgmm.data import features as features_module
from privgmm.data.features import ArrayFeatures, StreamedFeatures, rechunked
from privgmm.data.opening import open_rows


@given(st.lists(st.integers(0, 25), max_size=12), st.integers(1, 30))
def test_rechunking_keeps_rows_and_fixes_bounds(sizes, size):
    X = np.arange(2 * sum(sizes), dtype=np.float64).reshape(-1, 2)
    batches = np.split(X, np.cumsum(sizes)[:-1]) if sizes else []
    chunks = list(rechunked(batches, size))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert all(0 < len(chunk) <= size for chunk in chunks)
    assert np.array_equal(np.concatenate([X[:0], *chunks]), X)


@pytest.mark.parametrize("group", [300, 1000, 10_000])
def test_chunks_of_files_are_the_chunks_of_the_array(tmp_path, monkeypatch, group):
    monkeypatch.setattr(features_module, "CHUNK_ROWS", 512)
    X = np.random.default_rng(0).standard_normal((5000, 2))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": np.zeros(5000, int)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=group)
    source = open_rows(tmp_path / "t.parquet", label="y", classes=[0, 1]).source
    streamed, here = StreamedFeatures(source), ArrayFeatures(X)
    assert (streamed.n_rows, streamed.dim) == (here.n_rows, here.dim) == (5000, 2)
    for size in (None, 100):
        for theirs, ours in zip(streamed.chunks(size), here.chunks(size), strict=True):
            assert np.array_equal(theirs, ours)
            assert len(ours) <= (size or 512)
    for n in (100, 10_000):
        rows = [subsample(f, n, np.random.default_rng(3))[0] for f in (streamed, here)]
        assert np.array_equal(*rows)
        assert rows[0].shape == (min(n, 5000), 2)
