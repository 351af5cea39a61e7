"""Pictures show the right numbers: axis ranges, curves, ellipses, keys and labels."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from privgmm import Mixture
from privgmm.model.picture import choose, class_keys, plot_range, separation, ticks
from privgmm.report import panels
from privgmm.report.numbers import column, number, padded, percent, tick_labels
from privgmm.report.reference import reference_of
from privgmm.report.svg import N_COLOURS, house_style


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (5.12345, "5.123"),
        (-0.5, "−0.5"),
        (12345.6, "12346"),
        (0.00012345, "0.0001234"),
        (1.5e9, "1.5e9"),
        (-2e-9, "−2e−9"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_of_a_column_line_up() -> None:
    assert column([5.0, -1.25, 0.126]) == ["5.000", "−1.250", "0.126"]
    assert column([1e12, 1.0]) == ["1e12", "1"]
    assert padded(0.2) == "0.2000"
    assert padded(1414.0) == "1414"


def test_a_positive_share_never_reads_as_zero() -> None:
    assert percent(0.0) == "0.0 %"
    assert percent(1e-9) == "< 0.05 %"
    assert percent(0.333) == "33.3 %"


def test_ticks_are_told_apart() -> None:
    for low, high in [(0, 1), (1e6, 1e6 + 3), (-1e-8, 1e-8), (1e200, 2e200), (-5, 5e4)]:
        values = ticks(low, high, 4)
        labels = tick_labels(values)
        assert len(values) >= 2
        assert len(set(labels)) == len(labels)
        assert all(low <= v <= high for v in values)


def test_one_wide_class_does_not_flatten_the_others() -> None:
    low, high = plot_range(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1e6]))
    assert (low, high) == (-3.5, 4.5)


@pytest.mark.parametrize(("mean", "deviation"), [(1e17, 1e-3), (0.0, 1e-300), (1e308, 1e154)])
def test_axis_ranges_are_finite_and_not_empty(mean: float, deviation: float) -> None:
    low, high = plot_range(np.array([mean]), np.array([deviation]))
    assert np.isfinite(high - low)
    assert low < high


def test_features_shown_are_those_that_separate_the_classes() -> None:
    means = np.zeros((2, 70))
    means[1, 65:] = [9, 8, 7, 6, 5]
    means[1, 3] = 4
    mixture = Mixture([0.5, 0.5], means, np.tile(np.eye(70), (2, 1, 1)))
    assert choose(mixture).pair_features == (3, 65, 66, 67, 68, 69)
    assert len(choose(mixture).features) == 60
    assert separation(mixture)[65] == pytest.approx(9**2 / 4)


def test_keys_are_the_names_when_short_and_letters_otherwise() -> None:
    assert class_keys(["0", "1", "10"]) == ["0", "1", "10"]
    assert class_keys(["setosa", "b"]) == ["A", "B"]
    assert class_keys(["$", "b"]) == ["A", "B"]
    letters = class_keys(["long name"] * 30)
    assert letters[25:28] == ["Z", "AA", "AB"]
    assert len(set(letters)) == 30


def _points(svg: str) -> list[np.ndarray]:
    """The coordinates of every path of a picture."""
    found = re.findall(r' d="([^"]*)"', svg)
    return [np.array(re.findall(r"-?[\d.]+", d), float).reshape(-1, 2) for d in found]


def test_the_curve_peaks_at_the_mean() -> None:
    with house_style():
        svg = panels.marginal(0, panels.bell_curve(2.0, 0.5, (0.0, 4.0)), (0.0, 4.0), "label", "p")
    curve = max(_points(svg), key=len)
    top = curve[curve[:, 1].argmin()]  # SVG counts downwards
    assert top[0] == pytest.approx(156 / 2, abs=1)


def test_ellipses_have_the_shape_of_the_covariance() -> None:
    covariance = np.array([[4.0, 1.2], [1.2, 1.0]])
    mixture = Mixture([1.0], [[1.0, -1.0]], [covariance])
    extents = ((-9.0, 11.0), (-11.0, 9.0))
    with house_style():
        svg = panels.ellipses(mixture, (0,), ["A"], (0, 1), extents, "label", "p")
    outer = [p for p in _points(svg) if len(p) > 40][-1]
    # From picture points (176 x 164 with margins 30, 16, 5, 4) back to data units.
    x = (outer[:, 0] - 30) / (176 - 35) * 20 - 9
    y = (164 - outer[:, 1] - 16) / (164 - 20) * 20 - 11
    z = np.linalg.solve(np.linalg.cholesky(covariance), np.array([x - 1, y + 1]))
    assert np.hypot(*z) == pytest.approx(np.sqrt(-2 * np.log(0.05)), rel=0.02)
    assert ">A<" in svg


def test_text_in_pictures_is_never_read_as_mathematics() -> None:
    from privgmm.report.svg import Canvas

    with house_style():
        canvas = Canvas(50, 50, (0, 0, 0, 0))
        canvas.text(0.5, 0.5, "$x^2$ $")
        svg = canvas.inline('<"label">', "p")
    assert ">$x^2$ $</text>" in svg
    assert 'aria-label="&lt;&quot;label&quot;&gt;"' in svg


def test_histograms_are_densities(make_release: Any) -> None:
    rng = np.random.default_rng(3)
    mixture = Mixture([1.0], [[0.0]], [[[1.0]]])
    release = replace(make_release(1, 1), mixture=mixture)
    reference = reference_of(release, rng.normal(size=(500, 1)), np.zeros(500, int))
    edges, density = reference.histogram(0, 0, -6.0, 6.0)
    assert (density * np.diff(edges)).sum() == pytest.approx(1)
    assert reference.kl == pytest.approx(0, abs=0.05)


# Machado, Oliveira, Fernandes (2009): linear RGB as seen with each kind of colour blindness.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [
        [0.3673, 0.8606, -0.2280],
        [0.2801, 0.6725, 0.0474],
        [-0.0118, 0.0429, 0.9689],
    ],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def _palettes() -> dict[str, dict[str, np.ndarray]]:
    """Linear RGB of the style sheet's colours, light and dark."""
    light, dark, _ = re.split(
        r"prefers-color-scheme: dark|\n\* \{",
        files("privgmm.report").joinpath("report.css").read_text("utf-8"),
    )
    return {
        name: {key: _linear(code) for key, code in re.findall(r"--(paper|[ck]\d): #(\w{6})", part)}
        for name, part in (("light", light), ("dark", dark))
    }


def _linear(code: str) -> np.ndarray:
    c = np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _contrast(a: np.ndarray, b: np.ndarray) -> float:
    """WCAG contrast ratio."""
    low, high = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def _lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.0888]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_told_apart_with_any_colour_vision(scheme: str) -> None:
    colours = _palettes()[scheme]
    classes = [colours[f"c{k}"] for k in range(N_COLOURS)]
    for k, colour in enumerate(classes):
        assert _contrast(colour, colours["paper"]) >= 3
        assert _contrast(colour, colours[f"k{k}"]) >= 3.9
    for matrix in VISIONS.values():
        seen = [_lab(np.array(matrix) @ colour) for colour in classes]
        for one, other in itertools.combinations(seen, 2):
            assert np.linalg.norm(one - other) > 20  # CIE76; 2.3 is just noticeable


def test_bars_are_as_high_as_their_density_and_the_private_ones_share_their_scale() -> None:
    edges = np.array([0.0, 1.0, 3.0])
    curve = panels.bar_curve(edges, np.array([0.5, 0.5]), (0.0, 3.0))
    assert curve.points[:, 1] == pytest.approx([1, 1, 0.5, 0.5])
    assert np.array([0.5, 0.25]) * curve.scale == pytest.approx([1, 0.5])
