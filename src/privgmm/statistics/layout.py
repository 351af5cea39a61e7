"""From Arrow batches to (X, codes): which columns are features, and the code of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privgmm.errors import InputError
from privgmm.frames.labels import Kind, label_array
from privgmm.frames.screen import floats
from privgmm.model.mixture import ClassName
from privgmm.statistics.source import Codes, Floats

# Codes of rows that cannot be used.
MISSING = -1
UNKNOWN = -2


@dataclass(frozen=True)
class Layout:
    """Feature columns in their order, the label column (None: unlabelled) and the class list.

    ``kind`` says what the texts of a CSV's label column stand for.
    """

    features: tuple[str, ...]
    label: str | None
    classes: tuple[ClassName, ...] = ()
    kind: Kind | None = None

    @property
    def columns(self) -> list[str]:
        return [*self.features] + ([] if self.label is None else [self.label])

    def matrix(self, batch: Any) -> Floats:
        """(n, d) float64 in C order, so that kernels see the same layout from every source."""
        X = np.empty((batch.num_rows, len(self.features)))
        for j, column in enumerate(_by_name(batch, self.features)):
            # Assigning widens float32 and integers on the way, without a copy in between.
            X[:, j] = column.to_numpy(zero_copy_only=False) if _plain(column) else floats(column)
        return X

    def codes(self, batch: Any) -> Codes:
        """(n,) position of each label in the class list, or MISSING, or UNKNOWN."""
        if self.label is None:
            return np.zeros(batch.num_rows, dtype=np.intp)
        values, at = distinct(_by_name(batch, (self.label,))[0], self.kind)
        position = {name: k for k, name in enumerate(self.classes)}
        lookup = [MISSING if v is None else position.get(v, UNKNOWN) for v in values]
        return np.array([*lookup, MISSING], dtype=np.intp)[at]

    def labels(self, batch: Any) -> tuple[frozenset[ClassName], int]:
        """The distinct labels of a batch, and how many rows have none."""
        if self.label is None:
            return frozenset(), 0
        values, at = distinct(_by_name(batch, (self.label,))[0], self.kind)
        none = np.array([v is None for v in values] + [True])
        return frozenset(v for v in values if v is not None), int(np.count_nonzero(none[at]))


def distinct(column: Any, kind: Kind | None) -> tuple[list[Any], Codes]:
    """Distinct labels (None: no class's name) and each row's position; one past the end is null."""
    import pyarrow as pa

    if isinstance(column, pa.DictionaryArray) and not column.dictionary.null_count:
        encoded = column
    else:
        plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
        encoded = plain.dictionary_encode()
    words = encoded.dictionary
    try:
        named = [not _no_name(word) for word in words.to_pylist()]
    except UnicodeDecodeError:
        raise InputError("The labels hold text that is not UTF-8; save them as UTF-8.") from None
    names = iter(label_array(words.filter(pa.array(named, pa.bool_())), kind).tolist())
    values = [next(names) if usable else None for usable in named]
    at = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return values, at.astype(np.intp)


def _no_name(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and not np.isfinite(value))


def _plain(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(column.type) or pa.types.is_integer(column.type))


def _by_name(batch: Any, names: tuple[str, ...]) -> list[Any]:
    # By position: Arrow looks a name up by going through all of them.
    at = {name: j for j, name in enumerate(batch.schema.names)}
    return [batch.column(at[name]) for name in names]
