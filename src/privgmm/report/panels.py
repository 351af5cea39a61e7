"""The report's kinds of picture: one class's density in one feature, ellipses in a pair, two tables' histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from privgmm.model.mixture import Mixture
from privgmm.model.picture import ticks
from privgmm.model.uncertainty import Interval
from privgmm.report.numbers import tick_labels
from privgmm.report.svg import BARS, INK, MUTED, RULE, Canvas, class_colour
from privgmm.types import Floats

Range = tuple[float, float]
# Radii that hold one half and 95 % of a two-dimensional Gaussian: sqrt(-2 ln(1 - p)).
RADII = tuple(float(np.sqrt(-2 * np.log(1 - p))) for p in (0.5, 0.95))
_FONT = 9.5
# The label of a tick this close to an end of its axis is written on the inner side.
_AT_END = 0.1
# Height of a mean's whisker in a density panel, and half the length of the strokes at its ends.
_WHISKER_HEIGHT = 0.12
_STROKE = 0.035


class Relief(NamedTuple):
    """A released density over an extent: points (m, 2) with x in the unit square and heights of which the largest is 1.

    ``scale`` turns densities into such heights.
    """

    points: Floats
    scale: float


def bell_curve(mean: float, deviation: float, extent: Range) -> Relief:
    """The density of a Gaussian, with more points where it bends."""
    return Relief(np.column_stack(_bell(mean, deviation, extent)), deviation * np.sqrt(2 * np.pi))


def bar_curve(edges: Floats, shares: Floats, extent: Range) -> Relief:
    """The density of shares between edges, as the outline of bars."""
    density = shares / np.diff(edges)
    scale = 1 / max(float(density.max()), np.finfo(float).tiny)
    return Relief(_outline(edges, density * scale, extent), scale)


@dataclass(frozen=True, eq=False)
class PrivateCurve:
    """A class of the private rows in one column: its histogram, and its fitted mean and deviation (NaN if there are none)."""

    mean: float
    deviation: float
    edges: Floats
    density: Floats


def marginal(
    k: int,
    released: Relief,
    extent: Range,
    label: str,
    prefix: str,
    private: PrivateCurve | None = None,
    whisker: Range | None = None,
) -> str:
    """The released density of class k in one column, scaled to fill the panel.

    ``whisker`` is the interval of its mean, drawn under the peak.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    canvas = Canvas(156, 84, margins=(9, 16, 9, 4))
    _floor(canvas, extent)
    top, colour = 1.0, class_colour(k)
    if private is not None:
        bars = private.density * released.scale
        fitted_x, fitted_y = _bell(private.mean, private.deviation, extent)
        fitted_y = fitted_y * (released.scale / (private.deviation * np.sqrt(2 * np.pi)))
        top = float(np.nanmax([1.0, *bars, *fitted_y]))
        outline = _outline(private.edges, bars / top, extent)
        canvas.add(Polygon([(0, 0), *outline, (1, 0)], facecolor=BARS, edgecolor="none"))
    curve = released.points / (1.0, top)
    if private is None:
        shade: dict[str, Any] = {"facecolor": colour, "alpha": 0.16, "edgecolor": "none"}
        canvas.add(Polygon([(0, 0), *curve, (1, 0)], **shade))
    canvas.add(Line2D(*curve.T, color=colour, linewidth=1.8, solid_capstyle="butt"))
    if private is not None and np.isfinite(private.deviation):
        dashes: dict[str, Any] = {"linestyle": (0, (4, 2.5)), "color": INK, "linewidth": 1.2}
        canvas.add(Line2D(fitted_x, fitted_y / top, **dashes))
    if whisker is not None:
        _whisker(canvas, 0, _unit(np.array(whisker), extent), _WHISKER_HEIGHT)
    return canvas.inline(label, prefix)


