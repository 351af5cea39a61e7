"""Which tables count as neighbours, and what a release for one kind of neighbours says about another.

``steps_between(protected, released)`` is the number of neighbour steps of the *released* kind that make
one neighbour of the *protected* kind; docs/proofs/ledger.md justifies every entry, and every missing one.
"""

from __future__ import annotations

from typing import Literal, cast

from privgmm.errors import InputError

Relation = Literal[
    "label", "replace", "add-remove", "person-label", "person-replace", "person-add-remove"
]

# What happens between two neighbours, in words.
NEIGHBOURS: dict[Relation, str] = {
    "label": "one label changes",
    "replace": "one record is replaced",
    "add-remove": "one record is added or removed",
    "person-label": "all labels of one person change",
    "person-replace": "the rows of one person are replaced by as many others",
    "person-add-remove": "all rows of one person are added or removed",
}
# What protects it, as users state it.
UNITS: dict[Relation, str] = {
    "label": "--unit label",
    "replace": "--unit record",
    "add-remove": "--unit record --adjacency add-remove",
    "person-label": "--unit person --adjacency label",
    "person-replace": "--unit person",
    "person-add-remove": "--unit person --adjacency add-remove",
}

_STEPS: dict[tuple[Relation, Relation], int] = {
    ("label", "label"): 1,
    ("label", "replace"): 1,
    ("label", "add-remove"): 2,
    ("label", "person-label"): 1,
    ("label", "person-replace"): 1,
    ("label", "person-add-remove"): 2,
    ("replace", "replace"): 1,
    ("replace", "add-remove"): 2,
    ("replace", "person-replace"): 1,
    ("replace", "person-add-remove"): 2,
    ("add-remove", "add-remove"): 1,
    ("add-remove", "person-add-remove"): 2,
    ("person-label", "person-label"): 1,
    ("person-label", "person-replace"): 1,
    ("person-label", "person-add-remove"): 2,
    ("person-replace", "person-replace"): 1,
    ("person-replace", "person-add-remove"): 2,
    ("person-add-remove", "person-add-remove"): 1,
}
# The same for every single row of a person: times the stated cap on rows per person.
_STEPS_PER_ROW: dict[tuple[Relation, Relation], int] = {
    ("person-label", "label"): 1,
    ("person-label", "replace"): 1,
    ("person-label", "add-remove"): 2,
    ("person-replace", "replace"): 1,
    ("person-replace", "add-remove"): 2,
    ("person-add-remove", "add-remove"): 1,
}


def relation(unit: str, adjacency: str | None = None) -> Relation:
    """The neighbouring relation of a unit: label, or record or person with an adjacency.

    A person's adjacency may also be label: all labels of one person change.
    """
    if unit not in ("label", "record", "person"):
        raise InputError(f"The unit must be 'label', 'record' or 'person', got {unit!r}.")
    if unit == "person" and adjacency == "label":
        return "person-label"
    if adjacency not in (None, "replace", "add-remove"):
        raise InputError(f"The adjacency must be 'replace' or 'add-remove', got {adjacency!r}.")
    if unit == "label":
        return "label"
    kind = adjacency or "replace"
    return cast(Relation, kind if unit == "record" else f"person-{kind}")


def steps_between(
    protected: Relation, released: Relation, max_rows: int | None = None
) -> int | None:
    """Steps of the released kind per step of the protected kind; None where there is no bound."""
    if (protected, released) in _STEPS:
        return _STEPS[protected, released]
    if max_rows is not None and (protected, released) in _STEPS_PER_ROW:
        return max_rows * _STEPS_PER_ROW[protected, released]
    return None


def why_no_bound(protected: Relation, released: Relation) -> str:
    """What a release of this kind takes for public that a neighbour of the protected kind changes."""
    if (protected, released) in _STEPS_PER_ROW:
        return "no cap on the rows of one person is stated"
    if released in ("label", "person-label"):
        return "it takes the features of every row to be public"
    what = "persons" if released.startswith("person") else "rows"
    return f"it takes the number of {what} to be public"


def no_bound(budget: Relation, released: Relation) -> str:
    """Why a release that a budget does not bound is refused, and how to go on in the same ledger."""
    if (budget, released) in _STEPS_PER_ROW:
        remedy = "state one with 'privgmm ledger budget --max-rows'"
    else:
        remedy = (
            "if that is so, state a budget for it in this same ledger "
            f"('privgmm ledger budget {UNITS[released]}') and lose every bound for the first case"
        )
    return (
        f"This ledger keeps a budget for the case that {NEIGHBOURS[budget]}, which a release for the "
        f"case that {NEIGHBOURS[released]} does not bound, because {why_no_bound(budget, released)}; "
        f"{remedy}."
    )
