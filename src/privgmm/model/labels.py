"""Labels as text: how a label finds its class in a stated class list, whatever the other rows say.

One rule for arrays, frames and files. Each label has one text of its own (``label_text``): a text is
itself, letter for letter (``01`` is not ``1``); a boolean is ``true`` or ``false``; an integer is its
decimal digits; a float is the digits of the integer it equals, else Python's shortest decimal. A
class takes the labels of its own text, and of the other spellings of its value (``spellings``) where
no other class of the list claims them. Names are published as stated. Nothing here looks at two
rows at once, so no row can change the type, the kind or the name of another row's class.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.checks import feature_array
from privgmm.errors import InputError
from privgmm.model.mixture import class_names
from privgmm.types import ClassName, Floats

# Codes of rows that belong to no class of the list.
MISSING = -1
UNKNOWN = -2

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BOOLEAN = {spelling: word for word in ("true", "false")
            for spelling in (word, word.capitalize(), word.upper())}  # fmt: skip
# Whole numbers in a range of so many values are counted.
_COUNTED = 1 << 16
# Beyond this floats are more than one apart, so the digits of a whole number no longer identify it.
_EXACT = 2.0**53


def label_text(value: Any) -> str | None:
    """The text by which a label is matched; None for what names no class (missing, dates, ...)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) <= _EXACT else repr(value)
    return None


def spellings(name: ClassName) -> tuple[str, ...]:
    """Texts that a class answers to: its own first, then others of the same value.

    A text that spells a number or a boolean also answers to that value in a typed column (``1.0``
    to the float 1.0), and a boolean or float to the texts that CSV files hold for it.
    """
    own = name if isinstance(name, str) else label_text(name)
    if own is None:
        raise InputError("Class names must be texts, finite numbers or booleans.")
    if isinstance(name, bool):
        return (own, own.capitalize(), own.upper())
    if isinstance(name, float):
        return (own, repr(name))
    if isinstance(name, str) and name in _BOOLEAN:
        return (own, _BOOLEAN[name])
    # A run of 16 digits or more is an identifier: as a float it would lose its last digits.
    if isinstance(name, str) and _NUMBER.fullmatch(name) and ("." in name or len(name) < 16):
        return (own, *filter(None, [label_text(float(name))]))
    return (own,)


def label_positions(classes: Sequence[ClassName]) -> dict[str, int]:
    """Text -> position in the class list; refuses a list in which one text names two classes."""
    texts = [spellings(name) for name in classes]
    own = {text[0]: k for k, text in enumerate(texts)}
    if len(own) < len(texts):
        raise InputError(
            "Class names must be distinct as texts; the class list names one of them twice."
        )
    others = Counter(word for text in texts for word in set(text[1:]) - {text[0]})
    more = {word: k for k, text in enumerate(texts) for word in text[1:] if others[word] == 1}
    return more | own


def label_codes(values: Iterable[Any], positions: dict[str, int]) -> NDArray[np.intp]:
    """The position of each label's class, or MISSING, or UNKNOWN: a lookup value by value."""
    return np.fromiter((_code(value, positions) for value in values), dtype=np.intp)


def level_codes(values: Iterable[Any], levels: Sequence[str]) -> NDArray[np.intp]:
    """The positions of the levels of a category. A level that is a number takes every spelling of it: 0 takes the cell 0.0.

    Many programs write whole numbers as floats if some cells of the column are missing.
    """
    listed, positions = list(values), label_positions(levels)
    codes = label_codes(listed, positions)
    for i in np.flatnonzero(codes == UNKNOWN):
        text = label_text(listed[i])
        if text is not None and _NUMBER.fullmatch(text) and len(text) < 16:
            codes[i] = positions.get(str(label_text(float(text))), UNKNOWN)
    return codes


def _code(value: Any, positions: dict[str, int]) -> int:
    text = label_text(value)
    if text is not None:
        return positions.get(text, UNKNOWN)
    if isinstance(value, str):  # the empty text, which a list may name
        return positions.get("", MISSING)
    return MISSING if is_missing(value) else UNKNOWN


