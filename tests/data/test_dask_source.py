"""A Dask cluster gives the same bits as one process, for any partitioning, even when workers die."""

import atexit
import dataclasses
import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.some import subsample

from privgmm.data import ArraySource, dask_source
from privgmm.data import parquetfile as pieces_module
from privgmm.data.dask_opening import connected
from privgmm.data.features import StreamedFeatures
from privgmm.data.opening import open_rows
from privgmm.data.region import Region
from privgmm.data.source import MappedSource
from privgmm.errors import InputError

# Workers take seconds to start and to stop.
pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c", "d")


@dataclasses.dataclass(frozen=True)
class Moments:
    """Counts and second moments on a 15-bit grid, by class; slow or fatal on request.

    ``deadly`` names a file: the first worker that sees a full chunk and finds it gone dies.
    """

    n_classes: int
    deadly: str | None = None
    pause: float = 0.0

    def __call__(self, X, codes):
        time.sleep(self.pause if len(X) else 0)
        if self.deadly and len(X):
            try:
                Path(self.deadly).unlink()
            except FileNotFoundError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        grid = np.rint(np.clip(X, -1, 1) * 2**14)
        blocks = []
        for k in range(self.n_classes):
            rows = grid[codes == k]
            blocks += [np.array([len(rows)]), (rows.T @ rows).ravel()]
        return np.concatenate(blocks).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Failing:
    """A kernel with a bug whose exception quotes a record."""

    def __call__(self, X, codes):
        raise RuntimeError(f"secret {X[0, 0]}")


@dataclasses.dataclass(frozen=True)
class Flaky:
    """Fails like a disk: once, if ``once`` names a file that is still there; always without a name."""

    n_classes: int
    once: str | None

    def __call__(self, X, codes):
        if len(X):
            try:
                if self.once is None:
                    raise OSError
                Path(self.once).unlink()
            except FileNotFoundError:
                pass
            else:
                raise OSError
        return Moments(self.n_classes)(X, codes)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    # Four workers: each of the last tests kills one, and whether Dask restarts it is Dask's affair.
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.upload_file(__file__)  # workers import this file's kernels by name
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6000, 3)), rng.integers(0, 4, size=6000)


@pytest.fixture
def expected(data):
    return ArraySource(*data, 4).total(Moments(4))


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    """Three Parquet files of several pieces each."""
    monkeypatch.setattr(pieces_module, "_PIECE_ROWS", 500)
    X, codes = data
    for part in range(3):
        mine = slice(2000 * part, 2000 * (part + 1))
        columns = {f"x{j}": X[mine, j] for j in range(3)}
        pq.write_table(
            pa.table({**columns, "y": np.array(NAMES)[codes[mine]]}),
            tmp_path / f"part-{part}.parquet", row_group_size=400,
        )  # fmt: skip
    return tmp_path


def test_parquet_on_workers_gives_the_local_bits(client, folder, expected, data):
    steps = []
    found = open_rows(folder, label="y", client=client, progress=steps.append)
    assert found.classes == NAMES
    assert found.source.n_rows == 6000
    local = open_rows(folder, label="y", classes=NAMES).source
    assert np.array_equal(found.source.total(Moments(4)), expected)
    assert np.array_equal(local.total(Moments(4)), expected)
    assert sum(steps) == 2 * 6000  # the class list and one total
    there, here = StreamedFeatures(found.source), StreamedFeatures(local)
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    assert np.array_equal(subsample(there, 77, rng)[0], subsample(here, 77, same)[0])
    assert np.array_equal(np.concatenate(list(there.chunks())), data[0])
    region = Region(np.full(3, 0.5), np.full(3, 4.0))
    mapped = MappedSource(found.source, region.to_unit).total(Moments(4))
    assert np.array_equal(
        mapped, ArraySource(region.to_unit(data[0]), data[1], 4).total(Moments(4))
    )


@pytest.mark.parametrize("partitions", [1, 4, 13])
def test_dask_frames_give_the_local_bits(client, data, expected, partitions):
    import dask.dataframe
    import pandas

    X, codes = data
    frame = pandas.DataFrame(X, columns=["u", "v", "w"]).assign(y=np.array(NAMES)[codes])
    lazy = dask.dataframe.from_pandas(frame, npartitions=partitions)
    found = open_rows(lazy, label="y", client=client)
    assert found.feature_names == ("u", "v", "w")
    assert found.classes == NAMES
    assert found.classes_from_data
    assert np.array_equal(found.source.total(Moments(4)), expected)


@pytest.mark.parametrize("rows", [6000, 999])
def test_dask_arrays_give_the_local_bits(client, data, expected, rows):
    import dask.array

    X, codes = data
    lazy = dask.array.from_array(X, chunks=(rows, 2))
    for y in (codes, dask.array.from_array(codes, chunks=700)):
        source = open_rows(lazy, y, classes=range(4), client=client).source
        assert source.n_rows == 6000
        assert np.array_equal(source.total(Moments(4)), expected)


def test_arrays_in_memory_are_sent_once_and_give_the_local_bits(client, data, expected):
    source = open_rows(*data, classes=range(4), client=client).source
    assert len(source.parts) == 16
    assert np.array_equal(source.total(Moments(4)), expected)
    sent = dict(source._sent)
    assert np.array_equal(source.total(Moments(4)), expected)
    assert source._sent == sent
    assert np.array_equal(source.features_at(np.array([0, 3000, 5999])), data[0][[0, 3000, 5999]])


