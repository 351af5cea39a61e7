"""``python -m bench.bank``: releases of a hundred invented tables beside the oracle.

For every table and epsilon, medians over runs: reverse and forward KL against (eq2), J = reverse + forward beside the oracle's
(bench/oracle.py), their ratio and the total variation of the weights; at the end those farthest above the bar of bench/tables.py, and
a summary. Bounds are constants, not fitted to the rows; a row beyond them is cut there, as a form would. Every run has its own rows
and its own noise. ``python -m bench.bank ring t2 --runs 5`` measures some tables, ``--json out.json`` keeps the figures,
``--compare a.json b.json`` says how two such files differ.
"""

from __future__ import annotations

import argparse
import json
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.oracle import oracle
from bench.tables import DELTA
from privgmm import fit, kl_divergence, release

Table = tuple[np.ndarray, np.ndarray, dict[str, object]]
Rng = np.random.Generator
Make, Draw = Callable[[Rng], Table], Callable[[Rng, np.ndarray], np.ndarray]
Shares = tuple[float, ...]
Figures = dict[str, dict[str, dict[str, float]]]
# Beyond so many nats a release means nothing, whoever makes it.
_MEANINGLESS = 20.0


class Column(NamedTuple):
    """How a column is drawn for classes y, and what is stated of it."""

    draw: Draw
    low: float
    high: float


def rows(draw: Draw, low: object, high: object, n: int = 6000, shares: Shares = (0.6, 0.4)) -> Make:
    """A table whose rows (n, d) are drawn whole."""

    def make(g: Rng) -> Table:
        y = g.choice(len(shares), n, p=shares)
        X = np.asarray(draw(g, y), dtype=float)
        ends = [np.zeros(X.shape[1]) + end for end in (low, high)]
        return np.clip(X, *ends), y, {"bounds": tuple(ends)}

    return make


def columns(*cols: Column, **more: Any) -> Make:
    """A table of columns that are independent within a class."""
    low, high = [c.low for c in cols], [c.high for c in cols]
    return rows(lambda g, y: np.column_stack([c.draw(g, y) for c in cols]), low, high, **more)


def ball(draw: Draw, radius: float, center: float = 0.0) -> Make:
    """Rows drawn whole, in a stated ball."""

    def make(g: Rng) -> Table:
        X, y, _ = rows(draw, -np.inf, np.inf)(g)
        far = np.linalg.norm(X - center, axis=1, keepdims=True)
        X = center + (X - center) * np.minimum(1.0, 0.999 * radius / np.maximum(far, 1e-12))
        return X, y, {"radius": radius, "center": np.full(X.shape[1], center)}

    return make


def bell(apart: float = 1.0, sd: float = 1.0, at: float = 0.0, reach: float = 8.0) -> Column:
    """A normal column; classes lie ``apart``."""
    return Column(lambda g, y: g.normal(at + apart * y, sd), at - reach * sd, at + reach * sd)


def yes(*p: float) -> Column:
    """A yes/no column; p by class."""
    return Column(lambda g, y: g.random(y.size) < np.array(p)[y], 0, 1)


def coded(code: float, p: float) -> Column:
    """Whole numbers 0 to 100, a part p of them replaced by a code."""

    def draw(g: Rng, y: np.ndarray) -> np.ndarray:
        missing = g.random(y.size) < p
        return np.where(missing, code, np.clip(np.rint(g.normal(50 + 3 * y, 12)), 0, 100))

    return Column(draw, min(code, 0), max(code, 100))


def money(sd: float, high: float, none: float = 0.0) -> Column:
    """Log-normal amounts around 1100, a part of them zero."""
    return Column(
        lambda g, y: (g.random(y.size) >= none) * np.exp(g.normal(7 + 0.3 * y, sd)), 0, high
    )


def modes(*places: float, sd: float, high: float) -> Column:
    """Bells at several places, of which classes use some more than others."""

    def draw(g: Rng, y: np.ndarray) -> np.ndarray:
        at = g.integers(0, len(places), y.size) + (g.random(y.size) < 0.2 * y)
        return np.array(places)[np.minimum(at, len(places) - 1)] + g.normal(0, sd, y.size)

    return Column(draw, -high, high)


def spread(g: Rng, y: np.ndarray, d: int) -> np.ndarray:
    """Correlated bells, each class with a place and a shape of its own."""
    K = y.max() + 1
    roots = np.eye(d) + g.normal(size=(K, d, d)) / np.sqrt(d)
    return np.einsum("nij,nj->ni", roots[y], g.normal(size=(y.size, d))) + g.normal(0, 2, (K, d))[y]


