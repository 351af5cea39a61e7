"""Stand-ins are used, and named, when the folder of data is absent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from privgmm.errors import InputError
from privgmm.reproduce.figures import data, synthetic
from privgmm.reproduce.harness.experiment import Task


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Readers cache their data for the life of a process; a test changes the folder."""
    caches = (data.ami, data.table_one, data.mnist, data._images)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_without_a_folder_the_stand_ins_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVGMM_DATA", raising=False)
    assert "stand-in" in data.ami_source()
    assert "in place of MNIST" in data.mnist_source()
    profiles = data.ami()
    assert tuple(np.bincount(profiles.y)) == data.AMI_CLASS_SIZES == (687, 428, 102, 147, 14, 31)
    assert profiles.X.shape == (1409, 12)
    assert "made-up" in data.table_one_source()
    assert tuple(np.bincount(data.table_one().y)) == data.AMI_CLASS_SIZES
    digits = data.mnist(0, 42, 5000, 5)
    assert digits.X.shape == (1200, 5)
    assert digits.X_test.shape == (597, 5)
    again = data.mnist(1, 42, 1000, 5)
    assert not np.array_equal(digits.X[:10], again.X[:10])


def test_a_given_folder_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kwh = np.exp(rng.normal(size=(150, 24)) + np.repeat(np.arange(6), 25)[:, None] * 8)
    source = np.array(["PT"] * 10 + ["UK"] * 140)
    large = np.arange(150) != 149
    np.savez(
        tmp_path / "load_profiles.npz", pool_kwh=kwh, pool_source=source, pool_min10wh=large
    )  # Portugal's meters and one idle home are left out
    images = rng.integers(0, 256, size=(60, 28, 28), dtype=np.uint8)
    np.savez(
        tmp_path / "mnist.npz", x_train=images, y_train=np.arange(60) % 10,
        x_test=images[:20], y_test=np.arange(20) % 10,
    )  # fmt: skip
    monkeypatch.setenv("PRIVGMM_DATA", str(tmp_path))
    assert "not the paper's homes" in data.ami_source()
    profiles = data.ami()
    assert profiles.X.shape == (139, 12)
    sized = data.table_one()
    assert tuple(np.bincount(sized.y)) == data.AMI_CLASS_SIZES
    levels = [profiles.X[profiles.y == k].mean() for k in range(6)]
    largest = np.argmax(np.bincount(profiles.y))
    smallest = np.argmin(np.bincount(profiles.y))
    for k, donor in ((0, largest), (4, smallest)):  # 687 rows and 14 rows
        assert sized.X[sized.y == k].mean() == pytest.approx(levels[donor], abs=0.5)
    assert np.allclose(profiles.X, np.log(kwh[10:149, 12:24]))
    assert sorted(np.bincount(profiles.y)) == [15, 24, 25, 25, 25, 25]
    assert data.mnist_source() == "MNIST, 5 principal components"
    assert data.mnist(0, 42, 50, 5).X.shape == (50, 5)


def test_a_wrong_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVGMM_DATA", "/nowhere/at/all")
    with pytest.raises(InputError, match="not a folder"):
        data.ami_source()


def test_iris_is_standardised() -> None:
    X = data.iris().X
    assert np.allclose(X.mean(axis=0), 0)
    assert np.allclose(X.std(axis=0), 1)


def test_over_n_only_n_changes() -> None:
    task = Task(500, 3, 42)
    short, long = (synthetic._first_rows(n, 5, 3, task) for n in (500, 10_000))
    assert len(long[0]) == 10_000
    np.testing.assert_array_equal(short[0], long[0][:500])
    np.testing.assert_array_equal(short[1], long[1][:500])
    assert np.bincount(short[1], minlength=5).min() >= 5
