"""One class: Frobenius error of the released second moment, beside the plain Gaussian mechanism's, on tables of many shapes.

    python -m bench.second_moments [--tables wrong,bells] [--wide 1,10] [--epsilon 1,4,16] [--runs 8]
    python -m bench.second_moments --far 2,5,30 --columns 1,4 --wide 1

Rows are in the region's coordinates, where it is the unit ball or a box inside it, and the second moment is the one about its
centre. The plain mechanism adds noise to X^T X, with the whole budget, and clips eigenvalues to [0, 1].
With ``--far`` the tables are those of so many rows far from a pile.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bench.goals import DELTA
from privgmm.data import ArraySource
from privgmm.privacy import Curator, SeededNoise, mu_from_epsilon
from privgmm.proven.record import release_record

DEMANDED = 2.0
# Draws of the plain mechanism's noise: its mean error is known to a few per cent.
_DRAWS = 200


@dataclass(frozen=True)
class Rows:
    """Rows (n, d) in the unit ball, and how far a column may lie from zero."""

    X: np.ndarray
    extent: float = 1.0


def ball(X: np.ndarray) -> Rows:
    """Rows in a ball around zero that is hardly larger than they need."""
    return Rows(X / np.linalg.norm(X, axis=1).max() / 1.05)


def box(X: np.ndarray, low: float, high: float) -> Rows:
    """Rows with every column in [low, high]; what lies outside is moved to its edge."""
    extent = 1 / np.sqrt(X.shape[1])
    return Rows((2 * np.clip(X, low, high) - low - high) / (high - low) * extent, extent)


def zipf_rows(rng: np.random.Generator, n: int = 50_000, d: int = 10) -> np.ndarray:
    """Correlated directions; lengths 1/8, 1/4, 1/2 and 1 with probabilities by Zipf's law (k^-3).

    The synthetic rows of Dong, Liang and Yi, "Differentially private covariance revisited" (2022).
    """
    X = rng.standard_normal((n, d)) @ rng.random((d, d))
    X -= X.mean(axis=0)
    shares = 1 / np.arange(1.0, 5.0) ** 3
    lengths = 2.0 ** (rng.choice(4, n, p=shares / shares.sum()) - 3)
    return X * (lengths / np.linalg.norm(X, axis=1))[:, None]


def _sphere(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _wrong(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    return np.where(rng.random((n, d)) < 0.001, 100 * X, X)


def _missing(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random((20_000, 4)) < 0.03, 999.0, rng.normal(40, 12, (20_000, 4)))


def _modes(rng: np.random.Generator) -> np.ndarray:
    X = 0.02 * rng.standard_normal((5000, 2))
    return X + np.where(np.arange(5000)[:, None] < 1500, [0.9, 0.0], [-0.3, -0.3])


def _one_far(rng: np.random.Generator) -> np.ndarray:
    X = 0.01 * rng.standard_normal((2000, 2))
    X[0] = 0.7
    return X


def _few_far(rng: np.random.Generator, d: int, rows: int | None = None) -> np.ndarray:
    """So many (one to 64) of 5,000 rows at the end of a column, with nearly all of the second moment."""
    X = 0.003 * rng.standard_normal((5000, d))
    far = np.arange(round(2 ** rng.uniform(0, 6)) if rows is None else rows)
    X[far, rng.integers(d, size=far.size)] = 0.95 * rng.choice([-1, 1], size=far.size)
    return X


def _low_rank(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((20_000, 2)) @ rng.standard_normal((2, 10))


def _constant(rng: np.random.Generator) -> np.ndarray:
    return np.c_[np.full((5000, 2), 3.0), rng.normal(5, 2, (5000, 2))]


TABLES: dict[str, Callable[[np.random.Generator], Rows]] = {
    "bells": lambda rng: ball(rng.standard_normal((8000, 10)) @ (np.eye(10) + rng.random((10, 10)))),
    "one bell": lambda rng: ball(rng.standard_normal((4000, 1))),
    "bell off centre": lambda rng: box(rng.normal(3, 1, (5000, 2)), -10, 10),
    "unlike scales": lambda rng: ball(
        rng.standard_normal((20_000, 4)) * [1.0, 0.1, 0.01, 0.001]
    ),
    "Zipf rows": lambda rng: Rows(zipf_rows(rng)),
    "wrong entries": lambda rng: ball(_wrong(rng, 20_000, 4)),
    "wrong d=10": lambda rng: ball(_wrong(rng, 50_000, 10)),
    "wrong d=1": lambda rng: ball(_wrong(rng, 5000, 1)),
    "wrong box": lambda rng: box(_wrong(rng, 20_000, 4), -500, 500),
    "Pareto": lambda rng: box(rng.pareto(2.5, (20_000, 4)), 0, 100),
    "Pareto d=1": lambda rng: box(rng.pareto(2.5, (5000, 1)), 0, 100),
    "Zipf counts": lambda rng: box(rng.zipf(2.2, (10_000, 2)).astype(float), 0, 1000),
    "Zipf counts d=1": lambda rng: box(rng.zipf(2.2, (5000, 1)).astype(float), 0, 1000),
    "log-normal": lambda rng: box(np.exp(2 * rng.standard_normal((20_000, 4))), 0, 3000),
    "log-normal d=1": lambda rng: box(np.exp(2 * rng.standard_normal((5000, 1))), 0, 3000),
    "log-normal ball": lambda rng: ball(np.exp(2 * rng.standard_normal((20_000, 4)))),
    "missing codes": lambda rng: box(_missing(rng), 0, 1000),
    "rare 0/1": lambda rng: box(
        (rng.random((5000, 10)) < np.linspace(0.01, 0.05, 10)).astype(float), 0, 1
    ),
    "two far modes": lambda rng: ball(_modes(rng)),
    "uniform": lambda rng: Rows(_sphere(rng, 5000, 10) * rng.random((5000, 1)) ** 0.1),
    "at the boundary": lambda rng: Rows(_sphere(rng, 2000, 4)),
    "one far row": lambda rng: Rows(_one_far(rng)),
    "few far rows": lambda rng: Rows(_few_far(rng, 4)),
    "few far d=2": lambda rng: Rows(_few_far(rng, 2)),
    "few far d=1": lambda rng: Rows(_few_far(rng, 1)),
    "low rank": lambda rng: ball(_low_rank(rng)),
    "constants": lambda rng: box(_constant(rng), -5, 20),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Mean errors of ours and of the plain mechanism, and the median and mean J of ours."""

    ours: float
    plain: float
    median_j: float
    mean_j: float

    @property
    def ratio(self) -> float:
        return self.ours / self.plain