def factor(g: Rng, y: np.ndarray, d: int, noise: float) -> np.ndarray:
    """Columns with one common cause."""
    return g.normal(size=(y.size, 1)) + noise * g.normal(size=(y.size, d)) + 0.5 * y[:, None]


def likert(g: Rng, y: np.ndarray, d: int, top: int, at: float, sd: float) -> np.ndarray:
    """Answers 1 to ``top`` with a common cause."""
    return np.clip(np.rint(at + 0.4 * y[:, None] + sd * factor(g, y, d, 1.0)), 1, top)


def levels(g: Rng, y: np.ndarray, shares: Shares) -> np.ndarray:
    """Dummies of a category, the first left out, and a normal column."""
    level = np.where(g.random(y.size) < 0.2 * y, 1, g.choice(len(shares), y.size, p=shares))
    return np.c_[np.eye(len(shares))[level][:, 1:], g.normal(y, 1)]


def sphere(g: Rng, y: np.ndarray, d: int, thick: float) -> np.ndarray:
    """Points near spheres of radius 2 and 3."""
    u = g.normal(size=(y.size, d))
    return u * ((2 + y + g.normal(0, thick, y.size)) / np.linalg.norm(u, axis=1))[:, None]


_UNITS = np.array([1e-3, 1.0, 1e5])
_TWELVE, _TWENTY = tuple(np.full(12, 1 / 12)), tuple(np.arange(1, 21) / 210)

