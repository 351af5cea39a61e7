"""Rehearse a release on invented tables of the stated size and report what came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from privgmm.curate import release
from privgmm.datasets import synthetic
from privgmm.errors import InputError
from privgmm.model import fit, kl_divergence
from privgmm.releases.guarantee import Unit


@dataclass(frozen=True)
class Question:
    """The public facts: table sizes, classes, columns, what is protected, and at which epsilons.

    ``radius`` is the ball to state at record level, where one class spreads by about
    sqrt(d + 1) and class centres lie within 10 of the middle in every column.
    """

    sizes: tuple[int, ...]
    n_classes: int
    dim: int
    unit: Unit
    epsilons: tuple[float, ...]
    delta: float = 1e-5
    radius: float | None = None
    rehearsals: int = 10

    def __post_init__(self) -> None:
        if not self.sizes or not self.epsilons:
            raise InputError("Give at least one table size and one epsilon.")
        if self.n_classes < 1 or self.dim < 1 or self.rehearsals < 1:
            raise InputError("Classes, columns and rehearsals must each be at least 1.")
        if self.unit == "label" and self.n_classes < 2:
            raise InputError("Protecting labels needs at least two classes.")

    @property
    def stated_radius(self) -> float:
        """The ball for record level: by default the smallest that holds nearly all invented rows."""
        if self.radius is not None:
            return self.radius
        return math.sqrt(self.dim) * (10 + 3 * math.sqrt(self.dim + 1) / 2)


@dataclass(frozen=True)
class Forecast:
    """What the rehearsals of one table size at one epsilon gave."""

    n: int
    epsilon: float
    kl_mean: float
    kl_median: float
    accuracy: float
    accuracy_without_privacy: float


def forecasts(
    question: Question, step: Callable[[int, int], None] | None = None
) -> Iterator[Forecast]:
    """One forecast per size and epsilon, from rehearsals on the paper's generator (section V-A).

    ``step(done, total)`` is called after every rehearsal.
    """
    total = len(question.sizes) * len(question.epsilons) * question.rehearsals
    done = 0
    for n in question.sizes:
        for epsilon in question.epsilons:
            results = []
            for seed in range(question.rehearsals):
                results.append(_rehearse(question, n, epsilon, seed))
                done += 1
                if step is not None:
                    step(done, total)
            kl, accuracy, reference = np.array(results).T
            yield Forecast(
                n, epsilon, float(kl.mean()), float(np.median(kl)),
                float(accuracy.mean()), float(reference.mean()),
            )  # fmt: skip


def smallest_epsilon(rows: list[Forecast], target_kl: float) -> dict[int, float | None]:
    """For each table size the smallest rehearsed epsilon whose mean KL is at most the target."""
    answer: dict[int, float | None] = {row.n: None for row in rows}
    for row in sorted(rows, key=lambda r: -r.epsilon):
        if row.kl_mean <= target_kl:
            answer[row.n] = row.epsilon
    return answer


def _rehearse(question: Question, n: int, epsilon: float, seed: int) -> tuple[float, float, float]:
    """(KL(released || fitted), accuracy of the released classifier, accuracy of the fitted one)."""
    X, y = synthetic(n + min(n, 5000), question.n_classes, question.dim, seed)
    train, rows_test = (X[:n], y[:n]), (X[n:], y[n:])
    classes = list(range(question.n_classes))
    try:
        reference = fit(*train, classes=classes)
    except InputError:
        raise InputError(
            f"{n} rows are too few for {question.n_classes} classes of {question.dim} columns; "
            "ask for more rows."
        ) from None
    released = release(
        *train,
        epsilon=epsilon,
        delta=question.delta,
        unit=question.unit,
        radius=question.stated_radius if question.unit == "record" else None,
        classes=classes,
        seed=seed,
    ).mixture
    return (
        kl_divergence(released, reference),
        float((released.predict(rows_test[0]) == rows_test[1]).mean()),
        float((reference.predict(rows_test[0]) == rows_test[1]).mean()),
    )
