"""The report as text: what it says, what it never says, and that it is one file."""

from __future__ import annotations

import re
import time
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privgmm import InputError, Mixture
from privgmm.releases import Release
from privgmm.report import render, write_report
from privgmm.report.numbers import number


class Page(HTMLParser):
    """Tags, attributes and text of a page, with unclosed elements refused."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words)).replace("\N{NON-BREAKING HYPHEN}", "-")


def test_one_self_contained_file_without_scripts(make_release: Any) -> None:
    page = Page(render(make_release()))
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("src", "href"):
            assert value is not None
            assert value.startswith("#")
    assert "@import" not in render(make_release())
    assert not re.search(r"url\((?!#)", render(make_release()))


def test_it_says_what_is_promised_and_where_the_budget_went(make_release: Any) -> None:
    release = make_release()
    text = Page(render(release)).text
    assert release.guarantee.promise in text
    assert "Proven" in text
    assert "55.4 %" in text  # Phi(0.2681 / 2) = 0.55332, plus delta, rounded up
    assert "label counts in cells" in text
    # shares of mu^2 = 0.07188: 0.04 and 0.0225, the rest unspent
    for share in ("55.7 %", "31.3 %", "13.0 %"):
        assert share in text
    for fact in ("the class list", "the features of every row", "a note for the reader"):
        assert fact in text
    for name, version in release.software.items():
        assert f"{name} {version}" in text


@pytest.mark.parametrize(
    ("changes", "badge"),
    [
        ({"publishable": False}, "Experiment: do not publish"),
        (
            {"status": "as-published", "mu": None, "mechanisms": (), "publishable": False},
            "As published: not proven",
        ),
    ],
)
def test_a_release_that_must_not_be_published_says_so(
    make_release: Any, changes: dict[str, Any], badge: str
) -> None:
    text = Page(render(make_release(**changes))).text
    assert badge in text
    assert "Proven The guarantee rests" not in text


@pytest.mark.parametrize("changes", [{"status": "as-published"}, {}])
def test_no_protection_means_no_best_guess(make_release: Any, changes: dict[str, Any]) -> None:
    assert "Best guess" not in Page(render(make_release(publishable=False, **changes))).text
    assert "Best guess" in Page(render(make_release())).text


def test_names_stay_text(hostile_release: Release) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = render(hostile_release)
    page = Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "<script>document.title='pwned'</script>" in page.text
    assert "{{ 7*7 }}{% raw %}" in page.text
    assert "49" not in {word.strip() for word in page.words}
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert text.encode("utf-8")


def test_ids_are_unique_and_references_resolve(make_release: Any) -> None:
    page = Page(render(make_release(4, 3)))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for _, name, value in page.attributes:
        if name in ("clip-path", "aria-labelledby"):
            assert (value or "").removeprefix("url(#").removesuffix(")") in ids


def test_pictures_and_headings_are_described(make_release: Any) -> None:
    release = make_release(3, 4, classes=["a", "b", "c"], features=["w", "x", "y", "z"])
    page = Page(render(release))
    pictures = [
        value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")
    ]
    assert len(pictures) == page.tags.count("svg") == 3 * 4 + 6
    assert any("Density of w in class a" in (label or "") for label in pictures)
    assert page.tags.count("h1") == 1


def test_the_same_release_gives_the_same_bytes(make_release: Any) -> None:
    assert render(make_release()) == render(make_release())


def test_the_users_matplotlib_settings_do_not_matter(make_release: Any) -> None:
    import matplotlib

    expected = render(make_release())
    with matplotlib.rc_context({"font.size": 30, "axes.grid": True, "savefig.dpi": 20}):
        assert render(make_release()) == expected
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.parametrize(("n_classes", "dim"), [(1, 1), (30, 1), (1, 60), (2, 2), (30, 60)])
def test_any_size_renders_soon_and_small(make_release: Any, n_classes: int, dim: int) -> None:
    start = time.perf_counter()
    text = render(make_release(n_classes, dim))
    assert time.perf_counter() - start < 60  # about 4 s on a busy 2-core machine
    assert len(text) < 5_000_000
    shown = Page(text)
    for k in range(n_classes):
        assert str(k) in shown.text
    if (n_classes, dim) == (30, 60):
        assert "the 12 heaviest of 30 classes" in shown.text
        assert "the 10 of 60 columns" in shown.text


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e15, -1e300])
def test_extreme_numbers_render_without_complaint(
    scale: float, shift: float, make_release: Any
) -> None:
    base = make_release(2, 2)
    mixture = Mixture(
        base.mixture.weights,
        base.mixture.means * scale + shift,
        base.mixture.covariances * scale**2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = render(Release(mixture, base.guarantee))
    assert not re.search(r"\b(nan|inf)\b", text)


def test_a_class_of_weight_zero_and_a_very_wide_class(make_release: Any) -> None:
    base = make_release(3, 2)
    covariances = base.mixture.covariances * np.array([1.0, 1.0, 1e8])[:, None, None]
    mixture = Mixture([0.6, 0.0, 0.4], base.mixture.means, covariances)
    assert "0.0 %" in render(Release(mixture, base.guarantee))


def test_private_rows_appear_only_in_a_copy_that_says_so(make_release: Any) -> None:
    release = make_release(3, 2)
    X, y = release.sample(300, seed=1)
    public, private = render(release), render(release, (X, y))
    assert "PRIVATE COPY" in private
    assert "do not publish" in Page(private).text
    assert "KL(released ‖ fitted)" in private
    assert "noindex" in private
    for word in ("PRIVATE COPY", "KL(released", 'class="private"', 'role="alert"'):
        assert word not in public
    assert "stroke-dasharray" in private
    assert "stroke-dasharray" not in public


def test_a_reference_with_small_classes_still_draws(make_release: Any) -> None:
    release = make_release(3, 2)
    X = np.array([[0.0, 1.0], [0.5, 1.0], [0.7, 1.0]])
    text = render(release, (X, np.array([0, 0, 1])))  # class 2 is empty, feature 1 is constant
    assert "KL(released" not in text
    assert "PRIVATE COPY" in text


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_an_extreme_reference_draws_without_complaint(make_release: Any, scale: float) -> None:
    release = make_release(2, 2)
    X, y = release.sample(40, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = render(release, (X * scale, y))
    assert not re.search(r"\b(nan|inf)\b", text)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((4, 3)), np.zeros(4, int), "has 3 features but the release has 2"),
        (np.zeros((4, 2)), np.full(4, 9), "not in the class list"),
        (np.zeros((4, 2)), np.zeros(3, int), "one per row"),
    ],
)
def test_a_reference_that_does_not_fit_is_refused(
    make_release: Any, X: Any, y: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        render(make_release(3, 2), (X, y))


def test_the_file_appears_whole_or_not_at_all(make_release: Any, tmp_path: Path) -> None:
    release = make_release()
    write_report(release, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == render(release)
    with pytest.raises(InputError, match="folder"):
        write_report(release, tmp_path)
    with pytest.raises(InputError):
        write_report(release, tmp_path / "missing" / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_the_report_names_the_digest_of_its_release_file(make_release: Any, tmp_path: Path) -> None:
    import json

    release = make_release()
    release.save(tmp_path / "release.json")
    digest = json.loads((tmp_path / "release.json").read_text())["sha256"]
    assert digest in render(Release.load(tmp_path / "release.json"))


def with_errors(release: Release, lost: bool = False) -> Release:
    """The same release whose means have an error of a tenth, everywhere; a class may be lost."""
    from dataclasses import replace

    from privgmm.model.uncertainty import Errors, Interval, Intervals

    mixture = release.mixture
    k, d = mixture.means.shape
    spread = np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))
    told = (mixture.weights, mixture.means, spread, np.tile(np.eye(d), (k, 1, 1)))
    columns = np.ones((k, d), dtype=bool)
    columns[0] = not lost
    errors = Errors(
        *(np.full(values.shape, 0.1) for values in told),
        Intervals(*(Interval(values - 0.2, values + 0.2) for values in told)),
        columns,
    )
    return replace(release, errors=errors)


def test_errors_are_told_and_drawn(make_release: Any) -> None:
    release = make_release(3, 4, classes=["a", "b", "c"], features=["w", "x", "y", "z"])
    plain, told = render(release), render(with_errors(release))
    page = Page(told)
    low, high = release.mixture.means[0, 0] - 0.2, release.mixture.means[0, 0] + 0.2
    labels = [
        value or "" for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")
    ]
    assert any(f"lies between {number(low)} and {number(high)}" in label for label in labels)
    assert f"{release.mixture.means[0, 0]:.2f} ± 0.10".replace("-", "−") in page.text
    assert "± 10" in page.text  # of a share, in percent
    assert "not from the population" in page.text
    # Three strokes in each of twelve densities; crosses in six pairs, where the means are inside.
    drawn = told.count("<path") - plain.count("<path")
    assert 3 * 12 < drawn <= 3 * 12 + 6 * 3 * 6
    assert "±" not in Page(plain).text
    assert "cannot be used" not in page.text


def test_a_class_that_cannot_be_used_is_said_and_struck_out(make_release: Any) -> None:
    page = Page(render(with_errors(make_release(3, 2, classes=["a", "b", "c"]), lost=True)))
    assert "Class a cannot be used at this epsilon" in page.text
    assert page.tags.count("del") == 2


@pytest.mark.parametrize(("scale", "shift"), [(1e-150, 0.0), (1e150, 1e15), (1.0, -1e300)])
def test_extreme_errors_render_without_complaint(
    make_release: Any, scale: float, shift: float
) -> None:
    from dataclasses import replace

    base = with_errors(make_release(2, 2))
    mixture = Mixture(
        base.mixture.weights,
        base.mixture.means * scale + shift,
        base.mixture.covariances * scale**2,
    )
    assert base.errors is not None
    moved = base.errors.moved(np.full(2, scale), np.full(2, shift))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = render(replace(base, mixture=mixture, errors=moved))
    assert not re.search(r"\b(nan|inf)\b", text)
