"""The sentences of a guarantee that follow from what was asked."""

from __future__ import annotations

from privgmm.curate.opened import OpenedRequest
from privgmm.transform import Step, describe

_COMPUTED_LABELS = (
    "If the labels were computed from the features (for example by clustering), protecting "
    "labels protects nothing; use unit='record' then."
)
_PUBLIC_SHAPES = (
    "Shapes of columns are made of the public features, by labels that were told from noisy answers; a value "
    "that fewer than five rows share does not show in them."
)
_WEIGHTS = (
    "Weights minimise the expected divergence from the fitted model: a class whose shape the noise "
    "hides gets less weight than its share of the rows (objective='balanced' gives the shares)."
)
_NOT_PROTECTED = {
    "label": "the features of every row, which this unit treats as public",
    "record": "people who appear in more than one row are protected per row, not per person",
}


DROPPED = (
    "Rows with a missing cell, a cell that is no number, or a label outside the class list counted for "
    "nothing (on_bad_row='drop'); how many there were is not published."
)


DROPPED_CELLS = (
    "Rows with a missing cell where none was declared, a level that was not stated, or a label outside the class "
    "list counted for nothing (on_bad_row='drop'); how many there were is not published."
)

_NUMBER_OF_ROWS = "How many rows there are is protected; whoever can watch the machine may tell it from time and memory."


def assumed_public(request: OpenedRequest) -> tuple[str, ...]:
    """Facts that the guarantee takes as known, one sentence each."""
    facts, person = ["the class list", "the column names"], request.person
    if request.unit == "label":
        facts += ["all feature values", "the number of rows"]
        if person is not None:
            facts.append(f"which rows have the same {person.column}")
    else:
        facts.append("the stated bounds")
        if any(column.levels for column in request.columns):
            facts.append("the stated levels of categories")
        if request.adjacency == "replace":
            what = "rows" if person is None else f"different values of {person.column}"
            facts.append(f"the number of {what}")
    return tuple(facts)


def limits(request: OpenedRequest) -> tuple[str, ...]:
    """What is not protected, beginning with what was read from private data without noise."""
    leaks = (
        ("the class list, which was read from the private labels",)
        if request.rows.classes_from_data
        else ()
    )
    if request.unit == "record" and request.person is not None:
        column = request.person.column
        return (*leaks, f"people with several values of {column} are protected per value")
    return (*leaks, _NOT_PROTECTED[request.unit])


def notes(request: OpenedRequest, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """What a reader of the guarantee should also know, one sentence each."""
    proven = request.asked.mechanism == "proven"
    about_unit: tuple[str, ...] = (_COMPUTED_LABELS,) if request.unit == "label" else ()
    if request.unit == "label" and proven:
        about_unit += (_PUBLIC_SHAPES,)
    own_weights = proven and request.asked.objective == "paper"
    about_weights = (_WEIGHTS,) if own_weights else ()
    about_rows: tuple[str, ...] = ()
    if request.drop_bad:
        mixed = any(not column.plain for column in request.columns)
        about_rows += (DROPPED_CELLS if mixed else DROPPED,)
    if request.person is not None and request.unit == "record":
        about_rows += (_NUMBER_OF_ROWS,)
    return (
        *about_unit,
        *about_rows,
        *about_weights,
        *(f"Preprocessing, {describe(step)}." for step in steps),
    )