# fmt: off
BANK: dict[str, Make] = {
    "yes-rare": columns(yes(0.01, 0.02), bell()),
    "yes-often": columns(yes(0.97, 0.9), bell(), bell(0.5)),
    "yes-one-class": columns(yes(0.004, 0.4), bell()),
    "yes-ten": columns(*(yes(p, p + 0.1) for p in np.linspace(0.05, 0.85, 10))),
    "yes-ten-rare": columns(*(yes(p, 1.5 * p) for p in np.geomspace(0.01, 0.1, 10))),
    "yes-nested": rows(lambda g, y: np.cumprod(g.random((y.size, 5)) < 0.5 + 0.2 * y[:, None], axis=1), 0, 1, 8000),
    "yes-and-money": columns(yes(0.3, 0.6), yes(0.05, 0.05), money(0.8, 5e4), bell()),
    "dummies-nine": rows(lambda g, y: levels(g, y, (0.2, *np.full(8, 0.1))), [0] * 8 + [-8], [1] * 8 + [8]),
    "dummies-rare": rows(lambda g, y: levels(g, y, (0.9, 0.06, 0.03, 0.01)), [0] * 3 + [-8], [1] * 3 + [8], 10_000),
    "likert-eight": rows(lambda g, y: likert(g, y, 8, 5, 3, 0.7), 1, 5, 4000),
    "likert-skew": rows(lambda g, y: likert(g, y, 5, 7, 6.5, 0.8), 1, 7),
    "likert-twelve": rows(lambda g, y: likert(g, y, 12, 5, 2.5, 0.8), 1, 5, 8000, (0.5, 0.3, 0.2)),
    "grades": columns(*(Column(lambda g, y: np.rint(1 + 5 * g.beta(1.5, 3 - y)), 1, 6) for _ in range(4))),
    "poisson-small": columns(Column(lambda g, y: g.poisson(0.7 + 0.5 * y), 0, 20), bell()),
    "poisson-large": columns(Column(lambda g, y: g.poisson(50 + 20 * y), 0, 200), Column(lambda g, y: g.poisson(9, y.size), 0, 60)),
    "poisson-wide-bounds": columns(Column(lambda g, y: g.poisson(3 + y), 0, 1000), bell()),
    "zero-inflated": columns(Column(lambda g, y: g.poisson(4 + y) * (g.random(y.size) < 0.3), 0, 40), bell(), bell(0)),
    "negative-binomial": columns(*(Column(lambda g, y: g.negative_binomial(0.7, 0.15 - 0.05 * y), 0, 200) for _ in range(2))),
    "geometric": columns(Column(lambda g, y: g.geometric(0.3 - 0.1 * y), 1, 100), yes(0.2, 0.4), bell()),
    "zipf": columns(Column(lambda g, y: np.minimum(g.zipf(2.2 - 0.2 * y), 500), 1, 500), bell()),
    "money": columns(money(0.8, 1e5), bell()),
    "money-wide": columns(money(0.6, 1e6), money(0.9, 1e6)),
    "money-tight": columns(money(0.8, 3000), bell()),
    "money-five": rows(lambda g, y: np.exp(7 + 0.7 * factor(g, y, 5, 0.7)), 0, 2e5, 10_000),
    "money-zeros": columns(money(1.0, 2e5, none=0.7), money(1.0, 2e5, none=0.4), bell()),
    "pareto": columns(Column(lambda g, y: 1000 * (1 + g.pareto(1.8 - 0.3 * y)), 0, 1e6), bell()),
    "losses": columns(Column(lambda g, y: 100 * g.laplace(y) * np.exp(g.normal(1, 1, y.size)), -5e4, 5e4), bell()),
    "heaped-money": columns(Column(lambda g, y: 500 * np.rint(np.exp(g.normal(8 + 0.2 * y, 0.5)) / 500), 0, 1e5), bell()),
    "ages-heaped": columns(Column(lambda g, y: 5 * np.rint(g.normal(45 + 5 * y, 15) / 5), 0, 120), bell()),
    "ages-even": columns(Column(lambda g, y: g.integers(18, 80 + 5 * y), 0, 120), yes(0.5, 0.4), money(0.6, 3e4)),
    "percent-ends": columns(*(Column(lambda g, y: 100 * g.beta(0.3, 0.5 - 0.2 * y), 0, 100) for _ in range(3))),
    "percent-small": columns(Column(lambda g, y: 100 * g.beta(1, 60 - 20 * y), 0, 100), bell()),
    "hours-two-peaks": columns(Column(lambda g, y: np.where(g.random(y.size) < 0.5, g.normal(8, 1, y.size), g.normal(17.5 + y, 1.5)), 0, 24), bell()),
    "hours-night": columns(Column(lambda g, y: g.normal(23.5 + y, 1.5) % 24, 0, 24), bell()),
    "code-999": columns(coded(999, 0.04), coded(999, 0.01), bell()),
    "code-minus-999": columns(coded(-999, 0.02), bell(), bell(0), n=10_000),
    "code-minus-1": columns(coded(-1, 0.5), coded(-1, 0.3), coded(-1, 0.1)),
    "code-99999": columns(coded(99_999, 0.005), bell(), n=20_000),
    "nearly-constant": columns(Column(lambda g, y: np.where(g.random(y.size) < 0.985, 3, g.integers(1, 6, y.size)), 1, 5), bell()),
    "constant-in-one": columns(Column(lambda g, y: 5 + g.normal(0, np.where(y == 0, 0.002, 1)), 0, 10), bell()),
    "duplicate": rows(lambda g, y: np.repeat(g.normal(y, 1)[:, None], 2, 1) + g.normal(0, 0.01, (y.size, 2)), -8, 8),
    "whole-and-parts": rows(lambda g, y: (lambda a: np.c_[a, a[:, 0] + a[:, 1], a[:, 0] - a[:, 1]] + g.normal(0, 0.02, (y.size, 4)))(g.normal(size=(y.size, 2)) + y[:, None]), -12, 12),
    "repeated-eight": rows(lambda g, y: factor(g, y, 8, 0.05), -8, 8),
    "tiny-class": columns(bell(2), bell(), bell(0), n=10_000, shares=(0.98, 0.02)),
    "tiny-class-shaped": rows(lambda g, y: spread(g, y, 4), -20, 20, 15_000, (0.6, 0.37, 0.03)),
    "tiny-class-yes": columns(yes(0.2, 0.5), bell(), n=10_000, shares=(0.97, 0.03)),
    "twelve-classes": rows(lambda g, y: spread(g, y, 3), -16, 16, 12_000, _TWELVE),
    "twenty-classes": rows(lambda g, y: spread(g, y, 2), -16, 16, 20_000, _TWENTY),
    "twenty-classes-counts": columns(Column(lambda g, y: g.poisson(1 + y), 0, 60), bell(0.2, reach=10), n=20_000, shares=_TWENTY),
    "fifteen-columns": rows(lambda g, y: spread(g, y, 15), -20, 20, 10_000),
    "ten-correlated": rows(lambda g, y: np.cumsum(g.normal(size=(y.size, 10)), axis=1) + y[:, None], -20, 20),
    "few-rows": rows(lambda g, y: spread(g, y, 3), -12, 12, 600),
    "few-rows-eight": rows(lambda g, y: spread(g, y, 8), -12, 12, 900),
    "t2": columns(*(Column(lambda g, y: g.standard_t(2, y.size) + y, -300, 300) for _ in range(2))),
    "t4": columns(*(Column(lambda g, y: g.standard_t(4, y.size) + y, -60, 60) for _ in range(4)), n=10_000),
    "t5-wide-bounds": columns(*(Column(lambda g, y: g.standard_t(5, y.size) + y, -1000, 1000) for _ in range(2))),
    "laplace": columns(*(Column(lambda g, y: g.laplace(y, 1), -30, 30) for _ in range(3))),
    "cauchy-cut": columns(Column(lambda g, y: g.standard_t(1, y.size) + y, -50, 50), bell()),
    "cauchy-ball": ball(lambda g, y: g.standard_t(1, (y.size, 3)) + y[:, None], 100),
    "even-box": columns(*(Column(lambda g, y: g.random(y.size) + 0.3 * y, 0, 2) for _ in range(4))),
    "even-whole-range": columns(Column(lambda g, y: g.random(y.size), 0, 1), Column(lambda g, y: g.random(y.size) ** (1 + y), 0, 1)),
    "two-modes": columns(modes(-3, 3, sd=0.4, high=8), bell()),
    "three-modes": columns(modes(-10, 0, 12, sd=1, high=30), bell()),
    "modes-all": columns(*(modes(-5, 5, sd=0.5, high=10) for _ in range(4))),
    "modes-narrow": columns(modes(-5, 5, sd=0.02, high=10), bell(), bell(0)),
    "ring": rows(lambda g, y: sphere(g, y, 2, 0.1), -6, 6),
    "sphere-shell": rows(lambda g, y: sphere(g, y, 6, 0.05), -6, 6),
    "shell-ball": ball(lambda g, y: 5 + sphere(g, y, 3, 0.02), 8, 5),
    "moons": rows(lambda g, y: (lambda t, side: np.c_[np.cos(t) * side + y, np.sin(t) * side + 0.5 * y] + g.normal(0, 0.1, (y.size, 2)))(np.pi * g.random(y.size), 1 - 2 * y), -4, 4),
    "spiral": rows(lambda g, y: (lambda t: np.c_[t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)] + g.normal(0, 0.3, (y.size, 2)))(3 * np.pi * np.sqrt(g.random(y.size))), -15, 15),
    "banana": rows(lambda g, y: (lambda a: np.c_[a, 0.5 * a**2 + g.normal(0, 0.3, y.size), g.normal(size=y.size)])(g.normal(y, 1.5)), [-10, -5, -8], [10, 40, 8]),
    "cross": rows(lambda g, y: g.normal(size=(y.size, 3)) * np.where(np.eye(3)[g.integers(0, 3, y.size)] > 0, 3, 0.1) + y[:, None], -20, 20),
    "wrong-entries": columns(*(Column(lambda g, y: g.normal(y, 1) * np.where(g.random(y.size) < 0.005, 100, 1), -500, 500) for _ in range(3))),
    "narrow-and-wide": rows(lambda g, y: g.normal(size=(y.size, 3)) * np.where(g.random(y.size) < 0.2, 6, 1)[:, None] + y[:, None], -40, 40),
    "gamma": columns(*(Column(lambda g, y: g.gamma(0.6 + 0.3 * y, 2), 0, 60) for _ in range(3))),
    "beta-skew": columns(*(Column(lambda g, y: g.beta(5 - 2 * y, 1), 0, 1) for _ in range(3))),
    "waiting": columns(Column(lambda g, y: g.exponential(10 + 10 * y), 0, 30), Column(lambda g, y: g.exponential(5, y.size), 0, 500)),
    "weibull": columns(Column(lambda g, y: g.weibull(0.6, y.size) * (1 + y), 0, 200), bell()),
    "quarters": columns(*(Column(lambda g, y: np.rint(4 * g.normal(0.3 * y, 0.6)) / 4, -5, 5) for _ in range(3))),
    "coarse-rounding": columns(Column(lambda g, y: np.rint(g.normal(0.4 * y, 0.45)), -10, 10), bell()),
    "cut-at-zero": columns(Column(lambda g, y: np.maximum(g.normal(y - 0.5, 1), 0), 0, 12), bell()),
    "cut-both-ends": columns(*(bell(0.5, reach=1.2) for _ in range(3))),
    "seasons": rows(lambda g, y: (lambda t: np.c_[np.sin(t), np.cos(t), 10 * np.sin(t) + g.normal(15 + 3 * y, 4)])(2 * np.pi * g.beta(2 + y, 2)), [-1, -1, -40], [1, 1, 60]),
    "bounds-10x": rows(lambda g, y: spread(g, y, 3), -100, 100),
    "bounds-100x": rows(lambda g, y: spread(g, y, 3), -1000, 1000),
    "bounds-100x-small-class": rows(lambda g, y: spread(g, y, 3), -1000, 1000, 8000, (0.9, 0.07, 0.03)),
    "corner": rows(lambda g, y: 0.5 + np.abs(factor(g, y, 3, 0.5)), 0, 200),
    "ball-wide": ball(lambda g, y: spread(g, y, 4), 500),
    "ball-off-centre": ball(lambda g, y: 100 + spread(g, y, 3), 60, 120),
    "ball-counts": ball(lambda g, y: g.poisson(0.5 + 0.5 * y[:, None], (y.size, 4)), 30),
    "unlike-scales": rows(lambda g, y: spread(g, y, 3) * _UNITS, -20 * _UNITS, 20 * _UNITS),
    "coincide": columns(bell(0), bell(0), bell(0), shares=(0.4, 0.3, 0.3)),
    "far-apart": columns(bell(500, reach=1600), bell(-300, reach=1600), shares=(0.4, 0.3, 0.3)),
    "inside-another": columns(*(Column(lambda g, y: g.normal(0, np.where(y == 0, 3, 0.1)), -20, 20) for _ in range(3))),
    "years": columns(Column(lambda g, y: 2020 - np.rint(g.gamma(2 + y, 8)), 1900, 2025), bell(), yes(0.1, 0.2)),
    "cities": columns(modes(52.5, 48.1, 50.9, sd=0.05, high=90), modes(13.4, 11.6, 6.9, sd=0.08, high=180)),
    "body": rows(lambda g, y: (lambda h, i: np.c_[100 * h, i * h**2, i])(g.normal(1.65 + 0.12 * y, 0.07), np.exp(g.normal(3.2, 0.15, y.size))), [0, 0, 0], [250, 300, 100]),
    "body-wrong-units": rows(lambda g, y: (lambda h, i: np.c_[h * np.where(g.random(y.size) < 0.01, 1, 100), i * h**2, i])(g.normal(1.65 + 0.12 * y, 0.07), np.exp(g.normal(3.2, 0.15, y.size))), [0, 0, 0], [250, 300, 100], 8000),
    "laboratory": columns(*(Column(lambda g, y: np.maximum(np.exp(g.normal(0.5 * y, 1)), 0.5), 0, 100) for _ in range(4))),
    "parts-of-one": rows(lambda g, y: g.gamma(np.array([2, 1, 1, 0.5]) + y[:, None] * [0, 1, 0, 0], size=(y.size, 4)), 0, 30),
    "shares-of-one": rows(lambda g, y: (lambda v: (v / v.sum(axis=1, keepdims=True))[:, :3])(g.gamma(np.array([2, 1, 1, 0.5]) + y[:, None], size=(y.size, 4))), 0, 1),
    "checkerboard": rows(lambda g, y: (lambda a: np.c_[a, 2 * g.integers(0, 2, y.size) + (a.astype(int) + y) % 2 + g.random(y.size)])(4 * g.random(y.size)), 0, 5),
}
# fmt: on


