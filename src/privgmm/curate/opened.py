"""A request whose table is open: checked against its rows before anything is spent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from privgmm.checks import whole
from privgmm.curate.request import ReleaseRequest, stated, stated_columns
from privgmm.data import ArraySource, Source
from privgmm.data.opening import IN_MEMORY_BYTES, Opened, open_rows
from privgmm.data.region import Region, as_pair, stated_region
from privgmm.errors import CautionWarning, InputError, PrivacyLeakWarning
from privgmm.model.columns import Column, Encoding
from privgmm.model.components import ComponentMixture
from privgmm.model.margins import Margins
from privgmm.model.mixture import Mixture
from privgmm.model.uncertainty import Errors
from privgmm.releases.guarantee import Guarantee
from privgmm.transform import Step, check_origins
from privgmm.transform.fit import check_wanted
from privgmm.transform.prepare import Prepared, check_record_steps, prepare
from privgmm.types import Adjacency, ClassName, PersonUnit, Unit

# A mechanism that publishes each row with probability delta is (0, delta)-private, and publishes
# N delta rows on average. The usual advice is therefore delta << 1/N; from N delta = 0.1 on we warn.
RISKY = 0.1
_LONGEST_NAME = 120
# Whole numbers of at least this size are not all doubles (RFC 8785, section 3.2.2.3).
_EXACT = 2**53
# Shares of rows are multiples of 2^-20 (``privacy.curator``): each row of a person with more rows would count for nothing.
_MOST_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class OpenedRequest:
    """A request together with its rows.

    asked : the options as they were given
    rows : the table, open
    stated : bounds, or radius and center, in the order of the columns
    steps : preprocessing that is wanted
    columns : the features as stated
    labelled : whether rows have labels
    plain : whether every cell is a number, so that no column has categories or missing cells
    person : whose rows are protected together; None where every row is its own
    region : record level: where rows may lie, made of ``stated``
    prepared : at label level the preprocessed rows, a function of public features, made before anything is paid
    """

    asked: ReleaseRequest
    rows: Opened
    stated: dict[str, Any]
    steps: tuple[str | Step, ...]
    columns: tuple[Column, ...]
    labelled: bool
    plain: bool
    person: PersonUnit | None = None
    region: Region | None = None
    prepared: Prepared | None = None

    @property
    def unit(self) -> Unit:
        """What is protected."""
        return self.asked.unit

    @property
    def drop_bad(self) -> bool:
        """Whether rows that cannot be used count for nothing, instead of being refused."""
        return self.asked.on_bad_row == "drop"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features as published, stated by the caller or those of the file or frame; or none."""
        return tuple(self.asked.feature_names) or self.rows.feature_names

    @property
    def by_column(self) -> tuple[str, ...]:
        """The name of each feature for messages: its own, or x0, x1, ..."""
        return self.names or tuple(f"x{j}" for j in range(self.source.dim))

    @property
    def label_name(self) -> str:
        """The name of the label column as published."""
        return self.asked.label_name or self.rows.label_name or "label"

    @property
    def source(self) -> Source:
        """The rows, as a source that adds up kernels over them."""
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
        return "replace" if self.asked.adjacency == "replace" else "add-remove"

    @property
    def public_units(self) -> int | None:
        """The number of rows or persons that count, or None where that number is protected.

        Under add-remove it is protected. Under replace the number of all rows is public, but if bad rows are
        dropped, how many of them count is protected; so is the number of rows where whole persons are
        exchanged. At label level it is public, because the public features decide which rows are usable.
        """
        return None if self.hides_number else self.source.n_units

    @property
    def hides_number(self) -> bool:
        """Whether the number of rows or persons that count is protected."""
        counts_rows = self.person is not None and self.person.max_rows is not None
        if self.unit == "record" and (self.drop_bad or counts_rows):
            return True
        return self.adjacency == "add-remove"

    @property
    def in_memory(self) -> ArraySource:
        """The rows as arrays, loaded before the request was checked."""
        if not isinstance(self.source, ArraySource):
            raise InputError("Preprocessing needs the table in memory; give its arrays.")
        return self.source


class Made(NamedTuple):
    """The result of a mechanism for a request: the mixture, its statement, the preprocessing that belongs to it, its
    errors, the components of its classes, and the shapes of its columns."""

    mixture: Mixture
    guarantee: Guarantee
    preprocessing: tuple[Step, ...]
    errors: Errors | None = None
    components: ComponentMixture | None = None
    margins: Margins | None = None
    encoding: Encoding | None = None


