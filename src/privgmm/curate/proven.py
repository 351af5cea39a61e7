"""The proven route: a curator over the prepared rows, a mechanism that only asks it, a statement."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privgmm.curate.request import Request
from privgmm.curate.statement import assumed_public, limits, notes
from privgmm.model.mixture import Floats, Mixture
from privgmm.privacy import Curator, NoiseSource, OpenDPNoise, SeededNoise
from privgmm.region import Region, stated_region
from privgmm.releases import Guarantee, Mechanism
from privgmm.statistics import ArraySource, Source
from privgmm.statistics.features import ArrayFeatures, Features
from privgmm.statistics.mapped import MappedSource
from privgmm.transform import Standardise, Step, prepare


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the mechanism sees them: after preprocessing and, at record level, in unit coordinates."""

    source: Source
    steps: tuple[Step, ...]
    region: Region | None
    features: Features | None


def proven(request: Request) -> tuple[Mixture, Guarantee, tuple[Step, ...]]:
    """A mixture, its statement and the preprocessing that belongs to it."""
    noise: NoiseSource = OpenDPNoise() if request.seed is None else SeededNoise(request.seed)
    curator = Curator(request.source, noise, request.adjacency, request.epsilon, request.delta)
    rows = _prepared(request, curator)
    curator.look_at(rows.source)
    weights, means, covariances = _estimate(request, rows, curator)
    if rows.region is not None:
        means, covariances = rows.region.from_unit(means, covariances)
    guarantee = Guarantee(
        status="proven",
        unit=request.unit,
        adjacency=request.adjacency,
        epsilon=request.epsilon,
        delta=request.delta,
        mu=curator.mu,
        publishable=noise.publishable,
        mechanisms=tuple(
            Mechanism(m.query, m.coordinates, m.sensitivity, m.sigma, m.mu)
            for m in curator.mechanisms
        ),
        assumed_public=assumed_public(request),
        not_protected=limits(request),
        notes=notes(request, rows.steps),
    )
    return Mixture(weights, means, covariances, request.classes), guarantee, rows.steps


def _prepared(request: Request, curator: Curator) -> Rows:
    """Preprocess by the rules of the unit, then move the stated region to the unit ball."""
    if not request.preprocessing:
        if request.unit == "label":
            return Rows(request.source, (), None, request.rows.features)
        region = stated_region(request.source.dim, **request.stated)
        return Rows(MappedSource(request.source, region.to_unit), (), region, None)
    memory = request.in_memory("Preprocessing")

    def pay(rows: Floats, lo: Floats, hi: Floats) -> Standardise:
        from privgmm.transform.private import standardise_privately

        # The rows so far are the same records, each mapped on its own.
        curator.look_at(ArraySource(rows, memory.codes, memory.n_classes))
        mu = curator.mu * math.sqrt(request.preprocessing_share)
        return standardise_privately(curator, lo, hi, mu, request.public_n_rows)

    prepared = prepare(
        request.preprocessing, memory.X, request.unit, paid_standardise=pay, **request.stated
    )
    source = ArraySource(prepared.X, memory.codes, memory.n_classes)
    if request.unit == "label":
        return Rows(source, prepared.steps, None, ArrayFeatures(prepared.X))
    region = stated_region(source.dim, **{**_NOTHING_STATED, **prepared.region})
    return Rows(MappedSource(source, region.to_unit), prepared.steps, region, None)


_NOTHING_STATED = {"bounds": None, "radius": None, "center": None}


def _estimate(request: Request, rows: Rows, curator: Curator) -> tuple[Floats, Floats, Floats]:
    k = len(request.classes)
    if rows.features is not None:
        from privgmm.proven.label import release_label

        return release_label(rows.features, curator, k, request.weights)
    if not request.labelled:
        from privgmm.proven.em import release_unlabelled

        return release_unlabelled(
            curator, k, rows.source.dim, request.public_n_rows, request.weights
        )
    from privgmm.proven.record import release_record

    return release_record(curator, k, rows.source.dim, request.public_n_rows, request.weights)