def made(name: str, run: int) -> Table:
    """The rows of a table, checked: bounds hold all rows and (eq2) exists."""
    X, y, stated = BANK[name](np.random.default_rng([zlib.crc32(name.encode()), run]))
    if "bounds" in stated:
        assert np.array_equal(X, np.clip(X, *stated["bounds"]))
    else:
        assert np.linalg.norm(X - stated["center"], axis=1).max() <= stated["radius"]
    for k in range(y.max() + 1):
        assert np.linalg.eigvalsh(np.corrcoef(X[y == k].T))[0] > 1e-9, (name, k)
    return X, y, stated


def measured(name: str, epsilon: float, runs: int) -> dict[str, float]:
    """Medians over runs; nothing but the oracle's J where that is meaningless."""
    found = []
    for run in range(runs):
        X, y, stated = made(name, run)
        if (limit := oracle(X, y, epsilon, DELTA)) > _MEANINGLESS:
            return {"oracle": limit}
        asked = {"epsilon": epsilon, "delta": DELTA, "unit": "record", "seed": run, **stated}
        p, q = fit(X, y), release(X, y, classes=range(y.max() + 1), **asked).mixture
        back, forth = kl_divergence(q, p), kl_divergence(p, q)
        found.append((back, forth, back + forth, limit, np.abs(q.weights - p.weights).sum() / 2))
    middle = np.median(found, axis=0).tolist()
    return dict(zip(("reverse", "forward", "J", "oracle", "weights"), middle, strict=True))


