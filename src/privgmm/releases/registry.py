"""The statement as an entry of the OpenDP deployments registry (YAML).

Field names are those of the registry's own schema (``schemas/deployments-schema.yaml`` of
github.com/opendp/deployments-registry-data), which follows NIST SP 800-226. What only the curator
knows (who publishes, why, when) is marked so that the registry's check refuses the entry until it
is filled in.
"""

from __future__ import annotations

from typing import Any

from privgmm.errors import InputError
from privgmm.releases.release import Release
from privgmm.releases.wording import badges, composition, known_limits, printable

FILL_IN = "FILL IN"
_HEAD = (
    "# Draft entry for the OpenDP deployments registry, written by privgmm.\n"
    f"# Replace every {FILL_IN!r} before submitting; only the curator knows those facts.\n"
)


def registry_yaml(release: Release) -> str:
    """The registry entry of a release, as text."""
    try:
        import yaml
    except ImportError:
        raise InputError("Registry YAML needs PyYAML; install privgmm[yaml].") from None

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # yaml ships no types
        """Writes lists of mechanisms as blocks of lines, as the registry's own entries have them."""

    def block(dumper: Any, text: str) -> Any:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, block)
    entry = registry_entry(release)
    return _HEAD + str(
        yaml.dump(entry, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    )


def registry_entry(release: Release) -> dict[str, Any]:
    """The registry entry as plain dictionaries."""
    return {
        "url_slug": FILL_IN,
        "deployment": {
            "basic": _basic(release),
            "dp_variant": _variant(release),
            "privacy_loss": _loss(release),
            "deployment_model": _model(),
            "implementation": _implementation(release),
            "administrative": {"status": "Draft", "registry_authors": [FILL_IN], "tier": 3},
        },
    }


def _basic(release: Release) -> dict[str, Any]:
    mixture = release.mixture
    return {
        "name": FILL_IN,
        "data_curators": [{"data_curator_name": FILL_IN, "data_curator_type": FILL_IN}],
        "description": (
            f"A Gaussian mixture model with {mixture.n_classes} classes and {mixture.dim} "
            "features: class weights, means and covariances, from which synthetic rows can be "
            f"drawn. {FILL_IN}: what the rows are."
        ),
        "intended_use": FILL_IN,
        "data_product_type": "Machine learning model",
        "data_product_region": FILL_IN,
        "publication_date": FILL_IN,
    }


def _variant(release: Release) -> dict[str, Any]:
    guarantee = release.guarantee
    rows = f"Tables of rows with {release.mixture.dim} numeric features and a class label"
    public = _sentence("Assumed public", guarantee.assumed_public)
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"{rows}. {public}".strip(),
        "unprotected_quantities": "; ".join(_plain(guarantee.not_protected)) or "None.",
    }


def _loss(release: Release) -> dict[str, Any]:
    guarantee = release.guarantee
    details = " ".join(f"{badge.title}. {badge.meaning}" for badge in badges(guarantee))
    if guarantee.mu is not None:
        details = f"mu = {guarantee.mu!r} of Gaussian differential privacy. {details}"
    unit = {"label": "The label of one row", "record": "One row"}[guarantee.unit]
    if guarantee.person is not None:
        unit = printable(guarantee.protected, 300).capitalize()
    return {
        "privacy_unit": unit,
        "privacy_unit_details": f"Neighbouring tables: {printable(guarantee.neighbours, 300)}.",
        "privacy_parameters": {"epsilon": guarantee.epsilon, "delta": guarantee.delta},
        "privacy_parameters_details": details,
    }


def _model() -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": "A curator who holds the rows runs the mechanisms and publishes "
        "the released model only.",
        "trust_assumptions": FILL_IN,
        "release_type": "One release",
        "release_type_details": f"{FILL_IN}: plans for further releases about the same rows.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _implementation(release: Release) -> dict[str, Any]:
    guarantee = release.guarantee
    return {
        "preprocessing_and_hyperparameter_tuning": " ".join(
            [
                f"Epsilon and delta were stated by the curator. {FILL_IN}: how they were chosen, "
                "and what was done to or learned from the data before.",
                _sentence("Notes", guarantee.notes),
            ]
        ).strip(),
        "mechanisms": _mechanisms(release),
        "composition": composition(guarantee),
        "post_processing": "The noisy answers were turned into a valid mixture (weights on the "
        "simplex, positive definite covariances); sampling from it costs no further privacy.",
        "justification": printable(guarantee.promise, 900),
        "utility": " ".join(known_limits(release)),
        "additional_information": "Software: "
        + ", ".join(_plain(tuple(f"{n} {v}" for n, v in release.software.items())))
        + ".",
    }


def _mechanisms(release: Release) -> str:
    guarantee = release.guarantee
    if guarantee.status == "as-published":
        return (
            "As printed in the paper: coloured Gaussian noise on means, Wishart noise on "
            "covariances, a random map on weights. Not proven."
        )
    noise = (
        "discrete Gaussian noise from OpenDP and the operating system's randomness, added to exact "
        "integer sums, so that floating-point attacks do not apply"
        if not guarantee.repeatable
        else "seeded pseudo-random noise, for an experiment only"
    )
    lines = [
        f"- {printable(m.query)}: {m.coordinates} coordinates, L2 sensitivity "
        f"{m.sensitivity:.6g}, sigma {m.sigma:.6g}, mu {m.mu:.6g}"
        for m in guarantee.mechanisms
    ]
    return "\n".join([f"Gaussian mechanisms with {noise}:", *lines])


def _sentence(title: str, facts: tuple[str, ...]) -> str:
    return f"{title}: {'; '.join(_plain(facts))}." if facts else ""


def _plain(facts: tuple[str, ...]) -> list[str]:
    return [printable(fact, 600).rstrip(".") for fact in facts]
