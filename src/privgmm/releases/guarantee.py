"""What a release promises, in the terms of NIST SP 800-226 and the OpenDP deployments registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["proven", "as-published"]
Unit = Literal["label", "record"]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism that was run on the private data: mu = sensitivity / sigma."""

    query: str
    coordinates: int
    sensitivity: float
    sigma: float
    mu: float


@dataclass(frozen=True)
class Guarantee:
    """The differential-privacy statement of one release.

    ``mu`` is the Gaussian-DP parameter of all mechanisms together; None where the published
    method's own argument is all there is (``status == "as-published"``).
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

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
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
        what = "the label of any one row" if self.unit == "label" else "any one row"
        if self.status == "as-published":
            return (
                f"The paper claims ({self.epsilon:g}, {self.delta:g})-differential privacy for "
                f"{what}; that claim is not proven, so do not rely on this release for protection."
            )
        sentence = (
            f"Whatever anyone learns about {what} from this release, they could have learned "
            f"almost as well had it been different: ({self.epsilon:g}, {self.delta:g})-"
            "differential privacy, proven."
        )
        if not self.publishable:
            sentence += " This copy was made for an experiment and must not be published."
        return sentence
