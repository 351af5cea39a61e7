"""The sentences of a guarantee that follow from what was asked."""

from __future__ import annotations

from privgmm.curate.request import Request
from privgmm.transform import Step, describe

_COMPUTED_LABELS = (
    "If the labels were computed from the features (for example by clustering), protecting "
    "labels protects nothing; use unit='record' then."
)
_WEIGHTS = (
    "Weights minimise the expected divergence from the fitted model: a class whose shape the noise "
    "hides gets less weight than its share of the rows (weights='counts' gives the shares)."
)
_NOT_PROTECTED = {
    "label": "the features of every row, which this unit treats as public",
    "record": "people who appear in more than one row are protected per row, not per person",
}


def assumed_public(request: Request) -> tuple[str, ...]:
    facts = ["the class list", "the column names"]
    if request.unit == "label":
        facts += ["all feature values", "the number of rows"]
    else:
        facts.append("the stated bounds")
        if request.adjacency == "replace":
            facts.append("the number of rows")
    return tuple(facts)


def limits(request: Request) -> tuple[str, ...]:
    """What is not protected; first of all what was read from private data without noise."""
    leaks = (
        ("the class list, which was read from the private labels",)
        if request.rows.classes_from_data
        else ()
    )
    return (*leaks, _NOT_PROTECTED[request.unit])


def notes(request: Request, steps: tuple[Step, ...]) -> tuple[str, ...]:
    about_unit = (_COMPUTED_LABELS,) if request.unit == "label" else ()
    about_weights = (_WEIGHTS,) if request.weights == "kl" else ()
    return (*about_unit, *about_weights, *(f"Preprocessing, {describe(step)}." for step in steps))
