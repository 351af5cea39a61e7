"""A mixture as one figure: densities of the columns that tell classes apart, and ellipses of the first two.

Of a large mixture only some classes and features are shown. In a notebook the figure stands below the shares of the classes, as HTML.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from privgmm.model.margins import shares_between
from privgmm.model.mixture import Mixture
from privgmm.types import Floats

# Most panels, classes and features shown: with more a page is slow and nobody reads it.
MAX_PANELS = 120
MAX_CLASSES = 12
MAX_PAIR_FEATURES = 6
# Curves are drawn up to this many standard deviations from their mean.
_REACH = 3.5
# A class this much wider than the typical one is cut at the panel's edge, or the others would
# shrink to needles.
_WIDE = 10.0
_LARGEST = 1e307
# Most bars of a column's shape, and the part of the range left free at either end, so that a spike there is visible.
_MOST_BARS = 40
_FREE = 0.02
# The report's class colours (report.css), which readers with any colour vision can tell apart.
COLOURS = ("#18619f", "#d86f0e", "#54a467", "#693451", "#464210", "#5327be", "#9591a3")
_STYLES = ("-", "--", ":", "-.")
_MOST_CLASSES = 10
_MOST_COLUMNS = 4
_LONGEST = 28
# Holds one half, and 95 %, of a two-dimensional Gaussian.
_RADII = tuple(float(np.sqrt(-2 * np.log(1 - p))) for p in (0.5, 0.95))
_MOST_LISTED = 12
_LONGEST_CELL = 60


@dataclass(frozen=True)
class View:
    """Indices into the mixture's classes and features, in their own order."""

    classes: tuple[int, ...]
    features: tuple[int, ...]
    pair_features: tuple[int, ...]


