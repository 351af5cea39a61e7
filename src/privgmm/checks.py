"""Checks of arguments of the Python interface: a plain number, a whole number, an array of features; anything else is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privgmm.errors import InputError
from privgmm.types import Floats

# More rows than any disk holds; NumPy's own limit on sizes is not much larger.
MOST_ROWS = 10**15


def real(value: object, what: str) -> float:
    """A real number as a float (NaN and infinity included); anything else is refused."""
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise InputError(f"{what} must be a number.")


def numbers(values: ArrayLike, what: str) -> Floats:
    """The values as a new float64 array; what is no array of real numbers is refused without quoting it."""
    try:
        given = np.asarray(values)
        # NumPy would drop imaginary parts and read dates as counts.
        if given.dtype.kind not in "biufO":
            raise TypeError
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be arrays of real numbers.") from None


def whole(value: object, what: str, at_least: int = 1, at_most: int | None = None) -> int:
    """A whole number in a range; a boolean is refused, although Python counts it as a number."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if number >= at_least and (at_most is None or number <= at_most):
            return number
    limit = "" if at_most is None else f" and at most {at_most:,}"
    raise InputError(f"{what} must be a whole number of at least {at_least}{limit}.")


def checked_seed(seed: object) -> int | None:
    """None (the system's entropy) or a whole number of at least zero."""
    return None if seed is None else whole(seed, "A seed", at_least=0)


def checked_count(n: object) -> int:
    """A number of rows to draw."""
    return whole(n, "The number of rows to sample", at_least=0, at_most=MOST_ROWS)


def utf8(text: str) -> bool:
    """Whether a text can be encoded as UTF-8, and so written to a file: lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def feature_array(X: ArrayLike, at_least: int = 1) -> Floats:
    """X as a finite (n, d) float64 array with at least ``at_least`` rows, or one sentence on what is wrong with it."""
    try:
        given = np.asarray(_unmasked(X))
        # NumPy would drop imaginary parts and read dates as counts of nanoseconds.
        if given.dtype.kind not in "biufO":
            raise TypeError
        x = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "Features must be numbers; choose numeric columns or encode the others first."
        ) from None
    if x.ndim != 2 or x.shape[0] < at_least or x.shape[1] < 1:
        raise InputError(f"Features must be a table with rows and columns, got shape {x.shape}.")
    bad = np.flatnonzero(~np.isfinite(x).all(axis=0))
    if bad.size:
        raise InputError(
            f"Feature columns {bad.tolist()} hold missing or infinite values; "
            "remove or impute those rows first."
        )
    return x


def _unmasked(X: ArrayLike) -> ArrayLike:
    """A masked array with NaN in its masked cells: NumPy's own conversion would use the numbers under the mask."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    return X


def by_name(X: Any, names: Sequence[str]) -> Any:
    """Rows with the columns ``names``, in that order; those of a frame are found by name, whatever their order.

    An array has no names, so its columns go by position; so do those of a frame if the frame, or the model, has
    only numbers for names. A frame that lacks a column is refused; its further columns are not used.
    """
    if isinstance(X, (np.ndarray, list, tuple)):
        return X
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    given = {str(column): column for column in frame.columns}
    missing = [name for name in names if name not in given]
    if not missing:
        return frame.select([given[name] for name in names]).to_numpy()
    numbered = tuple(names) == tuple(f"x{j}" for j in range(len(names)))
    if numbered or all(isinstance(column, int) for column in frame.columns):
        return frame.to_numpy()
    more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
    raise InputError(
        f"The rows lack columns of the model: {', '.join(map(repr, missing[:10]))}{more}; "
        "give a table with all of its columns, in any order."
    )
