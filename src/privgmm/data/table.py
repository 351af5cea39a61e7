"""What a table is: the description by which rows are read from anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from privgmm.data.ids import id_texts, missing_ids
from privgmm.data.labels import Kind, distinct
from privgmm.data.validate import as_numpy, finite_rows, floats
from privgmm.model.columns import ABSENT, Column
from privgmm.model.labels import MISSING, label_codes, label_positions, level_codes
from privgmm.types import ClassName, Codes, Flags, Floats


@dataclass(frozen=True)
class Layout:
    """Feature columns in their order, the label column (None: unlabelled) and the class list.

    ``kind`` says what the texts of a CSV's label column stand for where the class list was read
    from them; with a stated list it stays None and labels are matched as texts. With ``drop_bad`` rows
    that have an unusable feature or no id are left out, and rows of no listed class count for nothing.
    ``person`` is the column of persons' ids; None where each row is its own person. ``order`` has features and
    label in the order of the table; ``stated`` is what a schema says of the features, if anything.
    """

    features: tuple[str, ...]
    label: str | None
    classes: tuple[ClassName, ...] = ()
    kind: Kind | None = None
    drop_bad: bool = False
    person: str | None = None
    order: tuple[str, ...] = ()
    stated: tuple[Column, ...] = ()

    @property
    def without_label(self) -> Layout:
        """The layout of the same features without label and class list."""
        return replace(self, label=None, classes=())

    @property
    def columns(self) -> list[str]:
        """All columns to read: the features, the label and the persons."""
        return [*self.features, *(name for name in (self.label, self.person) if name is not None)]

    def matrix(self, batch: Any) -> Floats:
        """(n, d) float64 in C order, so that kernels see the same layout from every source."""
        X = np.empty((batch.num_rows, len(self.features)))
        for j, column in enumerate(_by_name(batch, self.features)):
            stated = self.special.get(self.features[j])
            if stated is not None:
                X[:, j] = self.cells(stated, column)
                continue
            # The assignment itself converts float32 and integers, without a copy in between.
            X[:, j] = as_numpy(column) if _plain(column) else floats(column)
        return X

    @cached_property
    def special(self) -> dict[str, Column]:
        """By name, the columns that hold categories or missing cells."""
        return {column.name: column for column in self.stated if not column.plain}

    @property
    def numbers(self) -> tuple[str, ...]:
        """The features that are read as numbers."""
        return tuple(name for name in self.features if name not in self.categories)

    @property
    def categories(self) -> tuple[str, ...]:
        """The features that are read as texts."""
        return tuple(name for name, column in self.special.items() if column.type == "category")

    def cells(self, stated: Column, column: Any) -> Floats:
        """(n,) numbers of a column with categories or missing cells, each cell by itself.

        A level becomes its position, and a missing cell ABSENT where cells may be missing. Any other missing cell and
        a level that was not stated become NaN, which makes the row unusable.
        """
        if stated.type != "category":
            found = column if isinstance(column, np.ndarray) else floats(column)
            return np.where(np.isnan(found), ABSENT, found) if stated.missing else found
        if isinstance(column, np.ndarray):
            codes = level_codes(column, stated.levels)
        else:
            values, at = distinct(column, None, self.drop_bad)
            codes = level_codes([*values, None], stated.levels)[at]
        place = np.where(codes >= 0, codes, np.nan)
        return np.where(codes == MISSING, ABSENT, place) if stated.missing else place

    def usable(self, batch: Any) -> Floats:
        """The matrix without the rows that ``drop_bad`` leaves out."""
        X = self.matrix(batch)
        return X[self.kept(batch, X)] if self.drop_bad else X

    def kept(self, batch: Any, X: Floats | None = None) -> Flags:
        """(n,) whether a row has finite features and, where persons are protected, an id."""
        finite = finite_rows(self.matrix(batch) if X is None else X)
        return finite if self.person is None else finite & ~missing_ids(self.ids(batch))

    def ids(self, batch: Any) -> Any:
        """The id of each row's person as Arrow texts; null where there is none."""
        return id_texts(self.id_column(batch))

    def id_column(self, batch: Any) -> Any:
        """The Arrow column of the persons' ids, unchanged."""
        assert self.person is not None
        return _by_name(batch, (self.person,))[0]

    def label_column(self, batch: Any) -> Any:
        """The Arrow column of the labels; None for an unlabelled table."""
        return None if self.label is None else _by_name(batch, (self.label,))[0]

    def labels(self, batch: Any) -> tuple[list[Any], Codes]:
        """The distinct labels (None where one can be no class's name), and each row's position among them."""
        if self.label is None:
            return [], np.zeros(batch.num_rows, dtype=np.intp)
        return distinct(self.label_column(batch), self.kind, self.drop_bad)

    def codes(self, batch: Any) -> Codes:
        """(n,) position of each label in the class list, or MISSING, or UNKNOWN (``model.labels``)."""
        values, at = self.labels(batch)
        return at if self.label is None else label_codes([*values, None], self._positions)[at]

    @cached_property
    def _positions(self) -> dict[str, int]:
        """Text -> position in the class list, made once for all batches."""
        return label_positions(self.classes)


def _plain(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(column.type) or pa.types.is_integer(column.type))


def _by_name(batch: Any, names: tuple[str, ...]) -> list[Any]:
    # Columns are taken by position, because Arrow searches all names for each name that is asked for.
    at = {name: j for j, name in enumerate(batch.schema.names)}
    return [batch.column(at[name]) for name in names]