def both(edges: Floats, real: Floats, synthetic: Floats, label: str, prefix: str) -> str:
    """Histograms of the real rows (filled) and of the synthetic rows (a line), by their shares between edges."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    canvas = Canvas(200, 92, margins=(9, 16, 9, 4))
    extent = (float(edges[0]), float(edges[-1]))
    top = max(float(real.max()), float(synthetic.max())) or 1.0
    outline = _outline(edges, real / top, extent)
    canvas.add(Polygon([(0, 0), *outline, (1, 0)], facecolor=BARS, edgecolor="none"))
    _floor(canvas, extent)
    line = _outline(edges, synthetic / top, extent)
    canvas.add(Line2D(*line.T, color=class_colour(0), linewidth=1.5, solid_joinstyle="miter"))
    return canvas.inline(label, prefix)


def ellipses(
    mixture: Mixture,
    classes: tuple[int, ...],
    keys: list[str],
    pair: tuple[int, int],
    extents: tuple[Range, Range],
    label: str,
    prefix: str,
    means: Interval | None = None,
) -> str:
    """Where one half and 95 % of each class lie in features ``pair``, with the class key at its mean.

    ``means`` are the intervals (K, d) of the means, drawn as a cross of whiskers.
    """
    from matplotlib.patches import Polygon, Rectangle

    canvas = Canvas(176, 164, margins=(30, 16, 5, 4))
    frame = Rectangle((0, 0), 1, 1, facecolor="none", edgecolor=RULE, linewidth=1)
    canvas.add(frame)
    for axis, extent in enumerate(extents):
        _axis(canvas, axis, extent, at_most=3)
    # Light classes are drawn over heavy ones, which tend to be the larger shapes.
    for k in sorted(classes, key=lambda k: -mixture.weights[k]):
        centre, axes = _unit_ellipse(mixture, k, pair, extents)
        for radius, fill in zip(RADII, (0.20, 0.07), strict=True):
            shape = centre + radius * _circle() @ axes.T
            if np.isfinite(shape).all():
                colour = class_colour(k)
                points = np.clip(shape, -1e6, 1e6)
                inside = Polygon(points, facecolor=colour, alpha=fill, edgecolor="none")
                outline = Polygon(points, facecolor="none", edgecolor=colour, linewidth=1.1)
                for patch in (inside, outline):
                    canvas.add(patch)
                    patch.set_clip_path(frame)
    for k in classes:
        centre, _ = _unit_ellipse(mixture, k, pair, extents)
        if ((centre > 0) & (centre < 1)).all():
            if means is not None:
                for axis, j in enumerate(pair):
                    ends = np.array([means.low[k, j], means.high[k, j]])
                    _whisker(canvas, axis, _unit(ends, extents[axis]), float(centre[1 - axis]))
            _key(canvas, centre, keys[k])
    return canvas.inline(label, prefix)


def _floor(canvas: Canvas, extent: Range) -> None:
    from matplotlib.lines import Line2D

    canvas.add(Line2D([0, 1], [0, 0], color=RULE, linewidth=1))
    _axis(canvas, 0, extent, at_most=3)


def _axis(canvas: Canvas, axis: int, extent: Range, at_most: int) -> None:
    """Tick labels outside the unit square, below (axis 0) or on the left (axis 1)."""
    values = ticks(*extent, at_most)
    labels = tick_labels(values)
    if max(map(len, labels), default=0) > 6:
        values, labels = [values[0], values[-1]], [labels[0], labels[-1]]
    style: dict[str, Any] = {"color": MUTED, "fontsize": _FONT}
    for value, words in zip(_unit(np.array(values), extent), labels, strict=True):
        if axis == 0:
            # Labels at an end of the axis must stay inside the picture.
            ha = "left" if value < _AT_END else "right" if value > 1 - _AT_END else "center"
            canvas.text(value, -0.045, words, ha=ha, va="top", **style)
        else:
            canvas.text(-0.03, value, words, ha="right", va="center", **style)


def _whisker(canvas: Canvas, axis: int, ends: Floats, across: float) -> None:
    """A line between two ends along an axis, with a stroke at each end that lies inside the picture."""
    from matplotlib.lines import Line2D

    if not np.isfinite(ends).all():
        return
    low, high = np.clip(ends, 0.0, 1.0)
    strokes = [((low, high), (across, across))]
    strokes += [((end, end), (across - _STROKE, across + _STROKE)) for end in ends if 0 <= end <= 1]
    for along, aside in strokes:
        x, y = (along, aside) if axis == 0 else (aside, along)
        canvas.add(Line2D(x, y, color=INK, linewidth=1.1, solid_capstyle="butt"))


def _key(canvas: Canvas, centre: Floats, words: str) -> None:
    """The class key in ink; the style sheet gives bold letters a halo, to read on any colour."""
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": _FONT + 1.5,
        "fontweight": "bold",
    }
    canvas.text(float(centre[0]), float(centre[1]), words, color=INK, **style)


def _bell(mean: float, deviation: float, extent: Range) -> tuple[Floats, Floats]:
    """x in the unit square and heights exp(-z^2/2), with more points where the curve bends."""
    low, high = extent
    with np.errstate(all="ignore"):
        near = mean + deviation * np.linspace(-4, 4, 65)
        x = np.concatenate([np.linspace(low, high, 33), near[(near > low) & (near < high)]])
        x = np.unique(x[np.isfinite(x)])
        y = np.exp(-0.5 * ((x - mean) / deviation) ** 2)
    return _unit(x, extent), y


def _outline(edges: Floats, heights: Floats, extent: Range) -> Floats:
    """Corners of the bars between edges, in the unit square."""
    return np.column_stack([np.repeat(_unit(edges, extent), 2)[1:-1], np.repeat(heights, 2)])


def _unit(values: Floats, extent: Range) -> Floats:
    low, high = extent
    return np.asarray((values - low) / (high - low), dtype=np.float64)


def _circle() -> Floats:
    angle = np.linspace(0, 2 * np.pi, 49)[:-1]
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _unit_ellipse(
    mixture: Mixture, k: int, pair: tuple[int, int], extents: tuple[Range, Range]
) -> tuple[Floats, Floats]:
    """Centre (2,) and axes (2, 2) of the one-sigma ellipse in unit-square coordinates."""
    low, high = np.array(extents).T
    with np.errstate(all="ignore"):
        centre = (mixture.means[k][list(pair)] - low) / (high - low)
        # Two rows A (2, d) of the factor L_k are a factor of the pair's covariance: Sigma_pair = A A^T.
        rows = mixture.cholesky[k][list(pair)] / (high - low)[:, None]
    if not np.isfinite(rows).all():
        return centre, np.full((2, 2), np.nan)
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    return centre, left * sizes
