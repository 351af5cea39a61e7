"""The statement for a terminal and for the registry: right numbers, honest words, safe names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml
from scipy.stats import norm

from privgmm import Mixture
from privgmm.releases import Guarantee, Mechanism, Release
from privgmm.releases.guarantee import budget_rows
from privgmm.releases.registry import FILL_IN, registry_entry, registry_yaml
from privgmm.releases.statement import print_statement, statement_text
from privgmm.releases.wording import best_guess, known_limits, printable

# The registry's fields (schemas/deployments-schema.yaml, checked 2026-11); it allows no others.
REGISTRY_FIELDS = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type",
        "data_product_region", "data_product_sector", "publication_date",
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type",
        "release_type_details", "data_source_type", "data_source_type_details", "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing",
        "justification", "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip


def make(
    classes: Any = ("ill", "well"), features: Any = ("age", "dose"), **changes: Any
) -> Release:
    stated: dict[str, Any] = {
        "status": "proven",
        "unit": "label",
        "adjacency": "label",
        "epsilon": 1.0,
        "delta": 1e-5,
        "mu": 0.25,
        "publishable": True,
        "mechanisms": (
            Mechanism("counts", 4, 1.5, 7.5, 0.2),
            Mechanism("moments", 10, 1.5, 10.0, 0.15),
        ),
        "assumed_public": ("the class list",),
        "not_protected": ("the features of every row",),
        "notes": ("mind the gap",),
    }
    k, d = len(classes), len(features)
    mixture = Mixture(
        np.full(k, 1 / k),
        np.arange(k * d).reshape(k, d),
        np.tile(4 * np.eye(d), (k, 1, 1)),
        classes,
    )
    return Release(mixture, Guarantee(**{**stated, **changes}), tuple(features), "state")


AS_PUBLISHED: dict[str, Any] = {
    "status": "as-published",
    "mu": None,
    "publishable": False,
    "mechanisms": (),
}


def test_the_statement_says_everything() -> None:
    release = make()
    text = " ".join(statement_text(release).split())
    assert text.startswith("PROVEN")
    assert release.guarantee.promise in text
    for words in (
        "counts 4 1.500 7.500 0.2000 64.0%",  # 0.2^2 / 0.25^2
        "moments 10 1.500 10.00 0.1500 36.0%",
        "ill 50.0 %",
        "well 2 (2) 3 (2)",
        "the class list",
        "the features of every row",
        "mind the gap",
        "at most 55.0% right",
        "numpy",
    ):
        assert words in text


def test_unproven_and_seeded_releases_are_named_first() -> None:
    assert statement_text(make(**AS_PUBLISHED)).startswith("AS PUBLISHED: NOT PROVEN")
    assert statement_text(make(publishable=False)).startswith("EXPERIMENT: DO NOT PUBLISH")
    assert "(claimed)" in statement_text(make(**AS_PUBLISHED))
    assert "best guess" not in statement_text(make(**AS_PUBLISHED))


@pytest.mark.parametrize("mu", [0.01, 0.2681, 1.0, 3.0])
def test_best_guess_bounds_the_gaussian_test_from_above(mu: float) -> None:
    """An attacker's likelihood-ratio test between N(0,1) and N(mu,1), by simulation of the optimum."""
    guess = best_guess(make(mu=mu).guarantee)
    assert guess is not None
    exact = norm.cdf(mu / 2)
    assert exact <= guess <= exact + 1.1e-3
    draws = np.random.default_rng(0).normal(size=200_000)
    right = ((draws < mu / 2).mean() + (draws + mu > mu / 2).mean()) / 2
    assert right <= guess + 3e-3


