"""The names that ``privgmm reproduce`` knows, in the order of the paper."""

from __future__ import annotations

from privgmm.errors import InputError
from privgmm.reproduce.figures import ami, iris, mnist, network, record, synthetic
from privgmm.reproduce.harness.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for family in (synthetic, iris, ami, mnist, network, record)
    for experiment in family.EXPERIMENTS
}


def chosen(name: str) -> tuple[Experiment, ...]:
    """The experiment of that name, or every one of them for ``all``."""
    if name == "all":
        return tuple(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise InputError(
            f"There is no figure {name!r}; choose all or one of {', '.join(EXPERIMENTS)}."
        )
    return (EXPERIMENTS[name],)
