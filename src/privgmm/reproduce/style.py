"""One look for all figures: Okabe-Ito colours (safe for colour-blind readers), one marker a method."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privgmm.files import whole_file


@dataclass(frozen=True)
class Look:
    """How a method is drawn, and its name in a legend."""

    label: str
    colour: str
    marker: str
    width: float = 1.4
    dash: str = "-"


LOOKS = {
    "proven": Look("proven (this package)", "#0072B2", "o", 2.2),
    "published": Look("published (the paper)", "#D55E00", "s", 2.2),
    "published-joint": Look("published, solved jointly", "#D55E00", "s", 1.2, ":"),
    "laplace": Look("i.i.d. Laplace", "#8C8C8C", "v"),
    "gaussian": Look("i.i.d. Gaussian", "#E69F00", "^"),
    "colored-gaussian": Look("colored Gaussian", "#009E73", "D"),
    "r1smg": Look("R1SMG", "#CC79A7", "P"),
    "non-private": Look("no privacy: refit of a fresh sample", "#000000", "", 1.2, "--"),
}

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "privgmm",  # the same table gives the same bytes
    "figure.facecolor": "white",
}


def label(method: str, column: str = "kl") -> str:
    """The name in a legend; an accuracy's reference is the fit itself and not its refit."""
    if method == "non-private" and column == "accuracy":
        return "no privacy: the fit itself"
    return LOOKS[method].label if method in LOOKS else method


def new_figure(width: float, height: float, arranged: bool = True) -> Any:
    """An empty figure in the house style; no window, no global state."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_RC):
        return Figure(figsize=(width, height), layout="constrained" if arranged else None)


def styled() -> Any:
    """The house style as a context, for code that adds axes and text."""
    import matplotlib

    return matplotlib.rc_context(_RC)


def save_figure(figure: Any, stem: Path) -> None:
    """Write ``stem.svg`` and ``stem.png``."""
    with styled():
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
            with whole_file(stem.with_suffix(f".{kind}")) as path:
                path.write_bytes(buffer.getvalue())
