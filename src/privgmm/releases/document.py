"""The release document: JSON, versioned, checked against its schema on load. No pickle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any, Literal

import rfc8785
from pydantic import Field, ValidationError

from privgmm.errors import InputError
from privgmm.model.components import ComponentMixture
from privgmm.model.mixture import Mixture
from privgmm.releases.blocks import (
    ColumnPart,
    DocumentPart,
    EncodingPart,
    ErrorsPart,
    MarginsPart,
    columns_block,
    columns_of,
    encoding_block,
    encoding_of,
    from_block,
    margins_block,
    margins_of,
    to_block,
)
from privgmm.releases.guarantee import Guarantee
from privgmm.releases.release import Release
from privgmm.transform import from_dict, to_dict
from privgmm.types import Mechanism, PersonUnit, Status, Unit

FORMAT = "privgmm-release"
# 2 added ``errors`` and ``person``, 3 ``components``, ``columns``, ``order``, ``encoding``, ``margins`` and the digest over
# the canonical form of RFC 8785. Older documents are read as before, and checked by the digest they were written with.
VERSION = 3
_CANONICAL_SINCE = 3
LARGEST_FILE = 1 << 28


class MixturePart(DocumentPart):
    """The mixture as numbers; shapes and definiteness are checked by ``Mixture`` itself."""

    classes: list[bool | int | float | str] = Field(min_length=1)
    weights: list[float] = Field(min_length=1)
    means: list[list[float]] = Field(min_length=1)
    covariances: list[list[list[float]]] = Field(min_length=1)


class ComponentsPart(DocumentPart):
    """Gaussians inside the classes; ``owners`` are positions in the class list. Checked by ``ComponentMixture``."""

    owners: list[int] = Field(min_length=1)
    weights: list[float] = Field(min_length=1)
    means: list[list[float]] = Field(min_length=1)
    covariances: list[list[list[float]]] = Field(min_length=1)


class MechanismPart(DocumentPart):
    """One ``Mechanism`` of the statement."""

    query: str
    coordinates: int = Field(ge=1)
    sensitivity: float = Field(gt=0)
    sigma: float = Field(gt=0)
    mu: float = Field(gt=0)


class PersonPart(DocumentPart):
    """Whose rows are protected together, and how they count."""

    column: str = Field(min_length=1)
    max_rows: int | None = Field(default=None, ge=1)


class GuaranteePart(DocumentPart):
    """The statement, with the sentences that a reader of the file needs."""

    status: Status
    unit: Unit
    adjacency: str
    neighbours: str
    promise: str
    epsilon: float = Field(gt=0)
    delta: float = Field(gt=0, lt=1)
    mu: float | None = Field(default=None, gt=0)
    publishable: bool
    mechanisms: list[MechanismPart]
    assumed_public: list[str]
    not_protected: list[str]
    notes: list[str]
    seeded: bool = False
    classes_from_data: bool = False
    person: PersonPart | None = None


class ReleaseDocument(DocumentPart):
    """One published Gaussian mixture with its differential-privacy statement."""

    format: Literal["privgmm-release"]
    version: Literal[1, 2, 3]
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    features: list[str] = Field(min_length=1)
    label: str
    preprocessing: list[dict[str, Any]]
    mixture: MixturePart
    guarantee: GuaranteePart
    software: dict[str, str]
    errors: ErrorsPart | None = None
    components: ComponentsPart | None = None
    columns: list[ColumnPart] = Field(default_factory=list)
    order: list[str] = Field(default_factory=list)
    encoding: EncodingPart | None = None
    margins: MarginsPart | None = None


def dump(release: Release) -> str:
    """The document as text; floats are written so that they read back to the same bits."""
    mixture = release.mixture
    guarantee = asdict(release.guarantee)
    guarantee["neighbours"] = release.guarantee.neighbours
    guarantee["promise"] = release.guarantee.promise
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "features": list(release.feature_names),
        "label": release.label_name,
        "preprocessing": [to_dict(step) for step in release.preprocessing],
        "mixture": {"classes": list(mixture.classes), **_numbers(mixture)},
        "guarantee": guarantee,
        "software": dict(release.software),
    }
    if release.errors is not None:
        body["errors"] = to_block(release.errors)
    if release.components is not None:
        owners = release.components.owners.tolist()
        body["components"] = {"owners": owners, **_numbers(release.components.parts)}
    body["columns"] = columns_block(release.columns)
    body["order"] = list(release.order)
    if release.encoding is not None:
        body["encoding"] = encoding_block(release.encoding)
    if release.margins is not None:
        body["margins"] = margins_block(release.margins)
    body = json.loads(json.dumps(body, allow_nan=False))
    digest = _digest(body)
    if digest is None:
        raise InputError(
            "Whole numbers beyond 2^53 cannot be published exactly; write them as texts."
        )
    return json.dumps({**body, "sha256": digest}, indent=1, ensure_ascii=True) + "\n"


def parse(data: bytes, name: str) -> Release:
    """A release from the bytes of a document, or one sentence on why not."""
    content = _json_object(data, name)
    if content.get("format") != FORMAT:
        raise InputError(f"{name} is not a privgmm release document.")
    newer = content.get("version")
    if isinstance(newer, int) and newer > VERSION:
        raise InputError(
            f"{name} has format version {newer}, newer than this privgmm reads ({VERSION}); "
            "upgrade privgmm to open it."
        )
    if content.get("sha256") != _digest(content):
        raise InputError(f"{name} was changed or damaged after it was written; get a fresh copy.")
    try:
        return _release(ReleaseDocument.model_validate_json(data))
    except (ValidationError, InputError, ValueError, OverflowError):
        raise InputError(f"{name} is not a valid privgmm release document.") from None


def schema() -> dict[str, Any]:
    """The JSON Schema of the document; ``release.schema.json`` beside this file is a copy."""
    return ReleaseDocument.model_json_schema()


def _release(document: ReleaseDocument) -> Release:
    part, model = document.guarantee, document.mixture
    guarantee = Guarantee(
        status=part.status,
        unit=part.unit,
        adjacency=part.adjacency,
        epsilon=part.epsilon,
        delta=part.delta,
        mu=part.mu,
        publishable=part.publishable,
        mechanisms=tuple(Mechanism(**m.model_dump()) for m in part.mechanisms),
        assumed_public=tuple(part.assumed_public),
        not_protected=tuple(part.not_protected),
        notes=tuple(part.notes),
        seeded=part.seeded,
        classes_from_data=part.classes_from_data,
        person=None if part.person is None else PersonUnit(**part.person.model_dump()),
    )
    mixture = Mixture(model.weights, model.means, model.covariances, model.classes)
    return Release(
        mixture,
        guarantee,
        tuple(document.features),
        document.label,
        tuple(from_dict(step) for step in document.preprocessing),
        document.software,
        None
        if document.errors is None
        else from_block(document.errors, mixture.n_classes, mixture.dim),
        None if document.components is None else _components(document.components, mixture),
        columns_of(document.columns),
        None if document.margins is None else margins_of(document.margins),
        tuple(document.order),
        encoding_of(document.encoding, document.columns),
    )


def _numbers(mixture: Mixture) -> dict[str, Any]:
    return {
        "weights": mixture.weights.tolist(),
        "means": mixture.means.tolist(),
        "covariances": mixture.covariances.tolist(),
    }


def _components(part: ComponentsPart, mixture: Mixture) -> ComponentMixture:
    parts = Mixture(part.weights, part.means, part.covariances)
    return ComponentMixture(parts, part.owners, mixture.classes)


def _digest(content: dict[str, Any]) -> str | None:
    """SHA-256 of all members but the digest itself; None where the content has no canonical form.

    Since version 3 it is taken over the canonical form of RFC 8785, which any language can write; before, over Python's JSON.
    """
    body = {name: value for name, value in content.items() if name != "sha256"}
    version = body.get("version")
    if isinstance(version, int) and version < _CANONICAL_SINCE:
        old = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(old.encode()).hexdigest()
    try:
        return hashlib.sha256(rfc8785.dumps(body)).hexdigest()
    except (rfc8785.CanonicalizationError, ValueError, RecursionError):
        return None


def _json_object(data: bytes, name: str) -> dict[str, Any]:
    def refuse(_: str) -> float:
        raise ValueError("not a finite number")

    try:
        content = json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not readable JSON; it may be cut off or damaged.") from None
    if not isinstance(content, dict):
        raise InputError(f"{name} is not a privgmm release document.")
    return content
