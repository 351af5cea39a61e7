"""Fitting steps to features. Free at label level, where features are public; private elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.model.fitting import feature_array
from privgmm.model.mixture import Floats
from privgmm.transform.log import Log
from privgmm.transform.pca import Pca
from privgmm.transform.standardise import Standardise
from privgmm.transform.step import Step

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


def fit_chain(specs: Sequence[str], X: ArrayLike) -> tuple[tuple[Step, ...], Floats]:
    """Steps such as ("log", "standardise", "pca:5"), each fitted to the rows after the one before.

    Returns the steps and the preprocessed rows.
    """
    if isinstance(specs, str):
        raise InputError(f"Give the steps as a list; each is {_KINDS}.")
    rows = feature_array(X)
    steps: list[Step] = []
    for spec in specs:
        kind, _, argument = str(spec).partition(":")
        if kind == "log" and argument:
            step: Step = Log(_number(argument))
        elif kind == "pca":
            count = _number(argument)
            step = fit_label_level(kind, rows, int(count) if count == int(count) else 0)
        elif argument:
            raise InputError(f"A preprocessing step is {_KINDS}, got {spec!r}.")
        else:
            step = fit_label_level(kind, rows)
        rows = step.apply(rows)
        steps.append(step)
    return tuple(steps), rows


def _standardise(x: Floats) -> Standardise:
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = x.mean(axis=0), x.std(axis=0)
    _refuse_overflow(mean, scale)
    constant = np.flatnonzero(scale == 0)
    if constant.size:
        raise InputError(
            f"Columns {[int(j) for j in constant[:10]]} are constant and cannot be standardised; "
            "leave them out."
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
    # Eigenvectors have no sign of their own: fix one, so that equal features give equal files.
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
