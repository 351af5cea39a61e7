"""Shares and means come first and μ later; after preprocessing the page says in which columns the model lives."""

import re

import numpy as np
import pytest

import privgmm
from privgmm.datasets import synthetic
from privgmm.releases.statement import statement_text
from privgmm.report import render

X, Y = synthetic(300, 2, 3, seed=0)
NAMES = ["a", "b", "c"]


def released(steps):
    return privgmm.release(
        np.exp(X / 10), Y, classes=[0, 1], feature_names=NAMES, preprocessing=steps
    )


@pytest.fixture(scope="module")
def plain():
    return released([])


@pytest.fixture(scope="module")
def mapped():
    return released(["log", "pca:2"])


def positions(text, words):
    return [text.index(word) for word in words]


def test_the_page_tells_shares_and_means_before_mu(plain):
    page = render(plain)
    headings = re.findall(r"<h2 id=\"(\w+)\"", page)
    assert headings[:2] == ["weights", "parameters"]
    at = positions(page, ["Share of each class", "Means and standard", "μ = "])
    assert at == sorted(at)


def test_the_terminal_tells_shares_and_means_before_mu(plain):
    text = statement_text(plain)
    at = positions(text, ["Share of each class", "Mean ± error", "\nmu ", "Where the budget went"])
    assert at == sorted(at)


def test_after_preprocessing_the_page_claims_nothing_in_the_units_of_the_table(plain, mapped):
    page = render(mapped)
    assert "in the units of the table" in render(plain)
    assert "in the units of the table" not in page
    assert "not in the table's own units" in page
    assert "release.transform(X)" in page
    parameters = page[page.index('id="parameters"') : page.index('id="marginals"')]
    assert [name in parameters for name in ("pc1", "pc2", "<bdi>a</bdi>")] == [True, True, False]


@pytest.mark.parametrize("which", ["plain", "mapped"])
def test_the_loading_snippet_runs_as_printed(which, request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = request.getfixturevalue(which)
    release.save("release.json")
    snippet = re.search(r"<pre><code>(import privgmm.*?)</code>", render(release), re.DOTALL)[1]
    space = {}
    exec(snippet.replace("&#34;", '"'), space)
    own = space["release"].predict(space["X"])
    model = space["release"].to_sklearn()
    assert (np.array([0, 1])[model.predict(release.transform(space["X"]))] == own).all()


def test_the_key_of_the_curves_has_all_their_colours(plain):
    page = render(plain)
    key = re.search(r'<p class="key".*?</p>', page, re.DOTALL)[0]
    assert set(re.findall(r"var\(--c(\d)\)", key)) == {"0", "1"}