def opened(asked: ReleaseRequest) -> OpenedRequest:
    """The request with its table: small files are read here, larger ones described."""
    told = stated(asked)
    given = told.person if asked.person is None else asked.person
    persons, ids = person_unit(given, asked.count, asked.max_rows)
    kmeans = asked.mechanism == "published" and asked.n_components is not None
    labelled = asked.y is not None or told.label is not None
    if asked.unit == "label" and not labelled and not kmeans:
        raise InputError("Label-level releases need labels; give y (the label column).")
    names = asked.feature_names
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError("The feature names must be a list of texts.")
    wanted = asked.preprocessing
    steps = check_wanted([wanted] if isinstance(wanted, str) else wanted)
    if asked.stage is not None:
        asked.stage("reading the table", 0.0)
    rows = open_rows(
        asked.X,
        asked.y,
        label=told.label,
        columns=told.names,
        classes=told.classes,
        n_components=asked.n_components,
        client=asked.client,
        progress=asked.progress,
        drop_bad=asked.on_bad_row == "drop",
        in_memory=IN_MEMORY_BYTES,
        persons=persons,
        ids=ids,
        stated=told.columns,
    )
    if steps or asked.mechanism == "published":
        rows = rows.loaded("Preprocessing" if steps else "The published method")
    region = {"bounds": told.bounds, "radius": asked.radius, "center": asked.center}
    plain = all(column.plain for column in told.columns)
    request = OpenedRequest(asked, rows, region, steps, told.columns, labelled, plain, persons)
    if told.bounds is None:
        return request
    return replace(request, stated={**region, "bounds": as_pair(told.bounds, request.by_column)})


def checked(request: OpenedRequest) -> OpenedRequest:
    """The request, or one sentence on what is wrong with it."""
    special = [column.name for column in request.columns if not column.plain]
    if special and (
        request.asked.mechanism != "proven"
        or request.steps
        or not request.labelled
        or request.stated["radius"] is not None
    ):
        raise InputError(
            f"The column {special[0]!r} holds categories or missing cells, which a proven release of labelled rows "
            'can hold, at record level with stated ranges, without preprocessing; or set type = "drop".'
        )
    if special and request.asked.components_per_class != 1:
        raise InputError(
            f"The column {special[0]!r} holds categories or missing cells, of which every class has one component; "
            'leave components_per_class at 1, or set type = "drop".'
        )
    _check_names(request)
    if request.asked.components_per_class != 1 and not request.labelled:
        raise InputError(
            "Components per class need classes; rows without labels have n_components instead."
        )
    unit = request.unit
    if request.steps:
        check_origins([step for step in request.steps if not isinstance(step, str)], unit)
    if unit == "label" and len(request.classes) < 2:
        raise InputError(
            "Protecting labels needs at least two classes; state the class list, "
            "or use unit='record' to protect whole rows of one class."
        )
    n_units = request.public_units
    if n_units == 0:
        raise InputError("The table has no usable rows; give a table with data.")
    region = None
    if unit == "record":
        dim = request.source.dim
        region = stated_region(dim, **request.stated)
        if request.steps:
            check_record_steps(request.steps, dim, **request.stated)
    request.rows.check(public=unit == "label")
    if unit == "label":
        stated = any(value is not None for value in request.stated.values())
        if stated and not (request.asked.published or {}).get("scalable"):
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
    prepared = None
    if unit == "label" and request.steps:
        X = request.in_memory.X
        prepared = prepare(request.steps, X, "label", names=request.rows.feature_names)
    bounds = request.stated["bounds"] if unit == "record" else None
    columns = stated_columns(request.columns, request.by_column, bounds)
    return replace(request, columns=columns, region=region, prepared=prepared)


def _check_names(request: OpenedRequest) -> None:
    """Refuse class names that other languages cannot read back: their whole numbers are exact up to 2^53 only."""
    if any(type(name) is int and abs(name) >= _EXACT for name in request.classes):
        raise InputError("Class names beyond 2^53 must be texts; state the class list as texts.")


def warn_of_delta(request: OpenedRequest, n_units: float | None) -> None:
    """Warn where N delta is not small: delta bounds the probability of any failure, even that a row is disclosed in full.

    ``n_units`` is the number of rows or persons, public or noisy; None as long as it is neither.
    """
    if n_units is not None and request.asked.delta * n_units > RISKY:
        one, many = ("row", "rows") if request.person is None else ("person", "persons")
        _caution(
            f"Delta {request.asked.delta:g} is not far below one over the number of {many}; a mechanism "
            f"that gives away a random {one} could meet it, so choose a smaller delta."
        )


def _caution(sentence: str) -> None:
    # Five frames up is the caller of privgmm.release.
    warnings.warn(sentence, CautionWarning, stacklevel=5)


def person_unit(
    person: Any, count: str, max_rows: int | None
) -> tuple[PersonUnit | None, NDArray[Any] | None]:
    """Whose rows are protected together, and the ids (one per row) where they were given beside the table."""
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
    # The column's name becomes part of sentences of the statement, so it must be printable and short.
    name = "person" if not given and not isinstance(name, str) else str(name)
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise InputError("The column of persons has a name that cannot be printed; rename it.")
    return PersonUnit(name, most), None if given else person