def measured(name: str, epsilon: float, wide: float, runs: int) -> Found:
    """Errors on ``runs`` tables of a kind, in a region that is ``wide`` times as wide as is reasonable.

    A single column's error is a single number and scatters more: it has four times as many runs.
    """
    mu = mu_from_epsilon(epsilon, DELTA)
    ours, plain, costs = [], [], []
    kind = list(TABLES).index(name)
    if TABLES[name](np.random.default_rng(0)).X.shape[1] == 1:
        runs *= 4
    for run in range(runs):
        rng = np.random.default_rng([run, kind])
        rows = TABLES[name](rng)
        X = rows.X / wide
        n, d = X.shape
        source = ArraySource(X, np.zeros(n, dtype=np.intp), 1)
        curator = Curator(source, SeededNoise(1000 * kind + run), "replace", epsilon, DELTA)
        found = release_record(curator, 1, d, n, extent=rows.extent)
        mean, covariance = found.means[0], found.covariances[0]
        truth = X.T @ X / n
        ours.append(np.linalg.norm(covariance + np.outer(mean, mean) - truth))
        plain.append(_plain_error(truth, mu * n, rng))
        fitted = np.cov(X.T, bias=True).reshape(d, d)
        costs.append(_j(mean, covariance, X.mean(axis=0), fitted, rows.extent / 2**13))
    return Found(
        float(np.mean(ours)),
        float(np.mean(plain)),
        float(np.median(costs)),
        float(np.mean(costs)),
    )


def _plain_error(truth: np.ndarray, signal: float, rng: np.random.Generator) -> float:
    """Mean Frobenius error of X^T X / n plus noise, of deviation sqrt 2 / (mu n) on the diagonal, with eigenvalues clipped."""
    d = len(truth)
    E = rng.standard_normal((_DRAWS, d, d)) * np.sqrt(2) / signal
    values, axes = np.linalg.eigh(truth + (E + E.swapaxes(1, 2)) / 2)
    told = (axes * np.clip(values, 0, 1)[:, None, :]) @ axes.swapaxes(1, 2)
    return float(np.linalg.norm(told - truth, axis=(1, 2)).mean())


def _j(m: np.ndarray, S: np.ndarray, mean: np.ndarray, cov: np.ndarray, step: float) -> float:
    """KL of both directions; columns are thought rounded to ``step``, so that constants have a finite one."""
    extra = step**2 / 12 * np.eye(len(m))
    A, B = np.linalg.inv(S + extra), np.linalg.inv(cov + extra)
    gap = m - mean
    both = np.trace(A @ (cov + extra)) + np.trace(B @ (S + extra)) - 2 * len(m)
    return float(both + gap @ (A + B) @ gap) / 2


def lines(names: list[str], epsilons: list[float], widths: list[float], runs: int) -> Iterator[str]:
    """One line for every kind of table, width of the region and epsilon; the last one says how many miss the demand."""
    missed, worst = 0, 0.0
    for name in names:
        for wide in widths:
            for epsilon in epsilons:
                found = measured(name, epsilon, wide, runs)
                missed += found.ratio > DEMANDED
                worst = max(worst, found.ratio)
                yield (
                    f"{name:18} region x{wide:<4g} epsilon {epsilon:<4g} error {found.ours:.2e}, plain {found.plain:.2e}, "
                    f"ratio {found.ratio:5.2f}{'*' if found.ratio > DEMANDED else ' '}  J {found.median_j:.3g} "
                    f"(mean {found.mean_j:.3g})"
                )
    yield f"above {DEMANDED:g}: {missed} of {len(names) * len(epsilons) * len(widths)}, worst ratio {worst:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--wide", default="1,10")
    parser.add_argument("--epsilon", default="1,4,16")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--far", default="")
    parser.add_argument("--columns", default="2")
    asked = parser.parse_args()
    names = asked.tables.split(",")
    if asked.far:
        pairs = [(int(k), int(d)) for d in asked.columns.split(",") for k in asked.far.split(",")]
        far = {
            f"{k} far rows d={d}": lambda rng, k=k, d=d: Rows(_few_far(rng, d, k)) for k, d in pairs
        }
        TABLES.update(far)
        names = list(far)
    epsilons, widths = ([float(x) for x in part.split(",")] for part in (asked.epsilon, asked.wide))
    for line in lines(names, epsilons, widths, asked.runs):
        print(line, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