def times_bar(at: dict[str, float]) -> float:
    """J over the bar of bench/tables.py: five times the oracle's, or 0.003 if that is more."""
    return at["J"] / max(5 * at["oracle"], 0.003)


HEAD = "| table | ε | reverse | forward | J | oracle J | ratio | weights |\n|---|---|---|---|---|---|---|---|"


def line(name: str, epsilon: str, at: dict[str, float]) -> str:
    """One line of the table."""
    if "J" not in at:
        return f"| {name} | {epsilon} | left out: the oracle is {at['oracle']:.3g} nats off |"
    return (
        f"| {name} | {epsilon} | {at['reverse']:.3g} | {at['forward']:.3g} | {at['J']:.3g} | {at['oracle']:.3g} "
        f"| {at['J'] / at['oracle']:.2f}{' MISSED' if times_bar(at) > 1 else ''} | {at['weights']:.4f} |"
    )


def summary(figures: Figures, worst: int = 30) -> Iterator[str]:
    """The worst, by the bar, and per epsilon how many miss it and the geometric mean of the ratios."""
    told = [(n, e, at) for n, by in figures.items() for e, at in by.items() if "J" in at]
    yield "\nWorst:\n" + HEAD
    for one in sorted(told, key=lambda x: -times_bar(x[2]))[:worst]:
        yield line(*one)
    for epsilon in dict.fromkeys(e for _, e, _ in told):
        some = [at for _, e, at in told if e == epsilon]
        ratios = [at["J"] / at["oracle"] for at in some]
        yield (
            f"ε = {epsilon}: {sum(times_bar(at) > 1 for at in some)} of {len(some)} above five times the oracle "
            f"(and 0.003); ratios: geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, median {np.median(ratios):.2f}"
        )


