"""The release document: JSON, versioned, checked against its schema on load. No pickle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from privgmm.errors import InputError
from privgmm.model.mixture import Mixture
from privgmm.releases.guarantee import Guarantee, Mechanism, Status, Unit
from privgmm.releases.release import Release
from privgmm.transform import from_dict, to_dict

FORMAT = "privgmm-release"
VERSION = 1
LARGEST_FILE = 1 << 28


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class MixturePart(_Part):
    classes: list[bool | int | float | str] = Field(min_length=1)
    weights: list[float] = Field(min_length=1)
    means: list[list[float]] = Field(min_length=1)
    covariances: list[list[list[float]]] = Field(min_length=1)


class MechanismPart(_Part):
    query: str
    coordinates: int = Field(ge=1)
    sensitivity: float = Field(gt=0)
    sigma: float = Field(gt=0)
    mu: float = Field(gt=0)


class GuaranteePart(_Part):
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


class ReleaseDocument(_Part):
    """One published Gaussian mixture with its differential-privacy statement."""

    format: Literal["privgmm-release"]
    version: Literal[1]
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    features: list[str] = Field(min_length=1)
    label: str
    preprocessing: list[dict[str, Any]]
    mixture: MixturePart
    guarantee: GuaranteePart
    software: dict[str, str]


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
        "mixture": {
            "classes": list(mixture.classes),
            "weights": mixture.weights.tolist(),
            "means": mixture.means.tolist(),
            "covariances": mixture.covariances.tolist(),
        },
        "guarantee": guarantee,
        "software": dict(release.software),
    }
    body = json.loads(json.dumps(body, allow_nan=False))
    return json.dumps({**body, "sha256": _digest(body)}, indent=1, ensure_ascii=True) + "\n"


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
    if content.get("sha256") != _digest({k: v for k, v in content.items() if k != "sha256"}):
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
    )
    mixture = Mixture(model.weights, model.means, model.covariances, model.classes)
    return Release(
        mixture,
        guarantee,
        tuple(document.features),
        document.label,
        tuple(from_dict(step) for step in document.preprocessing),
        document.software,
    )


def _digest(body: dict[str, Any]) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


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
