"""Fit steps to features: free at label level, where features are public, and not allowed at record level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from privgmm.checks import feature_array
from privgmm.errors import ColumnsError, InputError
from privgmm.transform.steps import Log, Pca, Standardise, Step
from privgmm.types import Floats

_KINDS = "log, log:OFFSET, standardise or pca:COLUMNS"


def fit_label_level(kind: str, X: ArrayLike, n_components: int | None = None) -> Step:
    """A step fitted to public features; its origin is "features" (a logarithm has none).

    Neighbouring tables at label level share all features (Definition 1), so any function of them
    costs no budget. Using the result at record level is refused by ``check_origins``.
    """
    x = feature_array(X)
    if kind == "log":
        return Log()
    if kind == "standardise":
        return _standardise(x)
    if kind == "pca":
        return _pca(x, n_components)
    raise InputError(f"A preprocessing step is {_KINDS}, got {kind!r}.")


def fit_chain(
    wanted: Sequence[str | Step], X: ArrayLike, names: Sequence[str] = ()
) -> tuple[tuple[Step, ...], Floats]:
    """Steps such as ("log", "standardise", "pca:5"), each fitted to the rows after the one before.

    A step object is used as it is. Returns the steps and the preprocessed rows. Refusals use the ``names`` of
    the columns, if there are any.
    """
    rows, called = feature_array(X), tuple(names)
    steps: list[Step] = []
    for item in check_wanted(wanted):
        try:
            step = _fitted(item, rows) if isinstance(item, str) else item
            rows = step.apply(rows)
        except ColumnsError as problem:
            raise (problem.named(called) if called else problem) from None
        called = step.names(called) if called else ()
        steps.append(step)
    return tuple(steps), rows


def check_wanted(wanted: Sequence[str | Step]) -> tuple[str | Step, ...]:
    """Refuse what names no step, before anything is read or paid."""
    if isinstance(wanted, str) or not isinstance(wanted, (list, tuple)):
        raise InputError(f"Give the preprocessing as a list; each step is {_KINDS}.")
    for item in wanted:
        if isinstance(item, str):
            parse_step(item)
        elif not isinstance(item, (Log, Standardise, Pca)):
            raise InputError(f"Each preprocessing step is {_KINDS}, or a step object.")
    return tuple(wanted)


def parse_step(text: str) -> tuple[str, float | None]:
    """("pca", 5.0) of "pca:5"."""
    kind, colon, argument = text.partition(":")
    if kind not in ("log", "standardise", "pca") or (kind == "standardise" and colon):
        raise InputError(f"A preprocessing step is {_KINDS}, got {text!r}.")
    if kind == "pca" and not _number(argument).is_integer():
        raise InputError("A PCA needs a whole number of components, as in pca:5.")
    return kind, _number(argument) if colon else None


def _fitted(text: str, rows: Floats) -> Step:
    kind, number = parse_step(text)
    if kind == "log":
        return Log(number or 0.0)
    return fit_label_level(kind, rows, None if number is None else int(number))


def _standardise(x: Floats) -> Standardise:
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = x.mean(axis=0), x.std(axis=0)
    _refuse_overflow(mean, scale)
    constant = np.flatnonzero(scale == 0)
    if constant.size:
        raise ColumnsError(
            "Column {columns} is constant and cannot be standardised; leave it out.",
            constant.tolist(),
        )
    return Standardise(mean, scale, "features")


def _pca(x: Floats, n_components: int | None) -> Pca:
    """Leading eigenvectors of the covariance; the largest entry of each is made positive."""
    d = x.shape[1]
    if n_components is None or not 1 <= n_components <= d:
        raise InputError(f"A PCA needs 1 to {d} components, as in pca:1.")
    with np.errstate(over="ignore", invalid="ignore"):
        mean = x.mean(axis=0)
        covariance = (x - mean).T @ (x - mean) / x.shape[0]
    _refuse_overflow(mean, covariance)
    _, vectors = np.linalg.eigh(covariance)
    components = vectors[:, ::-1][:, :n_components].T
    # The sign of an eigenvector is arbitrary; it is fixed here, so that equal features give equal files.
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(n_components), largest])
    return Pca(mean, components * signs[:, None], "features")


def _refuse_overflow(*arrays: Floats) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError("The features hold values too large to fit a step; rescale them.")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"A preprocessing step is {_KINDS}; the part after ':' must be a number.")
    return value
