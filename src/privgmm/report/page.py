"""The report: facts about a release, pictures of it, and one template that puts them on a page."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from typing import Any

from numpy.typing import ArrayLike

from privgmm.model.picture import choose, class_keys
from privgmm.releases import Release
from privgmm.releases.column_lines import numbers
from privgmm.releases.guarantee import budget_rows
from privgmm.releases.wording import (
    HOW_FAR_OFF,
    badges,
    best_guess,
    guess_between,
    known_limits,
    not_usable,
    printable,
)
from privgmm.report.model import (
    category_blocks,
    class_rows,
    feature_blocks,
    pair_panels,
    parameter_rows,
    preview,
)
from privgmm.report.numbers import number, padded, percent
from privgmm.report.reference import Reference, beside, reference_of
from privgmm.report.svg import house_style
from privgmm.transform import describe


def write_report(
    release: Release,
    path: str | os.PathLike[str],
    reference: tuple[ArrayLike, ArrayLike] | None = None,
) -> None:
    """Write the report of a release as one HTML file; it appears whole or not at all.

    ``reference`` = (X, y), the private rows in the user's columns, adds their fit and histograms to the pictures
    and sets them beside synthetic rows: such a copy is for the curator's eyes only, and says so on every
    screen and printed page. X is a frame, or an array as ``Release.sample`` gives it.
    """
    from privgmm.files import whole_file

    text = render(release, reference)
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(release: Release, reference: tuple[ArrayLike, ArrayLike] | None = None) -> str:
    """The report as text: the same release gives the same bytes."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        name=printable, number=number, padded=padded, percent=percent, unbroken=_unbroken
    )
    here = files("privgmm.report")
    template = environment.from_string(here.joinpath("report.html.j2").read_text("utf-8"))
    private = None if reference is None else reference_of(release, *reference)
    style = Markup(here.joinpath("report.css").read_text("utf-8"))
    with house_style():
        facts = _facts(release, private)
    return str(template.render(style=style, **facts))


def _facts(release: Release, private: Reference | None) -> dict[str, Any]:
    mixture, guarantee = release.mixture, release.guarantee
    shown = numbers(release)
    view = choose(mixture if shown is None else shown.mixture)
    keys = class_keys([printable(name) for name in mixture.classes])
    return {
        "release": release,
        "mixture": mixture,
        "guarantee": guarantee,
        "private": private,
        "view": view,
        "badges": badges(guarantee),
        "guess": best_guess(guarantee),
        "guess_between": guess_between(guarantee),
        "limits": known_limits(release),
        "budget": budget_rows(guarantee),
        "classes": class_rows(release, keys),
        "features": feature_blocks(release, shown, view, private),
        "categories": category_blocks(release, view, private),
        "numbers": 0 if shown is None else shown.mixture.dim,
        "pairs": pair_panels(release, shown, view, keys),
        "parameters": parameter_rows(release),
        "how_far_off": HOW_FAR_OFF if release.errors is not None else "",
        "not_usable": not_usable(release),
        "preview": preview(release),
        "beside": None if private is None else beside(release, private),
        "steps": [describe(step) for step in release.preprocessing],
        "fingerprint": _fingerprint(release),
    }


def _unbroken(sentence: str) -> str:
    """Keep "(1, 1e-05)-differential" on one line: no break inside a pair of numbers."""
    firm = str.maketrans({" ": "\N{NO-BREAK SPACE}", "-": "\N{NON-BREAKING HYPHEN}"})
    return re.sub(r"\([^()]*, [^()]*\)-", lambda pair: pair.group().translate(firm), sentence)


def _fingerprint(release: Release) -> str:
    """The digest of the release document, by which a report can be matched to its file."""
    import json

    from privgmm.releases.document import dump

    return str(json.loads(dump(release))["sha256"])
