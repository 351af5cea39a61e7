"""The one validator of rows: cells that are no finite numbers and labels of no class are counted per column, and never shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privgmm.data.names import shown
from privgmm.data.region import LARGEST
from privgmm.errors import ColumnsError, InputError
from privgmm.model.columns import ABSENT
from privgmm.model.labels import MISSING, UNKNOWN
from privgmm.types import Codes, Floats, Integers

_LISTED = 10


def number_type(type_: Any) -> bool:
    """Whether an Arrow type can be read as numbers: booleans count as 0 and 1, and a null column has missing cells only."""
    import pyarrow as pa

    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_null(type_)
    )


def refuse_text(names: list[str], where: str) -> None:
    """Refuse features that hold no numbers, by their names."""
    if names:
        noun = "Column" if len(names) == 1 else "Columns"
        verb = "is" if len(names) == 1 else "are"
        raise InputError(
            f"{noun} {shown(names)} of {where} {verb} not numeric; "
            "leave out such columns with --columns (columns=[...]) or in a schema, or encode them as numbers."
        )


def floats(column: Any) -> Floats:
    """A numeric Arrow column as float64, nulls as NaN."""
    import pyarrow as pa

    # safe=False: integers beyond 2^53 are rounded, as every float column would be.
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def as_numpy(column: Any) -> NDArray[Any]:
    """A numeric Arrow column as an array, nulls as NaN; without nulls pandas, which takes time to load, is not needed."""
    if column.null_count == 0:
        return np.from_dlpack(column)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def refuse_overflowing(chunks: Iterable[Floats], names: tuple[str, ...]) -> None:
    """Refuse public features whose squares overflow; missing cells do not matter here."""
    for rows in chunks:
        there = rows != ABSENT
        far = np.flatnonzero(np.abs(rows).max(axis=0, initial=0.0, where=there) > LARGEST)
        if far.size:
            problem = ColumnsError(
                f"Column {{columns}} holds values beyond {LARGEST:g}; rescale it first.",
                far.tolist(),
            )
            raise problem.named(names) if names else problem


def finite_rows(X: Floats) -> NDArray[np.bool_]:
    """(n,) whether all cells of a row are finite numbers."""
    return np.asarray(np.isfinite(X).all(axis=1))


@dataclass(frozen=True, eq=False)
class Unusable:
    """Counts of cells that cannot be used; those of disjoint parts of a table add up.

    missing, infinite : (d,) cells per feature
    label_missing, label_unknown : rows without a label, and with one outside the class list
    person_missing : rows that belong to nobody
    """

    missing: Integers
    infinite: Integers
    label_missing: int = 0
    label_unknown: int = 0
    person_missing: int = 0

    def __add__(self, other: Unusable) -> Unusable:
        return Unusable(
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.label_missing + other.label_missing,
            self.label_unknown + other.label_unknown,
            self.person_missing + other.person_missing,
        )

    def of_labels(self, missing: int) -> Unusable:
        """The same counts with ``missing`` rows without a label."""
        none = np.zeros_like(self.missing)
        return Unusable(none, none, missing)

    def of_persons(self, missing: int) -> Unusable:
        """The same counts with ``missing`` rows that belong to nobody."""
        none = np.zeros_like(self.missing)
        return Unusable(none, none, person_missing=missing)

    @property
    def any(self) -> bool:
        """Whether there is such a cell."""
        bad = self.label_missing or self.label_unknown or self.person_missing
        return bool(bad or self.missing.any() or self.infinite.any())

    def refuse(
        self, features: tuple[str, ...], label: str | None, where: str, person: str | None = None
    ) -> None:
        """One sentence with the counts per column, if there is anything to refuse."""
        words = [f"{name} ({text})" for name, text in self._described(features, label)]
        if self.person_missing:
            name = "persons" if person is None else shown([person])
            words.insert(0, f"{name} ({self.person_missing} missing)")
        if words:
            more = f" and {len(words) - _LISTED} more columns" if len(words) > _LISTED else ""
            stated = "state missing = true for such columns in a schema, "
            raise InputError(
                f"{where} has unusable cells: {', '.join(words[:_LISTED])}{more}; "
                f"{stated if self.missing.any() else ''}fill them in or remove those rows, or let such rows count "
                "for nothing with --on-bad-row drop (on_bad_row='drop')."
            )
        if self.label_unknown:
            raise InputError(
                f"{self.label_unknown} rows carry a label that is not in the class list; add every class that "
                "may occur to the list, or let such rows count for nothing with --on-bad-row drop "
                "(on_bad_row='drop')."
            )

    def _described(self, features: tuple[str, ...], label: str | None) -> Iterator[tuple[str, str]]:
        if self.label_missing:
            name = "labels" if label is None else shown([label])
            yield name, f"{self.label_missing} missing"
        for name, missing, infinite in zip(
            features, self.missing.tolist(), self.infinite.tolist(), strict=True
        ):
            counts = [f"{missing} missing"] * bool(missing)
            counts += [f"{infinite} infinite"] * bool(infinite)
            if counts:
                yield shown([name]), ", ".join(counts)


def unusable(X: Floats, codes: Codes | None = None) -> Unusable:
    """Counts of the unusable cells of some rows; labels are counted only if ``codes`` are given."""
    without = unknown = 0
    if codes is not None and codes.size and codes.min() < 0:
        without = int(np.count_nonzero(codes == MISSING))
        unknown = int(np.count_nonzero(codes == UNKNOWN))
    # A finite sum proves that every cell is finite; an infinite one may be mere overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            none = np.zeros(X.shape[1], dtype=np.int64)
            return Unusable(none, none, without, unknown)
    missing, infinite = np.isnan(X), np.isinf(X)
    return Unusable(
        missing.sum(axis=0, dtype=np.int64), infinite.sum(axis=0, dtype=np.int64), without, unknown
    )