def test_shares_add_to_one_with_the_unspent_rest() -> None:
    rows = budget_rows(make(mu=0.3).guarantee)
    assert [row.mechanism is None for row in rows] == [False, False, True]
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert rows[-1].share == pytest.approx(1 - 0.0625 / 0.09)
    assert len(budget_rows(make(mu=0.25).guarantee)) == 2
    assert budget_rows(make(**AS_PUBLISHED).guarantee) == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[2Jgone", "\\u001b[2Jgone"),
        ("a\u202eb", "a\\u202eb"),
        ("two\nlines", "two\\u000alines"),
        ("\ud800", "\\ud800"),
        ("", "(blank)"),
        ("  ", "(blank)"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("x" * 200, "x" * 119 + "…"),
        (7, "7"),
    ],
)
def test_printable(text: object, shown: str) -> None:
    assert printable(text) == shown


def test_names_cannot_drive_the_terminal() -> None:
    hostile = ["[bold red]x[/]", "\x1b[31mred", ":smile:", "\u202egnp"]
    text = statement_text(make(classes=hostile, features=["[/]", "\x07bell"]))
    assert "[bold red]x[/]" in text
    assert ":smile:" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert text.encode()


def test_large_models_are_cut_with_a_word() -> None:
    text = statement_text(make(classes=list(range(60)), features=[f"f{j}" for j in range(30)]))
    assert "and 20 more" in text
    assert "first 8 of 30 columns" in text
    assert "f8" not in text


def test_many_columns_are_read_from_above_to_below_and_no_number_is_broken() -> None:
    features = [f"a column with a long name {j}" for j in range(13)]
    text = statement_text(make(classes=["a", "b", "c", "d"], features=features), width=60)
    means = text[text.index("Mean (standard") : text.index("unit ")]
    assert (
        means.count("\n column ") == 2
    )  # two tables, since four classes do not fit beside one another
    for name in features:
        assert means.count(f"{name} ") == 2
    assert max(map(len, means.splitlines())) <= 60


def test_colours_are_for_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    print_statement(make())
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("changes", [{}, {"publishable": False}, AS_PUBLISHED, {"unit": "record"}])
def test_the_registry_entry_has_the_registrys_fields(changes: dict[str, Any]) -> None:
    release = make(**changes)
    entry = yaml.safe_load(registry_yaml(release))
    assert entry == registry_entry(release)
    assert set(entry) == {"url_slug", "deployment"}
    assert set(entry["deployment"]) == set(REGISTRY_FIELDS)
    for part, allowed in REGISTRY_FIELDS.items():
        assert set(entry["deployment"][part]) <= allowed
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-5}
    assert entry["deployment"]["deployment_model"]["model_name"] == "Central"
    assert entry["deployment"]["administrative"]["status"] == "Draft"


def test_the_registry_entry_states_mechanisms_and_leaves_the_curators_facts_open() -> None:
    deployment = registry_entry(make())["deployment"]
    assert (
        "counts: 4 coordinates, L2 sensitivity 1.5, sigma 7.5, mu 0.2"
        in (deployment["implementation"]["mechanisms"])
    )
    assert "mu = 0.25 " in deployment["privacy_loss"]["privacy_parameters_details"]
    assert "the features of every row" in deployment["dp_variant"]["unprotected_quantities"]
    for field in ("name", "intended_use", "publication_date", "data_product_region"):
        assert deployment["basic"][field] == FILL_IN


def test_the_registry_entry_never_claims_more_than_the_release() -> None:
    assert (
        "Not proven"
        in registry_entry(make(**AS_PUBLISHED))["deployment"]["implementation"]["mechanisms"]
    )
    seeded = registry_entry(make(publishable=False))["deployment"]["implementation"]["mechanisms"]
    assert "seeded" in seeded
    assert "operating system" not in seeded


def test_hostile_names_survive_yaml() -> None:
    release = make(
        not_protected=("a: b", "- c", "'quoted\" # not a comment", "\x00\u2028", "\ud800")
    )
    text = registry_yaml(release)
    assert yaml.safe_load(text) == registry_entry(release)
    assert text.encode()


def limits_of(release):
    return known_limits(release)


def test_limits_depend_on_the_unit_and_the_status() -> None:
    label, record = (limits_of(make(unit=u)) for u in ("label", "record"))
    assert any("Only labels" in line for line in label)
    assert any("m times mu" in line for line in record)
    assert "does not hold" in limits_of(make(**AS_PUBLISHED))[0]


def test_several_gaussians_per_class_are_said_in_one_sentence() -> None:
    from privgmm.model.components import ComponentMixture
    from privgmm.releases.wording import class_shape

    plain = make()
    assert class_shape(plain).startswith("Each class is one Gaussian.")
    m, k = plain.mixture, plain.mixture.n_classes
    halves = Mixture(
        np.tile(m.weights / 2, 2), np.tile(m.means, (2, 1)), np.tile(m.covariances, (2, 1, 1))
    )
    model = ComponentMixture(halves, np.tile(np.arange(k), 2), m.classes)
    release = Release(model.moments(), plain.guarantee, components=model)
    assert f"a mixture of 2 Gaussians, {2 * k} in all" in " ".join(statement_text(release).split())
