"""Draw the steps of the record-level mechanism for docs/proven.md: ``python tools/steps.py``.

One seeded release of an invented table; a curator that keeps every question and its answer is all that is added.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from privgmm import fit
from privgmm.data import ArraySource
from privgmm.privacy import Curator, SeededNoise
from privgmm.proven.record import release_record
from privgmm.queries.class_moments import ClassMoments
from privgmm.queries.column_histograms import MarginalCounts
from privgmm.queries.radial_counts import RadialCounts

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "proven-steps.svg"
ROWS, EPSILON, DELTA, SEED = 3000, 1.0, 1e-5, 4
BLUE, ORANGE, GREY, FAINT = "#18619f", "#c2571a", "#3c3a44", "#9591a3"
CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))])


class Kept(Curator):
    """A curator that keeps what it was asked and what it answered."""

    asked: tuple[tuple[Any, np.ndarray], ...] = ()

    def answer(self, query: Any, mu: float) -> np.ndarray:
        """The curator's answer."""
        found = super().answer(query, mu)
        self.asked = (*self.asked, (query.kernel, found))
        return found


def table() -> tuple[np.ndarray, np.ndarray]:
    """Two classes inside the unit ball: a slanted bell, and two piles beside each other with long tails."""
    rng = np.random.default_rng(SEED)
    bell = rng.multivariate_normal([0.25, 0.2], [[0.012, 0.010], [0.010, 0.012]], ROWS // 2)
    piles = rng.choice([-0.45, -0.15], size=ROWS - ROWS // 2)
    other = np.column_stack([piles, -0.25 + 0.05 * rng.standard_t(4, piles.size)])
    X = np.concatenate([bell, other + 0.004 * rng.normal(size=other.shape)])
    X *= np.minimum(1, 0.98 / np.linalg.norm(X, axis=1))[:, None]
    return X, np.repeat([0, 1], [ROWS // 2, ROWS - ROWS // 2])


def main() -> None:
    """Ask, keep, draw."""
    X, y = table()
    curator = Kept(ArraySource(X, y, 2), SeededNoise(SEED), "replace", EPSILON, DELTA)
    released = release_record(curator, 2, 2, ROWS)
    figure = Figure(figsize=(9.5, 7.2), layout="constrained")
    panels = figure.subplots(2, 2)
    _histogram(panels[0, 0], X[y == 1, 0], curator.asked)
    _rounds(panels[0, 1], X, y, curator.asked)
    _shells(panels[1, 0], curator.asked)
    _released(panels[1, 1], X, y, released)
    for axes in panels.ravel():
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110, metadata={"Date": None})


def _histogram(axes: Any, column: np.ndarray, asked: Any) -> None:
    kernel, answer = next(pair for pair in asked if isinstance(pair[0], MarginalCounts))
    n_bins = kernel.n_bins
    counts = answer[2 + 2 * n_bins : 2 + 3 * n_bins]
    edges = kernel.low[1, 0] + kernel.width[1, 0] * np.arange(n_bins + 1)
    axes.stairs(counts, edges, color=BLUE, lw=1.2, label="noisy answer")
    axes.hist(column, edges, color=FAINT, alpha=0.5, label="rows (never seen)")
    axes.set(xlabel="first column, second class", ylabel="rows", title="1. Where is each class?")
    axes.legend(frameon=False)


def _rounds(axes: Any, X: np.ndarray, y: np.ndarray, asked: Any) -> None:
    axes.scatter(*X[::3].T, s=1, color=FAINT, alpha=0.5, rasterized=True)
    rounds = [kernel for kernel, _ in asked if isinstance(kernel, ClassMoments)]
    for i, kernel in enumerate(rounds):
        last = i == len(rounds) - 1
        for k, colour in enumerate((BLUE, ORANGE)):
            edge = kernel.centres[k][:, None] + np.linalg.solve(kernel.transforms[k], CIRCLE)
            axes.plot(*edge, color=colour, lw=2 if last else 1, ls="-" if last else ":")
    axes.plot([], [], color=GREY, lw=1, ls=":", label="earlier rounds")
    axes.plot([], [], color=GREY, lw=2, label="last round")
    axes.set(
        xlim=(-1, 1),
        ylim=(-1, 1),
        aspect="equal",
        title="3, 5. Rows are clipped into ellipsoids",
    )
    axes.legend(frameon=False, loc="upper left")


def _shells(axes: Any, asked: Any) -> None:
    shells, answer = next(pair for pair in asked if isinstance(pair[0], RadialCounts))
    last = [kernel for kernel, _ in asked if isinstance(kernel, ClassMoments)][-1]
    counts = answer.reshape(2, -1)
    for k, colour in enumerate((BLUE, ORANGE)):
        share = counts[k] / counts[k].sum()
        edges = np.concatenate([[0], shells.edges[k], [1.3 * shells.edges[k, -1]]])
        radius = np.linalg.norm(shells.transforms[k], 2) / np.linalg.norm(last.transforms[k], 2)
        axes.stairs(share, np.sqrt(edges), color=colour, lw=1.2, label=f"class {k + 1}")
        axes.axvline(np.sqrt(radius), color=colour, ls="--", lw=1)
    ticks = np.array([1, 2, 4, 8, 16])
    axes.set_xticks(np.sqrt(ticks), ticks)
    axes.set(
        xlim=(0, 4.4),
        xlabel="distance in deviations (dashed: radius of the last round)",
        ylabel="noisy share of rows",
        title="4. How far out do rows lie?",
    )
    axes.legend(frameon=False)


def _released(axes: Any, X: np.ndarray, y: np.ndarray, released: Any) -> None:
    axes.scatter(*X[::3].T, s=1, color=FAINT, alpha=0.5, rasterized=True)
    truth = fit(X, y, classes=[0, 1])
    for k, colour in enumerate((BLUE, ORANGE)):
        for mean, shape, style in (
            (truth.means[k], truth.covariances[k], dict(color=GREY, lw=1, ls="--")),
            (released.means[k], released.covariances[k], dict(color=colour, lw=2)),
        ):
            edge = mean[:, None] + 2 * np.linalg.cholesky(shape) @ CIRCLE
            axes.plot(*edge, **style)
    axes.plot([], [], color=GREY, lw=2, label="released")
    axes.plot([], [], color=GREY, lw=1, ls="--", label="fitted without privacy")
    axes.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", title="8. The release (two deviations)")
    axes.legend(frameon=False, loc="upper left")


if __name__ == "__main__":
    main()
