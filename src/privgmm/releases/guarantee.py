"""What a release promises, in the terms of NIST SP 800-226 and the OpenDP deployments registry.

``budget_rows`` tells where the privacy budget went: each mechanism's share of mu squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.types import Mechanism, PersonUnit, Status, Unit

_PERSON_NEIGHBOURS = {
    "label": "two tables that differ in the labels of the rows of one {}, features being equal",
    "replace": "two tables with equally many values of {} that differ in the rows of one of them, however many",
    "add-remove": "two tables of which one has all rows of one {} more",
}
# A rest below this is float rounding of a budget that was spent in parts, and is not shown as unspent.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Guarantee:
    """The differential-privacy statement of one release.

    ``mu`` is the Gaussian-DP parameter of all mechanisms together; None where nothing but the published
    method's own argument supports the claim (``status == "as-published"``). A release is ``publishable``
    unless its noise was ``seeded``, its class list was read from the private labels, or it is not proven.
    """

    status: Status
    unit: Unit
    adjacency: str
    epsilon: float
    delta: float
    mu: float | None
    publishable: bool
    mechanisms: tuple[Mechanism, ...] = ()
    assumed_public: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seeded: bool = False
    classes_from_data: bool = False
    person: PersonUnit | None = None

    @property
    def protected(self) -> str:
        """What is protected, in a few words."""
        if self.person is None:
            return "the label of each row" if self.unit == "label" else "each row"
        if self.unit == "label":
            return f"the labels of all rows of each {self.person.column}"
        return f"each {self.person.column}, with all of its rows"

    @property
    def repeatable(self) -> bool:
        """Whether the noise can be drawn again: it is marked as seeded, or no other reason explains why the release is not publishable."""
        return self.seeded or not (self.publishable or self.classes_from_data)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        if self.person is not None:
            return _PERSON_NEIGHBOURS[self.adjacency].format(self.person.column)
        return {
            "label": "two tables that differ in the label of one row, features being equal",
            "replace": "two tables of equal size that differ in one whole row",
            "add-remove": "two tables of which one has one row more",
            "record-remove": "a table and the same table without one row",
            "record-change": "two tables that differ in the features of one row",
            "record-add": "a table and the same table with one bounded row more",
        }.get(self.adjacency, self.adjacency)

    @property
    def promise(self) -> str:
        """One sentence for the person who signs."""
        what = self.protected.replace("each", "any one", 1) + ("," if "," in self.protected else "")
        if self.status == "as-published":
            return (
                f"The paper claims ({self.epsilon:g}, {self.delta:g})-differential privacy for "
                f"{what}; that claim is not proven, so do not rely on this release for protection."
            )
        if self.classes_from_data:
            return (
                "The class names in this release were read from the private labels without any "
                f"protection, so it must not be published; of {what} all else is "
                f"({self.epsilon:g}, {self.delta:g})-differentially private."
            )
        sentence = (
            f"Whatever anyone learns about {what} from this release, they could have learned "
            f"almost as well had it been different: ({self.epsilon:g}, {self.delta:g})-"
            "differential privacy, proven."
        )
        if not self.publishable:
            sentence += " This copy was made for an experiment and must not be published."
        return sentence


@dataclass(frozen=True)
class BudgetRow:
    """One mechanism and its share of the budget."""

    share: float
    mechanism: Mechanism | None  # None: what was left unspent


def budget_rows(guarantee: Guarantee) -> tuple[BudgetRow, ...]:
    """Shares mu_i^2 / mu^2 in the order in which the mechanisms ran, then the rest if any."""
    spent = math.fsum(m.mu**2 for m in guarantee.mechanisms)
    if not guarantee.mechanisms:
        return ()
    total = max(spent, 0.0 if guarantee.mu is None else guarantee.mu**2)
    rows = [BudgetRow(m.mu**2 / total, m) for m in guarantee.mechanisms]
    rest = 1 - spent / total
    if rest > _ROUNDING:
        rows.append(BudgetRow(rest, None))
    return tuple(rows)
