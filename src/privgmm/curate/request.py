"""The request for a release: every option once, with its default, its meaning and its check, and what a schema adds to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privgmm.checks import checked_seed, real
from privgmm.data.passes import Progress, no_progress
from privgmm.errors import InputError
from privgmm.ledger import Charge
from privgmm.model.columns import Column
from privgmm.model.mixture import class_names
from privgmm.model.schema import Schema, schema_of
from privgmm.privacy.accounting import check_epsilon_delta
from privgmm.proven.mixtures import MOST, Wanted
from privgmm.proven.objective import Objective
from privgmm.transform import Step
from privgmm.types import ClassName, Stage, Unit

MechanismName = Literal["proven", "published"]
# "add" and "remove" alone belong to the published method, which treats them separately.
RecordAdjacency = Literal["replace", "add-remove", "add", "remove"]

# How a refusal calls an option, and the words that the option may have.
_WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "unit": ("The unit", ("label", "record")),
    "mechanism": ("The mechanism", ("proven", "published")),
    "objective": ("The objective", ("balanced", "paper")),
    "on_bad_row": ("What becomes of a bad row", ("refuse", "drop")),
    "count": ("What counts", ("persons", "rows")),
}


# No repr: it would show private rows.
@dataclass(frozen=True, eq=False, repr=False)
class ReleaseRequest:
    """A request for a release, as ``privgmm.release``, the estimator and the command line make it.

    Parameters
    ----------
    X : (n, d) features; or the path of a CSV or Parquet file or folder, or a Dask collection, which
        are passed over in chunks and may be larger than memory.
    y : (n,) labels; None with ``unit="record"`` and ``n_components=K`` for unlabelled rows.
    unit : "label" protects each row's label (features are public); "record" protects whole rows.
    bounds, radius, center : where rows may lie, stated by you and never read from the data (record
        level): per-column ranges ``(lo, hi)``, a dict ``{column: (lo, hi)}`` or a list of such
        pairs; or a ball. Rows outside are clipped into it.
    classes : the public class list, published as stated; labels are matched to it as texts, 1 and
        "1" and 1.0 alike, "01" apart (``privgmm.model.labels``). When omitted it is read from the
        labels, which leaks: a PrivacyLeakWarning says so and the release is not publishable.
    mechanism : "proven", or "published" for the paper's method, whose guarantee is not proven.
    adjacency : record level: "replace" one row by another, or "add-remove" one row. The published
        method has "replace" (of a row's features), "add" and "remove" apart.
    seed : for experiments only; a seeded release is stamped not publishable.
    n_components : how many components to fit to unlabelled rows; the published method labels them by
        K-means first, as the paper does.
    label, columns : the label column and the feature columns of a file or frame.
    preprocessing : steps such as "log", "standardise", "pca:5", or step objects of
        ``privgmm.transform``; at record level their parameters must be public or paid for.
    preprocessing_share : the part of the budget (of mu squared) that a paid step takes.
    objective : "balanced" releases the shapes that are expected to be closest to the fitted ones in both
        directions of KL, with the noisy class frequencies; "paper" minimises KL(released || fitted)
        alone, in which a class whose shape the noise hides counts less.
    components_per_class : how many Gaussians each class of ``Release.model`` has, or "auto": as many as rows
        and noise carry (docs/components.md). ``Release.mixture`` stays one Gaussian per class, with
        exactly the mean and covariance of the whole class.
    published : options of the published method: smoothing, method, scalable, neighbours, eqr5
        (see ``privgmm.published.Options``).
    feature_names, label_name : names to publish; by default those of the file or frame.
    ledger : a ledger file to charge; it is charged after all checks and before noise is drawn.
    note : a text for the ledger, e.g. what the release is for.
    ledger_table : how the ledger is to call this table. Needed only where the ledger is about a table
        with other column names, classes or bounds; both then count against the same budget.
    client : a ``dask.distributed`` client whose workers do the passes.
    progress : called with a number of rows whenever a chunk of a streamed table was passed over.
    on_bad_row : "refuse" a table with missing cells, cells that are no numbers or labels outside the
        class list: whoever makes the release sees the refusal, which the guarantee does not
        cover. "drop" lets such rows contribute nothing, which it does cover (docs/units.md).
    schema : label, classes, columns and their ranges in one statement: a ``privgmm.Schema``, or the path of
        a schema file (docs/schema.md). What it states need not be given again.
    person : the column that says whose row it is, where a person may have several; beside an array, one id
        per row. All rows of a person are then protected together, at either unit (docs/persons.md).
    count : "persons": each person counts once, however many rows there are. "rows": each row counts, at
        most ``max_rows`` of a person, chosen by a fixed hash of the features.
    stage : called with what is being done and the part of the budget that is spent by then, 0 to 1.
    diagnose : called, before anything is spent, with sentences on what the stated bounds clip: exact,
        private numbers for the holder's eyes, which are in no release.
    """

    X: Any
    y: ArrayLike | None = None
    epsilon: float = 1.0
    delta: float = 1e-5
    unit: Unit = "label"
    bounds: Any = None
    radius: float | None = None
    center: ArrayLike | None = None
    classes: Sequence[ClassName] | None = None
    mechanism: MechanismName = "proven"
    adjacency: RecordAdjacency = "replace"
    seed: int | None = None
    _: KW_ONLY
    n_components: int | None = None
    label: str | None = None
    columns: Sequence[str] | None = None
    preprocessing: Sequence[str | Step] = ()
    preprocessing_share: float = 0.1
    objective: Objective = "balanced"
    components_per_class: Wanted = 1
    published: Mapping[str, Any] | None = None
    feature_names: Sequence[str] = ()
    label_name: str | None = None
    ledger: str | os.PathLike[str] | Charge | None = None
    note: str = ""
    ledger_table: str | None = None
    client: Any = None
    progress: Progress = no_progress
    on_bad_row: Literal["refuse", "drop"] = "refuse"
    schema: Schema | str | os.PathLike[str] | None = None
    person: Any = None
    count: Literal["persons", "rows"] = "persons"
    max_rows: int | None = None
    stage: Stage | None = None
    diagnose: Callable[[tuple[str, ...]], None] | None = None

    def __post_init__(self) -> None:
        # Checked here is what can be checked without the table.
        check_epsilon_delta(self.epsilon, self.delta)
        # As floats, so that 2 and 2.0 are one budget and give the same document.
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))
        for name, (called, words) in _WORDS.items():
            if (value := getattr(self, name)) not in words:
                choices = " or ".join(repr(word) for word in words)
                raise InputError(f"{called} must be {choices}, got {value!r}.")
        if self.mechanism == "proven":
            if self.adjacency not in ("replace", "add-remove"):
                raise InputError(
                    f"The adjacency must be 'replace' or 'add-remove', got {self.adjacency!r}."
                )
            if self.published:
                raise InputError("Options of the published method go with mechanism='published'.")
        elif self.adjacency not in ("replace", "add-remove", "add", "remove"):
            raise InputError(
                "The adjacency of the published method must be 'replace', 'add' or 'remove', got "
                f"{self.adjacency!r}."
            )
        checked_seed(self.seed)
        if not 0 < real(self.preprocessing_share, "The share for preprocessing") < 1:
            raise InputError(
                "The share of the budget for preprocessing must lie strictly between 0 and 1, "
                f"got {self.preprocessing_share}."
            )
        wanted = self.components_per_class
        if wanted != "auto" and not (type(wanted) is int and 1 <= wanted <= MOST):
            raise InputError(
                f"Components per class must be a whole number from 1 to {MOST} or 'auto', got {wanted!r}."
            )
        if wanted != 1 and self.mechanism == "published":
            raise InputError(
                "The published method has one component per class; use mechanism='proven'."
            )


@dataclass(frozen=True)
class Statement:
    """A table as stated: names of its label, person and features, classes and bounds.

    ``columns`` is what a schema says of the features, empty without one. ``bounds`` is as
    ``privgmm.release`` takes it.
    """

    label: str | None = None
    classes: Sequence[ClassName] | None = None
    names: Sequence[str] | None = None
    bounds: Any = None
    person: str | None = None
    columns: tuple[Column, ...] = ()


def stated(asked: ReleaseRequest) -> Statement:
    """What is stated of the table by a request and by its schema together.

    At record level every number needs a range, unless a ball is stated; a missing one is asked for
    by name.
    """
    person = asked.person if isinstance(asked.person, str) else None
    if asked.schema is None:
        return Statement(asked.label, asked.classes, asked.columns, asked.bounds, person)
    known = schema_of(asked.schema)
    bounds = asked.bounds
    if bounds is not None and any(column.lo is not None for column in known.columns):
        raise InputError("The schema states bounds already; state them there or apart, not both.")
    classes = None if asked.classes is None else class_names(asked.classes)
    names = asked.columns and tuple(asked.columns)
    if bounds is None and asked.radius is None and asked.unit == "record" and known.columns:
        bounds = _bounds(known)
    return Statement(
        _once("label columns", known.label, asked.label),
        _once("classes", known.classes, classes),
        _once("feature columns", known.names or None, names),
        bounds,
        _once("person columns", known.person, person),
        known.columns,
    )


def stated_columns(
    columns: tuple[Column, ...], names: Sequence[str], bounds: Any
) -> tuple[Column, ...]:
    """What is stated of every feature: the schema's columns, or else numbers in the stated ``bounds`` (a pair or None)."""
    if columns:
        return columns
    if bounds is None:
        return tuple(Column(name) for name in names)
    lows, highs = (np.broadcast_to(np.asarray(side, float), (len(names),)) for side in bounds)
    return tuple(
        Column(name, "number", float(lo), float(hi))
        for name, lo, hi in zip(names, lows, highs, strict=True)
    )


def _once(what: str, there: Any, here: Any) -> Any:
    """A fact that the schema or an argument states; where both state it they must agree."""
    if there is not None and here is not None and there != here:
        raise InputError(
            f"The schema and the arguments state different {what}; change one, or leave one out."
        )
    return there if here is None else here


def _bounds(schema: Schema) -> tuple[list[float], list[float]]:
    numbers = [column for column in schema.columns if column.type != "category"]
    open_ = [repr(column.name) for column in numbers if column.lo is None]
    if open_:
        listed = ", ".join(open_[:10]) + (f" and {len(open_) - 10} more" if len(open_) > 10 else "")
        raise InputError(
            f"State lo and hi of {listed} in the schema, where values may lie by what is known about such "
            "tables; or state a radius instead of ranges."
        )
    # A category is read as the positions of its levels.
    pairs = [
        (c.lo or 0.0, c.hi if c.hi is not None else float(len(c.levels))) for c in schema.columns
    ]
    return [lo for lo, _ in pairs], [hi for _, hi in pairs]