def test_unusable_rows_are_counted_over_all_partitions(client, data):
    X = data[0].copy()
    X[[5, 2000], 1] = np.nan
    X[4000, 2] = np.inf
    with pytest.raises(InputError, match=r"'x1' \(2 missing\), 'x2' \(1 infinite\)"):
        open_rows(X, data[1], classes=range(4), client=client)
    unknown = int((data[1] == 3).sum())
    with pytest.raises(InputError, match=f"{unknown} rows carry a label"):
        open_rows(*data, classes=range(3), client=client)


def test_a_worker_s_exception_is_named_but_never_quoted(client, data, capfd):
    source = open_rows(*data, classes=range(4), client=client).source
    with pytest.raises(InputError, match="failed with RuntimeError") as refusal:
        source.total(Failing())
    assert "secret" not in str(refusal.value)
    # Workers keep their last log lines for whoever asks, and print them too.
    logs = client.get_worker_logs()
    assert len(logs) == 4
    assert "secret" not in str(logs)
    assert "secret" not in "".join(capfd.readouterr())


def test_a_result_that_died_with_its_worker_is_tried_again(client, data, expected, monkeypatch):
    from distributed.client import Future, FutureCancelledError

    lost, result = [], Future.result

    def once_lost(future, *arguments, **options):
        if not lost and "_tally" in str(future.key):
            lost.append(future.key)
            raise FutureCancelledError(future.key, "unknown")
        return result(future, *arguments, **options)

    source = open_rows(*data, classes=range(4), client=client).source
    monkeypatch.setattr(Future, "result", once_lost)
    assert np.array_equal(source.total(Moments(4)), expected)
    assert len(lost) == 1


@pytest.mark.parametrize("failures", [2, 100])
def test_a_worker_that_dies_while_it_receives_rows(client, data, expected, monkeypatch, failures):
    from distributed.comm import CommClosedError

    scatter, failed = client.scatter, []

    def closed(*arguments, **options):
        if len(failed) < failures:
            failed.append(1)
            raise CommClosedError
        return scatter(*arguments, **options)

    monkeypatch.setattr(dask_source, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(client, "scatter", closed)
    if failures > 2:
        with pytest.raises(InputError, match="Dask workers died 5 times"):
            open_rows(*data, classes=range(4), client=client).source.total(Moments(4))
    else:
        source = open_rows(*data, classes=range(4), client=client).source
        assert np.array_equal(source.total(Moments(4)), expected)


def test_a_disk_that_fails_once_is_tried_again(client, data, expected, tmp_path):
    source = open_rows(*data, classes=range(4), client=client).source
    (tmp_path / "once").touch()
    assert np.array_equal(source.total(Flaky(4, str(tmp_path / "once"))), expected)
    assert not (tmp_path / "once").exists()


def test_a_disk_that_always_fails_is_one_sentence(client, data):
    source = open_rows(*data, classes=range(4), client=client).source
    with pytest.raises(InputError, match="failed with OSError"):
        source.total(Flaky(4, None))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": np.zeros(5, int)}, "one per row"),
        ({"label": "y"}, "give the labels as y"),
        ({"data": np.zeros(5)}, "two-dimensional"),
        ({"data": np.array([["a"]])}, "array of numbers"),
    ],
)
def test_arrays_that_are_not_tables_are_refused(client, data, changes, words):
    wanted = {"data": data[0], "y": data[1], "classes": range(4), "client": client, **changes}
    with pytest.raises(InputError, match=words):
        open_rows(wanted.pop("data"), **wanted)


def test_text_features_of_a_frame_are_refused_before_any_pass(client):
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame({"u": [1.0, 2.0], "name": ["secret", "b"], "y": [0, 1]})
    lazy = dask.dataframe.from_pandas(frame, npartitions=1)
    with pytest.raises(InputError, match="'name' of the table is not numeric"):
        open_rows(lazy, label="y", classes=(0, 1), client=client)


def test_a_scheduler_is_reached_by_its_address(client, folder, expected):
    with connected(client.scheduler.address) as remote:
        assert remote is not client
        source = open_rows(folder, label="y", classes=NAMES, client=remote).source
        assert np.array_equal(source.total(Moments(4)), expected)


def test_an_address_without_a_scheduler_is_one_sentence():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(InputError, match="cannot be reached"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_an_interrupt_while_local_workers_start_leaves_nothing_to_close(monkeypatch):
    import distributed
    from distributed.deploy.spec import close_clusters

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    forgotten = []
    monkeypatch.setattr(distributed, "LocalCluster", interrupted)
    monkeypatch.setattr(atexit, "unregister", forgotten.append)
    with pytest.raises(KeyboardInterrupt), connected():
        pass
    assert forgotten == [close_clusters]


@pytest.mark.parametrize("kind", ["files", "frame", "memory"])
def test_a_worker_killed_in_the_middle_changes_nothing(
    client, folder, data, expected, tmp_path, kind
):
    import dask.dataframe
    import pandas

    if kind == "files":
        source = open_rows(folder, label="y", classes=NAMES, client=client).source
    elif kind == "frame":
        frame = pandas.DataFrame(data[0], columns=["u", "v", "w"]).assign(y=data[1])
        lazy = dask.dataframe.from_pandas(frame, npartitions=6)
        source = open_rows(lazy, label="y", classes=range(4), client=client).source
    else:
        source = open_rows(*data, classes=range(4), client=client).source
    deadly = tmp_path / "alive"
    deadly.touch()
    total = source.total(Moments(4, str(deadly), pause=0.05))
    assert not deadly.exists()
    assert np.array_equal(total, expected)
