"""The published route: the paper's mechanism as printed, with a statement that its guarantee is not proven."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privgmm import published as paper
from privgmm.curate.opened import Made, OpenedRequest
from privgmm.curate.statement import assumed_public, notes
from privgmm.data.region import stated_region
from privgmm.errors import InputError
from privgmm.model import label_by_kmeans
from privgmm.model.mixture import Mixture
from privgmm.published.options import options_from
from privgmm.releases import Guarantee
from privgmm.transform import Step
from privgmm.transform.prepare import prepare
from privgmm.types import Floats

# The paper treats replacing, removing and adding a record as separate cases (section IV-C).
_RECORD = {"replace": "record-change", "remove": "record-remove", "add": "record-add"}
_KMEANS = (
    "Labels by K-means, the paper's footnote 1: they are computed from the features, unprotected, so "
    "protecting them protects nothing."
)


def check_published(request: OpenedRequest) -> None:
    """Refuse what the paper's method cannot do, before anything is paid."""
    options = options_from(request.asked.published or {})
    paper_adjacency(request)
    if request.person is not None:
        raise InputError(
            "The published method protects rows, not persons; use the proven mechanism, or aggregate first."
        )
    if options.scalable and request.unit == "label":
        if request.steps:
            raise InputError(
                "The scalable noise needs a stated ball, which preprocessing at label level does not "
                "carry along; preprocess the table first."
            )
        stated_region(request.source.dim, **request.stated)


def published(request: OpenedRequest) -> Made:
    """A mixture drawn by Algorithm 1, its as-published statement, the preprocessing, and no errors."""
    options = options_from(request.asked.published or {})
    adjacency = paper_adjacency(request)
    memory = request.in_memory
    steps: tuple[Step, ...] = ()
    X, stated = memory.X, request.stated
    if request.steps:
        prepared = request.prepared or prepare(request.steps, X, request.unit, **stated)
        steps, X = prepared.steps, prepared.X
        stated = {"bounds": None, "radius": None, "center": None, **prepared.region}
    radius, shift = None, np.zeros(X.shape[1])
    if request.unit == "record" or options.scalable:
        region = stated_region(X.shape[1], **stated)
        shift, radius = region.center, region.enclosing_radius
    listed = memory.codes >= 0
    X, codes = X[listed], memory.codes[listed]
    design = paper.design(
        X - shift, _labels(request, X, codes), epsilon=request.asked.epsilon, delta=request.asked.delta,
        adjacency=adjacency, radius=radius, classes=request.classes, **options.choices,
    )  # fmt: skip
    drawn = design.draw(seed=request.asked.seed)
    guarantee = Guarantee(
        status="as-published",
        unit=request.unit,
        adjacency=adjacency,
        epsilon=request.asked.epsilon,
        delta=request.asked.delta,
        mu=None,
        publishable=False,
        assumed_public=assumed_public(request),
        not_protected=(
            "anything: the paper's privacy argument does not hold, see docs/guarantees.md",
        ),
        notes=(
            split_note(design),
            *(() if request.labelled else (_KMEANS,)),
            *notes(request, steps),
        ),
        seeded=request.asked.seed is not None,
        classes_from_data=request.rows.classes_from_data,
    )
    mixture = Mixture(drawn.weights, drawn.means + shift, drawn.covariances, request.classes)
    return Made(mixture, guarantee, steps)


def paper_adjacency(request: OpenedRequest) -> str:
    """The paper's name of what is protected; it has no mechanism that covers adding and removing at once."""
    if request.unit == "label":
        return "label"
    if request.asked.adjacency == "add-remove":
        raise InputError(
            "The published method protects either adding or removing a record, not both; choose the "
            "adjacency 'add' or 'remove'."
        )
    return _RECORD[request.asked.adjacency]


def split_note(design: paper.Design) -> str:
    """How the paper's Theorem 1 divides epsilon: eps_0, and eps_k and eps'_k of every class."""
    names = ", ".join(str(name) for name in design.fitted.classes)
    means, covariances = (
        ", ".join(f"{value:.4g}" for value in values)
        for values in (design.epsilon_means, design.epsilon_covariances)
    )
    return (
        f"The paper's split of epsilon: {design.epsilon_weights:.4g} on the weights; by class ({names}) "
        f"on the means {means} and on the covariances {covariances}. The total is the first plus the "
        "largest sum of the other two."
    )


def _labels(request: OpenedRequest, X: Floats, codes: NDArray[np.intp]) -> NDArray[np.object_]:
    """The given labels, or those of K-means where there are none (footnote 1)."""
    if not request.labelled:
        codes = label_by_kmeans(X, len(request.classes), seed=request.asked.seed or 0)
    names = np.empty(len(request.classes), dtype=object)
    names[:] = request.classes
    return np.asarray(names[codes])
