"""The proven route: a curator holds the prepared rows, a mechanism asks it queries, and a statement says what that is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privgmm.curate.opened import Made, OpenedRequest, warn_of_delta
from privgmm.curate.statement import assumed_public, limits, notes
from privgmm.data import Source
from privgmm.data.features import ArrayFeatures, EncodedFeatures, Features
from privgmm.data.region import Region, stated_region
from privgmm.data.source import MappedSource
from privgmm.model.columns import Column, Encoding
from privgmm.model.components import ComponentMixture
from privgmm.model.mixture import Mixture
from privgmm.privacy import Curator, NoiseSource, OpenDPNoise, SeededNoise
from privgmm.proven.uncertainty import Estimate, possible
from privgmm.releases import Guarantee
from privgmm.transform import Standardise, Step
from privgmm.transform.prepare import prepare
from privgmm.types import Floats

if TYPE_CHECKING:
    from privgmm.proven.record.rounds import Grid


@dataclass(frozen=True, eq=False)
class MechanismRows:
    """Rows as the mechanism sees them: after preprocessing and, at record level, in unit coordinates."""

    source: Source
    steps: tuple[Step, ...]
    region: Region | None
    features: Features | None
    encoding: Encoding | None = None


def proven(request: OpenedRequest) -> Made:
    """Ask the curator until the budget is spent, and state what that is worth."""
    asked, source, adjacency = request.asked, request.source, request.adjacency
    noise: NoiseSource = (
        OpenDPNoise() if request.asked.seed is None else SeededNoise(request.asked.seed)
    )
    curator = Curator(source, noise, adjacency, asked.epsilon, asked.delta, asked.stage)
    rows = _prepared(request, curator)
    if rows.source is not source:
        curator.look_at(rows.source)
    encoding = rows.encoding
    if request.unit == "label" or request.plain:
        found = _estimate(request, rows, curator)
    else:
        from privgmm.proven.record.mixed import release_mixed

        found, encoding = release_mixed(
            curator, rows.source, request.columns, len(request.classes), request.public_units,
            request.asked.objective,
        )  # fmt: skip
    ran = curator.mechanisms
    weights, means, covariances, errors, parts, margins = found
    if rows.region is not None:
        means, covariances = rows.region.from_unit(means, covariances)
        errors = errors and errors.moved(rows.region.scale, rows.region.center)
        margins = margins and margins.moved(rows.region.scale, rows.region.center)
        if parts is not None:
            moved = rows.region.from_unit(parts.means, parts.covariances)
            parts = parts._replace(means=moved[0], covariances=moved[1])
    stated = None if request.unit == "label" or rows.steps else _stated(request.columns, encoding)
    if stated is not None and errors is not None and parts is None:
        means, covariances = possible(means, covariances, errors.means, *stated)
    guarantee = Guarantee(
        status="proven",
        unit=request.unit,
        adjacency=adjacency,
        epsilon=request.asked.epsilon,
        delta=request.asked.delta,
        mu=curator.mu,
        publishable=noise.publishable and not request.rows.classes_from_data,
        mechanisms=ran,
        assumed_public=assumed_public(request),
        not_protected=limits(request),
        notes=notes(request, rows.steps),
        seeded=not noise.publishable,
        classes_from_data=request.rows.classes_from_data,
        person=request.person,
    )
    if request.hides_number:
        warn_of_delta(request, curator.noisy_rows)
    mixture = Mixture(weights, means, covariances, request.classes)
    components = parts and ComponentMixture(Mixture(*parts[:3]), parts.owners, request.classes)
    return Made(mixture, guarantee, rows.steps, errors, components, margins, encoding)


def _prepared(request: OpenedRequest, curator: Curator) -> MechanismRows:
    """Preprocess by the rules of the unit, then move the stated region to the unit ball."""
    if not request.steps:
        if request.unit == "label" and not request.plain:
            return _encoded(request)
        if request.unit == "label":
            return MechanismRows(request.source, (), None, request.rows.features)
        if not request.plain:
            return MechanismRows(request.source, (), None, None)
        assert request.region is not None
        mapped = MappedSource(request.source, request.region.to_unit)
        return MechanismRows(mapped, (), request.region, None)
    memory = request.in_memory

    def pay(rows: Floats, lo: Floats, hi: Floats) -> Standardise:
        from privgmm.transform.prepare import standardise_privately

        # The rows so far are the same records, each mapped on its own.
        curator.look_at(replace(memory, X=rows))
        mu = curator.mu * math.sqrt(request.asked.preprocessing_share)
        return standardise_privately(curator, lo, hi, mu, request.public_units)

    prepared = request.prepared or prepare(
        request.steps, memory.X, request.unit, paid_standardise=pay, **request.stated
    )
    source = replace(memory, X=prepared.X)
    if request.unit == "label":
        return MechanismRows(source, prepared.steps, None, ArrayFeatures(prepared.X, memory.shares))
    region = stated_region(source.dim, **{**_NOTHING_STATED, **prepared.region})
    return MechanismRows(MappedSource(source, region.to_unit), prepared.steps, region, None)


def _encoded(request: OpenedRequest) -> MechanismRows:
    """Public features with categories and missing cells as numbers; the encoding is chosen from these features alone."""
    from privgmm.proven.label import public_encoding

    encoding = public_encoding(request.rows.features, request.columns)
    source = MappedSource(request.source, encoding)
    return MechanismRows(
        source, (), None, EncodedFeatures(request.rows.features, encoding), encoding
    )


_NOTHING_STATED = {"bounds": None, "radius": None, "center": None}


def _estimate(request: OpenedRequest, rows: MechanismRows, curator: Curator) -> Estimate:
    k = len(request.classes)
    if rows.features is not None:
        from privgmm.proven.label import release_label

        if request.asked.stage is not None:
            request.asked.stage("grouping the public features", 0.0)
        return release_label(
            rows.features,
            curator,
            k,
            request.asked.objective,
            totals_public=not request.drop_bad,
            components=request.asked.components_per_class,
            steps=_steps(request, rows),
        )
    assert rows.region is not None
    grid = None if rows.steps else _grid(request.columns, rows.region)
    if not request.labelled:
        from privgmm.proven.unlabelled import release_unlabelled

        return release_unlabelled(
            curator, k, rows.source.dim, request.public_units, request.asked.objective,
            shapes=True, extent=rows.region.extent, grid=grid,
        )  # fmt: skip
    from privgmm.proven.record import release_record

    return release_record(
        curator, k, rows.source.dim, request.public_units, request.asked.objective, rows.region.extent,
        request.asked.components_per_class, shapes=True, grid=grid,
    )  # fmt: skip


def _steps(request: OpenedRequest, rows: MechanismRows) -> tuple[float | None, ...]:
    """The distances between values, by column of the model (by stated column, where columns are encoded)."""
    if rows.steps:
        return (None,) * rows.source.dim
    return tuple(column.step for column in request.columns)


def _grid(columns: tuple[Column, ...], region: Region) -> Grid | None:
    """Bins for columns whose ranges were stated; each is a whole number of steps wide where steps were stated. None without ranges."""
    stated = _stated(columns, None)
    if stated is None:
        return None
    # Imported here, as every mechanism is, so that a release loads only the one that it runs.
    from privgmm.proven.record.rounds import step_grid

    low, high, step = stated
    center, scale = region.center, region.scale
    return step_grid((low - center) / scale, (high - center) / scale, step / scale)


def _stated(
    columns: tuple[Column, ...], encoding: Encoding | None
) -> tuple[Floats, Floats, Floats] | None:
    """Ranges and steps (NaN: any value) of the columns of the model, (d,) each; None where ranges were not stated."""
    # What fills a missing cell need not be a value that the column can have.
    known = [None if column.missing else column.step for column in columns]
    steps = np.array([np.nan if step is None else step for step in known])
    if encoding is not None:
        low, high = encoding.bounds
        # Levels and missing cells are columns of 0 and 1.
        own = np.ones(encoding.dim)
        own[[encoding.places[j].start for j in encoding.numbers]] = steps[list(encoding.numbers)]
        return low, high, own
    if any(column.lo is None for column in columns):
        return None
    low, high = np.array([(column.lo, column.hi) for column in columns], dtype=np.float64).T
    return low, high, steps
