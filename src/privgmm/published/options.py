"""The choices that the paper leaves open or that this package adds, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from privgmm.checks import real
from privgmm.errors import InputError
from privgmm.published.neighbours import Neighbours

_CHOICES = {
    "method": ("alternating", "joint"),
    "neighbours": ("both", "departures"),
    "eqr5": ("repaired", "printed"),
}


@dataclass(frozen=True)
class Options:
    """How the published mechanism is designed.

    smoothing : lambda, the share of the uniform draw from S; the paper's is 1e-3
    method : "alternating" (Algorithm 1) or "joint" (the same problem, solved jointly)
    scalable : (eqr5) for the mean noise of any adjacency, whose cost does not depend on N
    neighbours : which label flips move the mean of a class, (eq10): "both" those that enter it and
        those that leave it, or "departures" only (see ``published.neighbours``)
    eqr5 : "repaired" 8 B^2, or "printed" 8 B, which (eq10a) contradicts
    max_iterations : of Algorithm 1, which stops long before
    """

    smoothing: float = 1e-3
    method: Literal["alternating", "joint"] = "alternating"
    scalable: bool = False
    neighbours: Neighbours = "both"
    eqr5: Literal["repaired", "printed"] = "repaired"
    max_iterations: int = 50

    @property
    def choices(self) -> dict[str, Any]:
        """The keywords of ``design`` that these options are."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __post_init__(self) -> None:
        if not 0 < real(self.smoothing, "The smoothing") < 1:
            raise InputError(
                f"The smoothing must lie strictly between 0 and 1, got {self.smoothing}."
            )
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                known = " or ".join(repr(choice) for choice in choices)
                raise InputError(f"Unknown {name} {value!r}; choose {known}.")


def options_from(given: Mapping[str, Any]) -> Options:
    """Options from a dictionary, such as ``privgmm.release(published=...)`` takes."""
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            raise InputError(
                f"The published method has no option {name!r}; choose from {', '.join(known)}."
            )
    return Options(**given)
