"""What a release is asked for, checked before anything is spent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privgmm.checks import checked_seed, real, whole
from privgmm.data import ArraySource, Source
from privgmm.data.opening import Opened
from privgmm.data.region import LARGEST, stated_region
from privgmm.errors import CautionWarning, ColumnsError, InputError, PrivacyLeakWarning
from privgmm.model.columns import ABSENT, Column, Encoding
from privgmm.model.components import ComponentMixture
from privgmm.model.margins import Margins
from privgmm.model.mixture import Mixture
from privgmm.model.uncertainty import Errors
from privgmm.privacy.accounting import check_epsilon_delta
from privgmm.proven.components import MOST, Wanted
from privgmm.proven.objective import Objective
from privgmm.releases.guarantee import Guarantee
from privgmm.transform import Step, check_origins
from privgmm.transform.fit import check_wanted
from privgmm.transform.prepare import Prepared, check_record_steps, prepare
from privgmm.types import Adjacency, ClassName, PersonUnit, Stage, Unit, no_stage

# A mechanism that publishes each row with probability delta is (0, delta)-private, and publishes
# N delta rows on average: the usual advice is delta << 1/N, and a tenth is the least of "far below".
RISKY = 0.1
_LONGEST_NAME = 120
# Whole numbers of at least this size are not all doubles (RFC 8785, section 3.2.2.3).
_EXACT = 2**53

MechanismName = Literal["proven", "published"]
# "add" and "remove" alone are of the published method, which treats them apart.
RecordAdjacency = Literal["replace", "add-remove", "add", "remove"]


@dataclass(frozen=True, eq=False)
class Request:
    """Rows and wishes. ``stated`` holds bounds, or radius and center, as the user gave them."""

    rows: Opened
    labelled: bool
    epsilon: float
    delta: float
    unit: Unit
    record_adjacency: RecordAdjacency
    stated: dict[str, Any]
    preprocessing: tuple[str | Step, ...]
    preprocessing_share: float
    objective: Objective
    seed: int | None
    drop_bad: bool = False
    components_per_class: Wanted = 1
    mechanism: MechanismName = "proven"
    published: Mapping[str, Any] = field(default_factory=dict)
    # The features as stated.
    columns: tuple[Column, ...] = ()
    # At label level the preprocessed rows, a function of public features, made before anything is paid.
    prepared: Prepared | None = None
    # Whose rows are protected together; None where every row is its own.
    person: PersonUnit | None = None
    # Told what is being done, for whoever waits.
    stage: Stage = no_stage

    @property
    def source(self) -> Source:
        """The rows, to be added up."""
        return self.rows.source

    @property
    def classes(self) -> tuple[ClassName, ...]:
        """Class names as published."""
        return self.rows.classes

    @property
    def adjacency(self) -> Adjacency:
        """Which tables are neighbours: at label level always the flip of one label."""
        if self.unit == "label":
            return "label"
        return "replace" if self.record_adjacency == "replace" else "add-remove"

    @property
    def public_units(self) -> int | None:
        """The number of rows or persons that count, if public.

        Under add-remove it is protected. Under replace the public number counts the dropped ones
        too, and how many of them count is protected; so is the number of rows where persons are
        exchanged. At label level who and what is usable is a function of the public features.
        """
        counts_rows = self.person is not None and self.person.max_rows is not None
        if self.adjacency == "add-remove":
            return None
        if self.unit == "record" and (self.drop_bad or counts_rows):
            return None
        return self.source.n_units

    @property
    def in_memory(self) -> ArraySource:
        """The rows as arrays, loaded before the request was checked."""
        if not isinstance(self.source, ArraySource):
            raise InputError("Preprocessing needs the table in memory; give its arrays.")
        return self.source


class Made(NamedTuple):
    """What a mechanism made of a request: the mixture, its statement, the preprocessing that belongs to it, how far
    off it may be, the components of its classes, and the shapes of its columns."""

    mixture: Mixture
    guarantee: Guarantee
    preprocessing: tuple[Step, ...]
    errors: Errors | None = None
    components: ComponentMixture | None = None
    margins: Margins | None = None
    encoding: Encoding | None = None


def checked(request: Request) -> Request:
    """The request, or one sentence on what is wrong with it."""
    check_epsilon_delta(request.epsilon, request.delta)
    if request.unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {request.unit!r}.")
    if request.mechanism == "proven":
        if request.record_adjacency not in ("replace", "add-remove"):
            raise InputError(
                f"The adjacency must be 'replace' or 'add-remove', got {request.record_adjacency!r}."
            )
        if request.published:
            raise InputError("Options of the published method go with mechanism='published'.")
    elif request.record_adjacency not in ("replace", "add-remove", "add", "remove"):
        raise InputError(
            "The adjacency of the published method must be 'replace', 'add' or 'remove', got "
            f"{request.record_adjacency!r}."
        )
    if request.objective not in ("balanced", "paper"):
        raise InputError(f"The objective must be 'balanced' or 'paper', got {request.objective!r}.")
    checked_seed(request.seed)
    special = [column.name for column in request.columns if not column.plain]
    if special and (
        request.mechanism != "proven"
        or request.preprocessing
        or not request.labelled
        or request.stated["radius"] is not None
    ):
        raise InputError(
            f"The column {special[0]!r} holds categories or missing cells, which a proven release of labelled rows "
            'can hold, at record level with stated ranges, without preprocessing; or set type = "drop".'
        )
    if special and request.components_per_class != 1:
        raise InputError(
            f"The column {special[0]!r} holds categories or missing cells, of which every class has one component; "
            'leave components_per_class at 1, or set type = "drop".'
        )
    _check_names(request)
    _check_components(request)
    steps = check_wanted(request.preprocessing)
    check_origins([step for step in steps if not isinstance(step, str)], request.unit)
    if not 0 < real(request.preprocessing_share, "The share for preprocessing") < 1:
        raise InputError(
            "The share of the budget for preprocessing must lie strictly between 0 and 1, "
            f"got {request.preprocessing_share}."
        )
    if request.unit == "label" and len(request.classes) < 2:
        raise InputError(
            "Protecting labels needs at least two classes; state the class list, "
            "or use unit='record' to protect whole rows of one class."
        )
    n_units = request.public_units
    if n_units == 0:
        raise InputError("The table has no usable rows; give a table with data.")
    if request.unit == "record":
        stated_region(request.source.dim, **request.stated)
        check_record_steps(steps, request.source.dim, **request.stated)
    else:
        _refuse_overflowing(request)
        stated = any(value is not None for value in request.stated.values())
        if stated and not request.published.get("scalable"):
            _caution(
                "Bounds, radius and center are not used at label level, where features are public."
            )
    warn_of_delta(request, n_units)
    if request.rows.classes_from_data:
        warnings.warn(
            "The class list was read from the private labels; state it with classes=... "
            "because which classes occur can itself be private.",
            PrivacyLeakWarning,
            stacklevel=4,
        )
    request.rows.check()
    if request.unit == "label" and steps:
        return replace(
            request,
            prepared=prepare(steps, request.in_memory.X, "label", names=request.rows.feature_names),
        )
    return request


def _check_names(request: Request) -> None:
    """A release file is read by other languages too, whose numbers hold whole ones up to 2^53 exactly."""
    if any(type(name) is int and abs(name) >= _EXACT for name in request.classes):
        raise InputError("Class names beyond 2^53 must be texts; state the class list as texts.")


def _check_components(request: Request) -> None:
    wanted = request.components_per_class
    if wanted != "auto" and not (type(wanted) is int and 1 <= wanted <= MOST):
        raise InputError(
            f"Components per class must be a whole number from 1 to {MOST} or 'auto', got {wanted!r}."
        )
    if wanted == 1:
        return
    if request.mechanism == "published":
        raise InputError(
            "The published method has one component per class; use mechanism='proven'."
        )
    if not request.labelled:
        raise InputError(
            "Components per class need classes; rows without labels have n_components instead."
        )


def warn_of_delta(request: Request, n_units: float | None) -> None:
    """delta is the probability of any failure, a full disclosure of one row too: N delta is to be small.

    ``n_units``, the number of rows or persons, is public or noisy; None where it is neither (yet).
    """
    if n_units is not None and request.delta * n_units > RISKY:
        one, many = ("row", "rows") if request.person is None else ("person", "persons")
        _caution(
            f"Delta {request.delta:g} is not far below one over the number of {many}; a mechanism "
            f"that gives away a random {one} could meet it, so choose a smaller delta."
        )


def _caution(sentence: str) -> None:
    # From here to the caller of privgmm.release.
    warnings.warn(sentence, CautionWarning, stacklevel=5)


def _refuse_overflowing(request: Request) -> None:
    """Features are public here, so their size may be told; squares of larger ones are not numbers."""
    for rows in request.rows.features.chunks():
        there = rows != ABSENT
        far = np.flatnonzero(np.abs(rows).max(axis=0, initial=0.0, where=there) > LARGEST)
        if far.size:
            problem = ColumnsError(
                f"Column {{columns}} holds values beyond {LARGEST:g}; rescale it first.",
                far.tolist(),
            )
            names = request.rows.feature_names
            raise problem.named(names) if names else problem


# Shares of rows are multiples of 2^-20 (``privacy.curator``): of more rows each would count for nothing.
_MOST_ROWS = 1 << 20


def person_unit(
    person: Any, count: str, max_rows: int | None
) -> tuple[PersonUnit | None, NDArray[Any] | None]:
    """Whose rows are protected together, and one id per row where they are no column of the table."""
    if count not in ("persons", "rows"):
        raise InputError(f"What counts must be 'persons' or 'rows', got {count!r}.")
    if person is None:
        if count == "rows" or max_rows is not None:
            raise InputError(
                "Counting rows of persons needs the column of persons; name it as person."
            )
        return None, None
    if (count == "rows") != (max_rows is not None):
        raise InputError(
            "State the most rows of a person that may count (max_rows) with count='rows', and only then."
        )
    most = (
        None
        if max_rows is None
        else whole(max_rows, "The most rows of a person", at_most=_MOST_ROWS)
    )
    given = isinstance(person, str)
    name = person if given else getattr(person, "name", None)
    # The column's name stands in sentences of the statement.
    name = "person" if not given and not isinstance(name, str) else str(name)
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise InputError("The column of persons has a name that cannot be printed; rename it.")
    return PersonUnit(name, most), None if given else person


def feature_names_of(rows: Opened, given: Sequence[str]) -> tuple[str, ...]:
    """Names stated by the caller, else those of the file or frame."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError("The feature names must be a list of texts.")
    return tuple(given) or rows.feature_names
