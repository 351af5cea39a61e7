"""The data sets of section V, read from the folder PRIVGMM_DATA or replaced by a named stand-in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA

from privgmm.errors import InputError
from privgmm.model import fit, label_by_kmeans
from privgmm.reproduce.harness.experiment import stream
from privgmm.types import Floats

AMI_CLASS_SIZES = (687, 428, 102, 147, 14, 31)  # the paper's table I
_AMI_HOURS = 12


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with labels 0..K-1, the name of where they came from, and perhaps a test set."""

    X: Floats
    y: NDArray[np.intp]
    X_test: Floats
    y_test: NDArray[np.intp]


def generated_source() -> str:
    """What the generated mixtures are, for the page."""
    return "synthetic, section V-A"


def iris_source() -> str:
    """What Iris is, for the page."""
    return "Iris, standardised"


def ami_source() -> str:
    """What stands in for the paper's meters, for the page."""
    if data_file("load_profiles.npz"):
        return "1025 homes (CH, UK, AU, NL), not the paper's homes"
    return "synthetic stand-in with the paper's class sizes"


def table_one_source() -> str:
    """What stands in for Table I's classes, for the page."""
    origin = "the 1025 homes" if data_file("load_profiles.npz") else "made-up profiles"
    return f"Gaussian stand-in with Table I's class sizes, shapes from {origin}"


def mnist_source() -> str:
    """What the images are, for the page."""
    if data_file("mnist.npz"):
        return "MNIST, 5 principal components"
    return "digits (8x8) in place of MNIST, 5 principal components"


def components_source() -> str:
    """What the principal components are of, for the page."""
    images = "MNIST" if data_file("mnist.npz") else "digits (8x8) in place of MNIST"
    return f"{images}, principal components of the same images"


def data_file(name: str) -> Path | None:
    """The file in the folder PRIVGMM_DATA, if there is one."""
    folder = os.environ.get("PRIVGMM_DATA")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise InputError(
            f"PRIVGMM_DATA names {folder}, which is not a folder; correct or unset it."
        )
    path = Path(folder) / name
    return path if path.is_file() else None


@lru_cache(maxsize=1)
def iris() -> Labelled:
    """Iris, standardised."""
    X, y = load_iris(return_X_y=True)
    return _without_test((X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.intp))


@lru_cache(maxsize=1)
def ami() -> Labelled:
    """12 hourly log-consumptions per home, labelled by K-means with K = 6 (section V-C)."""
    path = data_file("load_profiles.npz")
    if path is None:
        return _ami_stand_in()
    with np.load(path) as profiles:
        keep = profiles["pool_min10wh"] & (profiles["pool_source"] != "PT")
        X = np.log(profiles["pool_kwh"][keep][:, 12:24].astype(np.float64))
    return _without_test(X, label_by_kmeans(X, 6, seed=0))


@lru_cache(maxsize=1)
def table_one() -> Labelled:
    """Six classes of 687, 428, 102, 147, 14 and 31 rows, the sizes of the paper's Table I.

    Each class is a sample of a Gaussian fitted to a class of the 1025 homes: the larger a class of
    Table I, the larger the class of homes it takes its mean and covariance from. Without the homes
    the shapes are made up.
    """
    if data_file("load_profiles.npz") is None:
        return _ami_stand_in()
    homes = ami()
    fitted = fit(homes.X, homes.y)
    donors = np.argsort(-fitted.weights)[np.argsort(np.argsort(-np.array(AMI_CLASS_SIZES)))]
    rng = np.random.default_rng(1409)
    parts = [
        rng.standard_normal((size, fitted.dim)) @ fitted.cholesky[donor].T + fitted.means[donor]
        for size, donor in zip(AMI_CLASS_SIZES, donors, strict=True)
    ]
    return _without_test(np.vstack(parts), np.repeat(np.arange(6), AMI_CLASS_SIZES))


def _ami_stand_in() -> Labelled:
    """Six Gaussian classes of smooth half-day profiles; nothing in it was measured in a home."""
    rng = np.random.default_rng(1409)
    hour = np.arange(_AMI_HOURS)
    # Consumption of neighbouring hours goes together: correlation 0.8^|i-j|, plus a level per home.
    correlation = 0.8 ** np.abs(hour[:, None] - hour[None, :])
    parts, labels = [], []
    for k, size in enumerate(AMI_CLASS_SIZES):
        evening = rng.uniform(0.2, 1.2) * np.sin(np.pi * (hour - rng.uniform(0, 4)) / _AMI_HOURS)
        level = rng.uniform(-2.0, 1.5)
        factor = np.linalg.cholesky(rng.uniform(0.15, 0.45) * correlation)
        parts.append(level + evening + rng.standard_normal((size, _AMI_HOURS)) @ factor.T)
        labels.append(np.full(size, k))
    order = rng.permutation(sum(AMI_CLASS_SIZES))
    return _without_test(np.vstack(parts)[order], np.concatenate(labels).astype(np.intp)[order])


@lru_cache(maxsize=2)
def mnist(trial: int, seed: int, n: int, dim: int) -> Labelled:
    """n training images in their own ``dim`` principal components, and the test images in them."""
    x_train, y_train, x_test, y_test = _images()
    rng = np.random.default_rng(stream(seed, "images", trial))
    rows = rng.choice(len(x_train), size=min(n, len(x_train)), replace=False)
    pca = PCA(dim, svd_solver="covariance_eigh").fit(x_train[rows])
    return Labelled(
        pca.transform(x_train[rows]).astype(np.float64),
        y_train[rows],
        pca.transform(x_test).astype(np.float64),
        y_test,
    )


@lru_cache(maxsize=1)
def _images() -> tuple[Floats, NDArray[np.intp], Floats, NDArray[np.intp]]:
    """Training and test images as rows in [0, 1]; two thirds of ``digits`` train when it stands in."""
    path = data_file("mnist.npz")
    if path is not None:
        with np.load(path) as images:
            x_train, x_test = (
                images[part].reshape(-1, 784).astype(np.float32) / 255
                for part in ("x_train", "x_test")
            )
            y_train, y_test = (images[part].astype(np.intp) for part in ("y_train", "y_test"))
        return x_train, y_train, x_test, y_test
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1200], order[1200:]
    y = y.astype(np.intp)
    return x[train] / 16, y[train], x[test] / 16, y[test]


def _without_test(X: Floats, y: NDArray[np.intp]) -> Labelled:
    return Labelled(X, y, X[:0], y[:0])