def compared(before: Figures, after: Figures, most: int = 20) -> Iterator[str]:
    """Geometric mean of J after / before per epsilon (below 0.0001 all is as good as perfect), and what changed most."""
    both = [(n, e) for n in after if n in before for e in after[n] if "J" in after[n][e]]
    both = [(n, e) for n, e in both if "J" in before[n].get(e, {})]
    logs = [np.log([max(at[n][e]["J"], 1e-4) for n, e in both]) for at in (before, after)]
    change = dict(zip(both, logs[1] - logs[0], strict=True))
    for epsilon in dict.fromkeys(e for _, e in both):
        logs = np.array([c for (_, e), c in change.items() if e == epsilon])
        yield f"ε = {epsilon}: J {np.exp(logs.mean()):.4f} times ({(logs != 0).sum()} of {logs.size} changed)"
    for n, e in sorted(both, key=lambda at: -abs(change[at]))[:most]:
        old, new = before[n][e], after[n][e]
        yield f"{n}, ε = {e}: J {old['J']:.3g} -> {new['J']:.3g}, {np.exp(change[n, e]):.2f} times (oracle {new['oracle']:.3g})"


def main() -> None:
    """Print a line per table and epsilon and the summary, or compare two files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(BANK))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--epsilons", default="1,4,16")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2)
    wanted = parser.parse_args()
    if wanted.compare:
        print(*compared(*(json.loads(path.read_text()) for path in wanted.compare)), sep="\n")
        return
    warnings.simplefilter("ignore")
    figures: Figures = {}
    print(HEAD)
    for name in wanted.tables:
        for epsilon in wanted.epsilons.split(","):
            at = figures.setdefault(name, {})[epsilon] = measured(name, float(epsilon), wanted.runs)
            print(line(name, epsilon, at), flush=True)
        if wanted.json:
            wanted.json.write_text(json.dumps(figures, indent=1))
    print(*summary(figures), sep="\n")


if __name__ == "__main__":
    main()