def is_missing(value: Any) -> bool:
    """None, NaN, infinities and other values that stand for nothing (``pandas.NA``, ``NaT``)."""
    if value is None or (isinstance(value, (float, np.floating)) and not math.isfinite(value)):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def label_array(y: ArrayLike, stated: bool = False) -> NDArray[np.generic]:
    """Labels as an array; None where one is masked.

    With a ``stated`` class list the labels of a plain sequence keep their own types: NumPy would
    choose one type for all of them, and one row could change the text of another.
    """
    typed = hasattr(y, "dtype") or hasattr(y, "__array__")
    try:
        labels = np.asarray(y) if typed or not stated else np.asarray(y, dtype=object)
    except (TypeError, ValueError):
        raise InputError("Labels must be one per row, each a text, number or boolean.") from None
    if isinstance(y, np.ma.MaskedArray) and np.ma.getmaskarray(y).any():
        labels = np.array(np.ma.getdata(y), dtype=object)
        labels[np.ma.getmaskarray(y)] = None
    if labels.dtype.kind not in "biufOSUT":
        raise InputError("Labels must be texts, numbers or booleans; convert them to text first.")
    return labels


def encode_labels(
    labels: NDArray[np.generic], classes: Sequence[ClassName] | None
) -> tuple[tuple[ClassName, ...], NDArray[np.intp]]:
    """Class names and the code of each label; labels outside a given class list are refused."""
    names, codes = find_classes(labels, classes)
    if (codes == MISSING).any():
        raise InputError("The labels hold missing values; remove those rows first.")
    if (codes == UNKNOWN).any():
        raise InputError(
            "Some rows carry a label that is not in the class list; add it to the list or remove the rows."
        )
    return names, codes


def find_classes(
    labels: NDArray[np.generic], classes: Sequence[ClassName] | None
) -> tuple[tuple[ClassName, ...], NDArray[np.intp]]:
    """Class names, and per row the position of its class, or MISSING, or UNKNOWN (``model.labels``).

    Without a class list the distinct labels are the list, in the type of the array.
    """
    if classes is not None:
        names = class_names(classes)
        positions = label_positions(names)
        if labels.dtype == object or labels.ndim != 1:
            return names, label_codes(labels.ravel(), positions)
        # Each distinct value is looked up once; a row's code still depends on its own value alone.
        found, at = _distinct(labels)
        return names, label_codes(found, positions)[at]
    missing = (
        np.fromiter(map(is_missing, labels.ravel()), bool) if labels.dtype.kind in "fO" else None
    )
    if missing is not None and missing.any():
        names, codes = find_classes(labels.ravel()[~missing], None)
        spread = np.full(missing.size, MISSING, dtype=np.intp)
        spread[~missing] = codes
        return names, spread
    try:
        found, at = _distinct(labels)
    except TypeError:
        raise InputError("The labels mix types that cannot be compared; use one type.") from None
    return class_names(found), at


def _distinct(labels: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.intp]]:
    """The distinct labels in their order, and which of them each row has; small whole numbers are counted instead of sorted."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        # Beyond 2^62 a difference in 64 bits might overflow.
        if high - low < _COUNTED and max(-low, high) < 2**62:
            off = (labels.ravel().astype(np.int64) - low).astype(np.intp)
            seen = np.bincount(off) > 0
            return (np.flatnonzero(seen) + low).astype(labels.dtype), (np.cumsum(seen) - 1)[off]
    found, at = np.unique(labels, return_inverse=True)
    return found, at.reshape(-1)


def labelled_arrays(
    X: ArrayLike, y: ArrayLike, classes: Sequence[ClassName] | None
) -> tuple[Floats, NDArray[np.intp], tuple[ClassName, ...]]:
    """Check features and labels; return (X float64, codes into the class list, class list)."""
    x = feature_array(X)
    labels = label_array(y, stated=classes is not None)
    if labels.shape != (x.shape[0],):
        raise InputError(
            f"Labels must be one per row: {x.shape[0]} rows, labels of shape {labels.shape}."
        )
    names, codes = encode_labels(labels, classes)
    return x, codes, names
