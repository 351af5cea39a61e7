"""The published route: the paper's mechanism as printed, stamped for what it is."""

from __future__ import annotations

import numpy as np

from privgmm import published as paper
from privgmm.curate.request import Request
from privgmm.curate.statement import assumed_public, notes
from privgmm.errors import InputError
from privgmm.model.mixture import Mixture
from privgmm.region import stated_region
from privgmm.releases import Guarantee
from privgmm.transform import Step, prepare


def published(request: Request) -> tuple[Mixture, Guarantee, tuple[Step, ...]]:
    """A mixture drawn by Algorithm 1, its as-published statement, and the preprocessing."""
    if not request.labelled:
        raise InputError(
            "The published method needs labels; label the rows first "
            "(privgmm.model.label_by_kmeans is the paper's way, and is not private)."
        )
    memory = request.in_memory("The published method")
    steps: tuple[Step, ...] = ()
    X, stated = memory.X, request.stated
    if request.preprocessing:
        prepared = prepare(request.preprocessing, X, request.unit, **stated)
        steps, X = prepared.steps, prepared.X
        stated = {"bounds": None, "radius": None, "center": None, **prepared.region}
    adjacency, radius, shift = "label", None, np.zeros(X.shape[1])
    if request.unit == "record":
        adjacency = "record-change" if request.adjacency == "replace" else "record-remove"
        region = stated_region(X.shape[1], **stated)
        shift, radius = region.center, region.enclosing_radius
    names = np.empty(len(request.classes), dtype=object)
    names[:] = request.classes
    design = paper.design(
        X - shift, names[memory.codes], epsilon=request.epsilon, delta=request.delta,
        adjacency=adjacency, radius=radius, classes=request.classes,
    )  # fmt: skip
    drawn = design.draw(seed=request.seed)
    guarantee = Guarantee(
        status="as-published",
        unit=request.unit,
        adjacency=adjacency,
        epsilon=request.epsilon,
        delta=request.delta,
        mu=None,
        publishable=False,
        assumed_public=assumed_public(request),
        not_protected=(
            "anything: the paper's privacy argument does not hold, see docs/guarantees.md",
        ),
        notes=(
            f"The paper's split: {design.epsilon_weights:.6g} on the weights.",
            *notes(request, steps),
        ),
    )
    mixture = Mixture(drawn.weights, drawn.means + shift, drawn.covariances, request.classes)
    return mixture, guarantee, steps
