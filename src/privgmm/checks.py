"""Arguments of the Python interface that must be plain numbers or texts, whatever was given."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.errors import InputError

# More rows than any disk holds; NumPy's own limit on sizes lies not far beyond.
MOST_ROWS = 10**15


def real(value: object, what: str) -> float:
    """A real number as a float (NaN and infinity included); all else is refused."""
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise InputError(f"{what} must be a number.")


def numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """A float64 array of its own; what is no array of real numbers is refused without quoting it."""
    try:
        given = np.asarray(values)
        # NumPy would drop imaginary parts and read dates as counts.
        if given.dtype.kind not in "biufO":
            raise TypeError
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be arrays of real numbers.") from None


def whole(value: object, what: str, at_least: int = 1, at_most: int | None = None) -> int:
    """A whole number in a range; a boolean is none."""
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
    """Whether a text can be written to a file at all: lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