def choose(mixture: Mixture) -> View:
    """The largest classes, and the features in which the released classes differ most."""
    classes = _top(mixture.weights, MAX_CLASSES)
    ranking = separation(mixture)
    features = _top(ranking, MAX_PANELS // len(classes))
    return View(classes, features, _top(ranking, MAX_PAIR_FEATURES))


def separation(mixture: Mixture) -> Floats:
    """(d,) variance between class means over the variance within classes."""
    w = mixture.weights
    with np.errstate(all="ignore"):
        between = w @ (mixture.means - w @ mixture.means) ** 2
        ratio = between / (w @ np.diagonal(mixture.covariances, axis1=1, axis2=2))
    return np.asarray(np.nan_to_num(ratio, nan=0.0, posinf=_LARGEST), dtype=np.float64)


def spread(mixture: Mixture) -> Floats:
    """(K, d) standard deviations."""
    return np.sqrt(np.diagonal(mixture.covariances, axis1=1, axis2=2))


def plot_range(means: Floats, deviations: Floats) -> tuple[float, float]:
    """One axis range for the curves of all classes in one feature; always finite and not empty."""
    typical = deviations <= _WIDE * np.median(deviations)
    with np.errstate(over="ignore"):
        low = float(np.clip((means - _REACH * deviations)[typical].min(), -_LARGEST, _LARGEST))
        high = float(np.clip((means + _REACH * deviations)[typical].max(), -_LARGEST, _LARGEST))
    # In a narrower range the gaps between float64 numbers would be visible as steps.
    least = max(abs(low), abs(high)) * 1e-9 + np.finfo(float).tiny
    if high - low < least:
        low, high = low - least, high + least
    return low, high


def bar_edges(low: float, high: float, step: float | None) -> Floats:
    """Edges of the bars of a column whose shape is known; where steps are stated every bar is a whole number of them wide."""
    if step is not None and 0 <= high - low < 1e6 * step:
        width = step * max(1.0, np.ceil((high - low) / step / _MOST_BARS))
        first = step * np.floor(low / step + 0.5) - step / 2
        bars = max(1, int(np.ceil((high + step / 2 - first) / width - 1e-9)))
        return np.asarray(first + width * np.arange(bars + 1))
    reach = max((high - low) * _FREE, 1e-9 * max(abs(low), abs(high)), np.finfo(float).tiny)
    return np.linspace(low - reach, high + reach, _MOST_BARS + 1)


def ticks(low: float, high: float, at_most: int) -> list[float]:
    """A few round values inside [low, high]."""
    from matplotlib.ticker import MaxNLocator

    # The locator is given numbers of order one, whatever the units of the data are.
    scale = max(abs(low), abs(high))
    locator = MaxNLocator(nbins=at_most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2)
    exponent = 10.0 ** np.floor(np.log10(scale))
    if not 1e-300 < exponent < 1e300:
        return [low, high]
    values = locator.tick_values(low / exponent, high / exponent) * exponent
    return [float(v) for v in values if low <= v <= high]


def class_keys(names: list[str]) -> list[str]:
    """Short plain labels to write into pictures: the names themselves if all are short, else A, B, …"""
    if all(len(n) <= 3 and n.isascii() and n.isalnum() for n in names):
        return names
    return [_letters(k) for k in range(len(names))]


def _letters(k: int) -> str:
    head, tail = divmod(k, 26)
    return (_letters(head - 1) if head else "") + chr(ord("A") + tail)


def _top(scores: Floats, n: int) -> tuple[int, ...]:
    """Indices of the n largest scores (the first of equals), in ascending order."""
    return tuple(sorted(np.argsort(-scores, kind="stable")[:n].tolist()))


class Picture(Figure):
    """A matplotlib figure that a notebook shows by itself; ``savefig`` writes it to a file."""

    def png(self) -> bytes:
        """The figure as the bytes of a PNG file."""
        target = io.BytesIO()
        self.savefig(target, format="png", dpi=110, metadata={"Software": None})
        return target.getvalue()

    _repr_png_ = png


class Shapes(NamedTuple):
    """Quantiles (K, d, 161) of the columns of a mixture, as margins have them, and the steps between their values."""

    quantiles: Floats
    steps: tuple[float | None, ...]


def plot(
    mixture: Mixture,
    names: Sequence[str] = (),
    label: str = "class",
    shapes: Shapes | None = None,
) -> Picture:
    """Densities and ellipses of the heaviest classes, in the columns in which classes differ most.

    Parameters
    ----------
    mixture : the model
    names : of its columns; x0, x1, ... if omitted
    label : what the classes are classes of, for the legend
    shapes : the distribution of every column in every class; Gaussians if omitted
    """
    named = list(names) or [f"x{j}" for j in range(mixture.dim)]
    ranked = np.argsort(-separation(mixture), kind="stable").tolist()
    classes = sorted(np.argsort(-mixture.weights, kind="stable")[:_MOST_CLASSES].tolist())
    columns = ranked[:_MOST_COLUMNS]
    pair = ranked[:2] if mixture.dim > 1 else []
    rows = (len(columns) + 1) // 2
    figure = Picture(figsize=(9.6 if pair else 6.4, 1.3 + 1.7 * rows), layout=_layout())
    both: Any = figure.subfigures(1, 2, width_ratios=(1.5, 1)) if pair else [figure]
    grid = both[0].subplots(rows, min(len(columns), 2), squeeze=False)
    for axes, j in zip(grid.flat, columns, strict=False):
        if shapes is None:
            _densities(axes, mixture, classes, j)
        else:
            _bars(axes, mixture, classes, shapes.quantiles[classes, j], shapes.steps[j])
        axes.set_title(_short(named[j]), fontsize=9)
    for axes in list(grid.flat)[len(columns) :]:
        axes.axis("off")
    if pair:
        axes = both[1].subplots()
        _ellipses(axes, mixture, classes, pair)
        axes.set_xlabel(_short(named[pair[0]]), fontsize=9)
        axes.set_ylabel(_short(named[pair[1]]), fontsize=9)
        axes.set_title(
            "half and 95 % of each class, as bells" if shapes else "half and 95 % of each class",
            fontsize=9,
        )
    lines = grid.flat[0].get_lines()
    entries = [f"{_short(mixture.classes[k])}  {mixture.weights[k]:.0%}" for k in classes]
    hidden = mixture.n_classes - len(classes)
    title = _short(label) + (f" ({hidden} smaller ones not shown)" if hidden else "")
    figure.legend(
        lines, entries, title=title, loc="outside lower center", ncols=min(len(entries), 4), fontsize=8,
        title_fontsize=8, frameon=False,
    )  # fmt: skip
    return figure


def _layout() -> Any:
    """A layout that leaves room for the titles of the axes below."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return ConstrainedLayoutEngine(h_pad=0.08)


def _densities(axes: Any, mixture: Mixture, classes: list[int], j: int) -> None:
    """The Gaussian of each class in column j, its height scaled by the share of the class."""
    deviations = spread(mixture)[classes, j]
    low, high = plot_range(mixture.means[classes, j], deviations)
    x = np.linspace(low, high, 300)
    for k, deviation in zip(classes, deviations, strict=True):
        with np.errstate(all="ignore"):
            y = np.exp(-0.5 * ((x - mixture.means[k, j]) / deviation) ** 2)
            y = mixture.weights[k] * y * ((high - low) / deviation)
        axes.plot(x, np.nan_to_num(y), color=_colour(k), linestyle=_style(k), linewidth=1.6)
    _quiet(axes, bottom=0.0)
    axes.set_yticks([])


def _bars(
    axes: Any, mixture: Mixture, classes: list[int], quantile: Floats, step: float | None
) -> None:
    """The shape of each class in a column as the outline of bars, their height scaled by the share of the class."""
    edges = bar_edges(float(quantile.min()), float(quantile.max()), step)
    for k, q in zip(classes, quantile, strict=True):
        heights = mixture.weights[k] * shares_between(q, edges)
        axes.plot(
            np.repeat(edges, 2), [0.0, *np.repeat(heights, 2), 0.0],
            color=_colour(k), linestyle=_style(k), linewidth=1.4,
        )  # fmt: skip
    _quiet(axes, bottom=0.0)
    axes.set_yticks([])


def _ellipses(axes: Any, mixture: Mixture, classes: list[int], pair: list[int]) -> None:
    turn = np.linspace(0, 2 * np.pi, 90)
    circle: Floats = np.column_stack([np.cos(turn), np.sin(turn)])
    deviations = spread(mixture)
    for k in classes:
        # Two rows A (2, d) of the factor L_k are a factor of the pair's covariance: Sigma_pair = A A^T.
        left, sizes, _ = np.linalg.svd(mixture.cholesky[k][pair], full_matrices=False)
        for radius, width in zip(_RADII, (1.6, 0.9), strict=True):
            x, y = (mixture.means[k][pair] + radius * circle @ (left * sizes).T).T
            axes.plot(x, y, color=_colour(k), linestyle=_style(k), linewidth=width)
        axes.plot(*mixture.means[k][pair], marker="+", color=_colour(k))
    axes.set_xlim(*plot_range(mixture.means[classes, pair[0]], deviations[classes, pair[0]]))
    axes.set_ylim(*plot_range(mixture.means[classes, pair[1]], deviations[classes, pair[1]]))
    _quiet(axes)


def _quiet(axes: Any, bottom: float | None = None) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if bottom is not None:
        axes.spines["left"].set_visible(False)
        axes.set_ylim(bottom=bottom)


def _colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def _style(k: int) -> str:
    return _STYLES[k // len(COLOURS) % len(_STYLES)]


def _short(name: object) -> str:
    """A name in one short line; a dollar sign would start a formula."""
    text = "".join(c if c.isprintable() else " " for c in str(name)).replace("$", r"\$")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def mixture_html(
    mixture: Mixture,
    picture: Picture | None,
    label: str = "class",
    head: str = "",
    shares: Sequence[str] = (),
) -> str:
    """HTML with the shares of the classes below ``head``, which is HTML already, and the picture.

    ``shares`` are texts that include their errors, where these are known.
    """
    told = shares or [f"{100 * weight:.1f} %" for weight in mixture.weights]
    rows = "".join(
        f"<tr><td style='text-align:left'>{safe(name)}</td><td>{safe(share)}</td></tr>"
        for name, share in zip(mixture.classes[:_MOST_LISTED], told, strict=False)
    )
    hidden = mixture.n_classes - _MOST_LISTED
    more = f"<tr><td colspan='2'>and {hidden} more</td></tr>" if hidden > 0 else ""
    drawn = ""
    if picture is not None:
        data = b64encode(picture.png()).decode()
        drawn = (
            f"<img alt='Densities and ellipses of the classes' style='max-width:100%' "
            f"src='data:image/png;base64,{data}'>"
        )
    return (
        f"<div>{head}<table><thead><tr><th style='text-align:left'>{safe(label)}</th><th>share"
        f"{' ± error' if shares else ''}</th></tr></thead><tbody>{rows}{more}</tbody></table>{drawn}</div>"
    )


def safe(text: object, limit: int = _LONGEST_CELL) -> str:
    """A text as one short line of HTML, without invisible characters."""
    plain = "".join(c for c in str(text) if c.isprintable())
    return f"<bdi>{escape(plain if len(plain) <= limit else plain[: limit - 1] + '…')}</bdi>"
