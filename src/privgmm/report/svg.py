"""Matplotlib pictures as inline SVG that uses the page's fonts, its colours and its dark mode."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
# Placeholder colours, replaced by variables of the style sheet, which decides what they look like.
INK, MUTED, RULE, BARS = "#000001", "#000002", "#000003", "#000004"
N_COLOURS = 7
_VARIABLES = {INK: "ink", MUTED: "muted", RULE: "rule", BARS: "bars"}
_COLOUR = re.compile(r"#0000[0-9a-f]{2}|#0001[0-9a-f]{2}")
_FONT = re.compile(r"font(?:-family)?:[^;]*")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_FONT_SIZE = re.compile(r"[\d.]+px")


def class_colour(k: int) -> str:
    """The placeholder for the colour of class k; colours repeat, so pictures also show class keys."""
    return f"#0001{k % N_COLOURS:02x}"


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's own defaults, real text and repeatable ids, whatever the user's matplotlibrc says."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "privgmm"})
        yield


class Canvas:
    """A figure of ``width`` x ``height`` points whose artists use a unit square inside the margins."""

    def __init__(
        self, width: float, height: float, margins: tuple[float, float, float, float]
    ) -> None:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        left, bottom, right, top = margins
        self.figure: Any = Figure(figsize=(width / 72, height / 72), dpi=72, frameon=False)
        FigureCanvasSVG(self.figure)
        self.unit: Any = Affine2D().scale(width - left - right, height - bottom - top)
        self.unit.translate(left, bottom)

    def add(self, artist: Any) -> None:
        """Draw an artist whose coordinates lie in the unit square."""
        artist.set_transform(self.unit)
        self.figure.add_artist(artist)

    def text(self, x: float, y: float, words: str, **style: Any) -> None:
        """Write words at a point of the unit square; a dollar sign in them does not start a formula."""
        from matplotlib.text import Text

        self.add(Text(x, y, words, parse_math=False, **style))

    def inline(self, label: str, prefix: str) -> str:
        """The picture as an ``<svg>`` element; ``label`` describes it to those who cannot see it."""
        file = io.BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        self.figure.savefig(file, format="svg", metadata=nothing, transparent=True)
        return _clean(file.getvalue(), label, prefix)


def _clean(data: bytes, label: str, prefix: str) -> str:
    """Matplotlib's file as a part of a page: no fixed size, unique ids, the page's fonts and colours."""
    root = ElementTree.fromstring(data)
    for child in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(child)
    for style in root.iter(f"{{{_SVG}}}style"):
        style.text = ""
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    _rename_ids(root, prefix)
    for element in root.iter():
        element.tail = element.tail and element.tail.strip()
        if "style" in element.attrib:
            element.set("style", _page_style(element.attrib["style"]))
        if "d" in element.attrib:
            # A hundredth of a point is finer than any screen or printer.
            element.set("d", _LONG.sub(lambda m: f"{float(m.group()):.2f}", element.attrib["d"]))
    root.set("role", "img")
    root.set("aria-label", label)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _page_style(style: str) -> str:
    def size_only(match: re.Match[str]) -> str:
        size = _FONT_SIZE.search(match.group())
        weight = "font-weight: 700; " if "700" in match.group() else ""
        return f"{weight}font-size: {size.group()}" if size else ""

    return _COLOUR.sub(_page_colour, _FONT.sub(size_only, style))


def _page_colour(match: re.Match[str]) -> str:
    code = match.group()
    if code in _VARIABLES:
        return f"var(--{_VARIABLES[code]})"
    return f"var(--c{int(code[-2:], 16)})"


def _rename_ids(root: ElementTree.Element, prefix: str) -> None:
    """Keep only ids that are referred to, and make them unique on the page."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{prefix}-{name}")
        target = element.attrib.pop(_XLINK, None)
        if target is not None:
            element.set("href", f"#{prefix}-{target[1:]}")
        for attribute, value in element.attrib.items():
            if "url(#" in value:
                element.set(attribute, value.replace("url(#", f"url(#{prefix}-"))
