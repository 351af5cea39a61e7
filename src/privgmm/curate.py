"""``privgmm.release``: from private rows to a release, the one way through the house."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privgmm.errors import InputError, PrivacyLeakWarning
from privgmm.model.fitting import encode_labels, feature_array
from privgmm.model.mixture import ClassName, Floats, Mixture
from privgmm.privacy import Adjacency, Curator, NoiseSource, OpenDPNoise, SeededNoise
from privgmm.privacy.accounting import check_epsilon_delta, mu_from_epsilon
from privgmm.region import Region, stated_region
from privgmm.releases import Guarantee, Mechanism, Release
from privgmm.releases.guarantee import Unit
from privgmm.statistics import ArraySource

_LABEL_NOTE = (
    "If the labels were computed from the features (for example by clustering), protecting "
    "labels protects nothing; use unit='record' then."
)
_NOT_PROTECTED = {
    "label": ("the features of every row, which this unit treats as public",),
    "record": ("people who appear in more than one row are protected per row, not per person",),
}


@dataclass(frozen=True)
class Request:
    """Everything a release is asked for, checked; ``codes`` is None for unlabelled rows."""

    X: Floats
    codes: NDArray[np.intp] | None
    classes: tuple[ClassName, ...]
    epsilon: float
    delta: float
    unit: Unit
    adjacency: Literal["replace", "add-remove"]
    region: Region | None
    seed: int | None
    classes_from_data: bool

    @property
    def privacy_adjacency(self) -> Adjacency:
        return "label" if self.unit == "label" else self.adjacency


def release(
    X: ArrayLike,
    y: ArrayLike | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: Unit = "label",
    bounds: object = None,
    radius: float | None = None,
    center: ArrayLike | None = None,
    classes: Sequence[ClassName] | None = None,
    mechanism: Literal["proven", "published"] = "proven",
    adjacency: Literal["replace", "add-remove"] = "replace",
    seed: int | None = None,
    n_components: int | None = None,
    feature_names: Sequence[str] = (),
    label_name: str = "label",
    ledger: str | os.PathLike[str] | None = None,
) -> Release:
    """Publish a Gaussian mixture of the rows under (epsilon, delta)-differential privacy.

    Parameters
    ----------
    X : (n, d) features.
    y : (n,) labels; None with ``unit="record"`` and ``n_components=K`` for unlabelled rows.
    unit : "label" protects each row's label (features are public); "record" protects whole rows.
    bounds, radius, center : where rows may lie, stated by you and never read from the data (record
        level): per-column ranges ``(lo, hi)``, or a ball. Rows outside are clipped into it.
    classes : the public class list. When omitted it is read from the labels, which leaks; a
        PrivacyLeakWarning says so and the statement names it.
    mechanism : "proven", or "published" for the paper's method, whose guarantee is not proven.
    adjacency : record level: "replace" one row by another, or "add-remove" one row.
    seed : for experiments only; a seeded release is stamped not publishable.
    n_components : how many components to fit to unlabelled rows.
    ledger : a ledger file to charge; it is charged after all checks and before noise is drawn.
    """
    if mechanism not in ("proven", "published"):
        raise InputError(f"The mechanism must be 'proven' or 'published', got {mechanism!r}.")
    request = _checked(
        X, y, epsilon, delta, unit, bounds, radius, center, classes, adjacency, seed, n_components
    )
    if ledger is not None:
        _charge(ledger, request, mechanism)
    mixture, guarantee = (_proven if mechanism == "proven" else _published)(request)
    return Release(mixture, guarantee, tuple(feature_names), label_name)


def _charge(
    ledger: str | os.PathLike[str], request: Request, mechanism: Literal["proven", "published"]
) -> None:
    """Spend before drawing: a crash after this line can waste budget, never leak it."""
    from privgmm.ledger import Ledger

    mu = mu_from_epsilon(request.epsilon, request.delta) if mechanism == "proven" else None
    Ledger.open(ledger).spend(
        mu, request.epsilon, request.delta, request.unit,
        note="privgmm release", adjacency=request.adjacency if request.unit == "record" else None,
    )  # fmt: skip


def _checked(
    X: ArrayLike,
    y: ArrayLike | None,
    epsilon: float,
    delta: float,
    unit: Unit,
    bounds: object,
    radius: float | None,
    center: ArrayLike | None,
    classes: Sequence[ClassName] | None,
    adjacency: Literal["replace", "add-remove"],
    seed: int | None,
    n_components: int | None,
) -> Request:
    check_epsilon_delta(epsilon, delta)
    if unit not in ("label", "record"):
        raise InputError(f"The unit must be 'label' or 'record', got {unit!r}.")
    if adjacency not in ("replace", "add-remove"):
        raise InputError(f"The adjacency must be 'replace' or 'add-remove', got {adjacency!r}.")
    x = feature_array(X)
    if y is None:
        codes, names = None, _component_names(unit, n_components, classes)
    else:
        labels = np.asarray(y)
        if labels.shape != (x.shape[0],):
            raise InputError(
                f"Labels must be one per row: {x.shape[0]} rows, labels of shape {labels.shape}."
            )
        names, codes = encode_labels(labels, classes)
        if classes is None:
            warnings.warn(
                "The class list was read from the private labels; state it with classes=... "
                "because which classes occur can itself be private.",
                PrivacyLeakWarning,
                stacklevel=3,
            )
    if unit == "label" and len(names) < 2:
        raise InputError(
            "Protecting labels needs at least two classes; state the class list, "
            "or use unit='record' to protect whole rows of one class."
        )
    region = stated_region(x.shape[1], bounds, radius, center) if unit == "record" else None
    return Request(
        x, codes, names, epsilon, delta, unit, adjacency, region, seed,
        classes_from_data=y is not None and classes is None,
    )  # fmt: skip


def _component_names(
    unit: Unit, n_components: int | None, classes: Sequence[ClassName] | None
) -> tuple[ClassName, ...]:
    if unit == "label":
        raise InputError("Label-level releases need labels; give y (the label column).")
    if n_components is None or n_components < 1:
        raise InputError("Rows without labels need n_components, the number of components to fit.")
    if classes is not None and len(classes) != n_components:
        raise InputError(f"{n_components} components need as many names, got {len(classes)}.")
    return tuple(classes) if classes is not None else tuple(range(n_components))


def _proven(request: Request) -> tuple[Mixture, Guarantee]:
    noise: NoiseSource = OpenDPNoise() if request.seed is None else SeededNoise(request.seed)
    adjacency = request.privacy_adjacency
    k = len(request.classes)
    codes = np.zeros(request.X.shape[0], np.intp) if request.codes is None else request.codes
    rows = request.X if request.region is None else request.region.to_unit(request.X)
    curator = Curator(ArraySource(rows, codes, k), noise, adjacency, request.epsilon, request.delta)
    weights, means, covariances = _estimate(request, curator)
    if request.region is not None:
        means, covariances = request.region.from_unit(means, covariances)
    guarantee = Guarantee(
        status="proven",
        unit=request.unit,
        adjacency=adjacency,
        epsilon=request.epsilon,
        delta=request.delta,
        mu=curator.mu,
        publishable=noise.publishable,
        mechanisms=tuple(
            Mechanism(m.query, m.coordinates, m.sensitivity, m.sigma, m.mu)
            for m in curator.mechanisms
        ),
        assumed_public=_assumed_public(request),
        not_protected=_leaks(request) + _NOT_PROTECTED[request.unit],
        notes=(_LABEL_NOTE,) if request.unit == "label" else (),
    )
    return Mixture(weights, means, covariances, request.classes), guarantee


def _estimate(request: Request, curator: Curator) -> tuple[Floats, Floats, Floats]:
    k, d = len(request.classes), request.X.shape[1]
    if request.unit == "label":
        from privgmm.proven.label import release_label

        return release_label(request.X, curator, k)
    # Under add-remove the number of rows is itself protected.
    n_rows = request.X.shape[0] if request.adjacency == "replace" else None
    if request.codes is None:
        from privgmm.proven.em import release_unlabelled

        return release_unlabelled(curator, k, d, n_rows)
    from privgmm.proven.record import release_record

    return release_record(curator, k, d, n_rows)


def _published(request: Request) -> tuple[Mixture, Guarantee]:
    from privgmm import published

    if request.codes is None:
        raise InputError(
            "The published method needs labels; label the rows first "
            "(privgmm.model.label_by_kmeans is the paper's way, and is not private)."
        )
    x, adjacency, radius, shift = request.X, "label", None, np.zeros(request.X.shape[1])
    if request.region is not None:
        adjacency = "record-change" if request.adjacency == "replace" else "record-remove"
        shift, radius = request.region.center, request.region.enclosing_radius
        x = x - shift
    names = np.empty(len(request.classes), dtype=object)
    names[:] = request.classes
    design = published.design(
        x, names[request.codes], epsilon=request.epsilon, delta=request.delta,
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
        assumed_public=_assumed_public(request),
        not_protected=(
            "anything: the paper's privacy argument does not hold, see docs/guarantees.md",
        ),
        notes=(f"The paper's split: {design.epsilon_weights:.6g} on the weights.",),
    )
    return (
        Mixture(drawn.weights, drawn.means + shift, drawn.covariances, request.classes),
        guarantee,
    )


def _assumed_public(request: Request) -> tuple[str, ...]:
    facts = ["the class list", "the column names"]
    if request.unit == "label":
        facts += ["all feature values", "the number of rows"]
    else:
        facts.append("the stated bounds")
        if request.adjacency == "replace":
            facts.append("the number of rows")
    return tuple(facts)


def _leaks(request: Request) -> tuple[str, ...]:
    if request.classes_from_data:
        return ("the class list, which was read from the private labels",)
    return ()
