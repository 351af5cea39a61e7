"""``make docs``: the site builds without a broken link, and its pages fetch nothing from elsewhere."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What a browser fetches by itself; links that a reader may follow are no business of this test.
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.mark.slow
def test_the_site_is_whole_and_stands_alone(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    fetched = {target for page in pages for target in FETCHED.findall(page.read_text("utf-8"))}
    assert any(target.endswith(".css") for target in fetched)
    assert [target for target in fetched if re.match(r"(https?:)?//", target)] == []


@pytest.mark.slow
def test_reference_and_command_are_made_from_the_code(site):
    python = (site / "reference" / "python.html").read_text("utf-8")
    assert "Publish a Gaussian mixture of the rows" in python
    assert 'id="privgmm.Release.sample"' in python
    command = (site / "reference" / "command.html").read_text("utf-8")
    assert "--adjacency" in command


def test_docstring_entries_become_lists():
    pytest.importorskip("griffe")
    markdown = runpy.run_path(str(ROOT / "tools" / "site_docstrings.py"))["markdown"]
    text = "Do it.\n\nParameters\n----------\na, b : two things,\n    both needed\nc : one : more\n"
    lines = ["Do it.", "", "**Parameters**", "", "- `a, b`: two things,", "    both needed"]
    assert markdown(text).splitlines() == [*lines, "- `c`: one : more"]
