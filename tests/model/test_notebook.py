"""What a notebook shows of a mixture and of a release: shares, promise, one picture, nothing that runs."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import privgmm
from privgmm import Mixture, Release
from privgmm.datasets import synthetic
from privgmm.releases import Guarantee

PNG = b"\x89PNG\r\n"


def mixture(k=3, d=3, names=None):
    rng = np.random.default_rng(0)
    weights = np.arange(1.0, k + 1)
    return Mixture(weights / weights.sum(), rng.normal(size=(k, d)), [np.eye(d)] * k, names)


@pytest.mark.parametrize(("k", "d"), [(1, 1), (2, 1), (1, 2), (3, 3), (12, 5), (30, 2)])
def test_any_mixture_has_a_picture(k, d):
    figure = mixture(k, d).plot()
    assert figure._repr_png_().startswith(PNG)
    densities = figure.subfigs[0].axes if figure.subfigs else figure.axes
    shown = [axes for axes in densities if axes.lines]
    assert len(shown) == min(d, 4)
    assert all(len(axes.lines) == min(k, 10) for axes in shown)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == min(k, 10)


def test_the_legend_has_the_colours_of_the_curves():
    figure = mixture(9, 2).plot()
    curves = figure.subfigs[0].axes[0].lines
    for entry, curve in zip(figure.legends[0].get_lines(), curves, strict=True):
        assert entry.get_color() == curve.get_color()
        assert entry.get_linestyle() == curve.get_linestyle()
    looks = {(curve.get_color(), curve.get_linestyle()) for curve in curves}
    assert len(looks) == 9


def test_extreme_numbers_are_drawn():
    Mixture([1.0], [[1e100, 1e-100]], [np.diag([1e-30, 1e-190])]).plot().png()
    Mixture([1.0, 0.0], [[0.0], [5.0]], [[[1e-12]], [[1e12]]]).plot().png()


def test_names_cannot_run_or_break_the_page():
    names = ("<script>alert(1)</script>", "\x1b[2J$\\frac{x}$ " + "y" * 200, "\u202eabc")
    release = Release(
        mixture(3, 2, names),
        Guarantee("proven", "label", "label", 1.0, 1e-5, 0.26, True),
        ("<b>a", "$b$ $"),
        "<i>kind",
    )
    for page in (release._repr_html_(), release.mixture._repr_html_()):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert re.findall(r"src='([a-z:/]+)", page) == ["data:image/png"]


def test_a_release_shows_its_promise_and_errors():
    x, y = synthetic(300, 2, 2, seed=0)
    release = privgmm.release(x, y, classes=[0, 1], feature_names=["a", "b"], label_name="kind")
    page = release._repr_html_()
    assert "Proven" in page
    assert "(1, 1e-05)-differential privacy" in page
    assert "kind" in page
    assert "± error" in page
    assert "± error" not in replace(release, errors=None)._repr_html_()
    assert release.plot().subfigs[1].axes[0].get_xlabel() in ("a", "b")


def test_matplotlib_is_loaded_for_pictures_only():
    code = (
        "import sys, privgmm; privgmm.Mixture; privgmm.Release; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
