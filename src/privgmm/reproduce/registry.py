"""The names that ``privgmm reproduce`` knows, in the order of the paper."""

from __future__ import annotations

from privgmm.errors import InputError
from privgmm.reproduce import ami, iris, mlp, mnist, record_b, synthetic
from privgmm.reproduce.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for family in (synthetic, iris, ami, mnist, mlp, record_b)
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
