"""What a release is asked for, checked before anything is spent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privgmm.checks import checked_seed, real
from privgmm.errors import InputError, PrivacyLeakWarning
from privgmm.model.mixture import ClassName
from privgmm.privacy import Adjacency
from privgmm.privacy.accounting import check_epsilon_delta
from privgmm.proven.weighting import Weighting
from privgmm.region import LARGEST, stated_region
from privgmm.releases.guarantee import Unit
from privgmm.statistics import ArraySource, Source
from privgmm.statistics.opening import Opened
from privgmm.transform import Step, check_origins
from privgmm.transform.fit import check_wanted

RecordAdjacency = Literal["replace", "add-remove"]


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
    weights: Weighting
    seed: int | None

    @property
    def source(self) -> Source:
        return self.rows.source

    @property
    def classes(self) -> tuple[ClassName, ...]:
        return self.rows.classes

    @property
    def adjacency(self) -> Adjacency:
        return "label" if self.unit == "label" else self.record_adjacency

    @property
    def public_n_rows(self) -> int | None:
        """The number of rows; under add-remove it is itself protected."""
        return None if self.adjacency == "add-remove" else self.source.n_rows

    def in_memory(self, what: str) -> ArraySource:
        """The rows as arrays, for what cannot be done in passes."""
        if not isinstance(self.source, ArraySource):
            raise InputError(
                f"{what} needs the table in memory; read it first and give its arrays."
            )
        return self.source


def checked(request: Request) -> Request:
    """The request, or one sentence on what is wrong with it."""
    check_epsilon_delta(request.epsilon, request.delta)
    if request.unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {request.unit!r}.")
    if request.record_adjacency not in ("replace", "add-remove"):
        raise InputError(
            f"The adjacency must be 'replace' or 'add-remove', got {request.record_adjacency!r}."
        )
    if request.weights not in ("kl", "counts"):
        raise InputError(f"The weights must be 'kl' or 'counts', got {request.weights!r}.")
    checked_seed(request.seed)
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
    if request.unit == "record":
        stated_region(request.source.dim, **request.stated)
    else:
        _refuse_overflowing(request)
    if request.rows.classes_from_data:
        warnings.warn(
            "The class list was read from the private labels; state it with classes=... "
            "because which classes occur can itself be private.",
            PrivacyLeakWarning,
            stacklevel=4,
        )
    request.rows.check()
    return request


def _refuse_overflowing(request: Request) -> None:
    """Features are public here, so their size may be told; squares of larger ones are not numbers."""
    for rows in request.rows.features.chunks():
        far = np.flatnonzero(np.abs(rows).max(axis=0, initial=0.0) > LARGEST)
        if far.size:
            raise InputError(
                f"Feature columns {far.tolist()} hold values beyond {LARGEST:g}; rescale them first."
            )


def feature_names_of(rows: Opened, given: Sequence[str]) -> tuple[str, ...]:
    """Names stated by the caller, else those of the file or frame."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError("The feature names must be a list of texts.")
    return tuple(given) or rows.feature_names
