"""The trial that most figures share: release the same rows by every method and measure KL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privgmm.errors import InputError
from privgmm.model import Mixture, fit, kl_divergence
from privgmm.model.mixture import Floats
from privgmm.reproduce.experiment import Row, Study, Task
from privgmm.reproduce.methods import released
from privgmm.reproduce.seeds import stream


def kl_rows(
    study: Study, task: Task, X: Floats, y: NDArray[np.intp], epsilon: float
) -> Iterator[tuple[Row, Mixture | None]]:
    """A row with KL(released || fitted) for every method, and the mixture it released.

    A method that refuses the setting (R1SMG in fewer than 3 dimensions) gives a row with its
    reason and no number.
    """
    fitted = fit(X, y)
    for method in study.methods:
        row = Row(study.name, study.x_name, task.x, method, task.trial, study.source(), epsilon)
        seed = stream(task.seed, study.name, task.x, task.trial, method)
        try:
            mixture, iterations = released(method, X, y, fitted, epsilon, seed)
        except InputError as refusal:
            yield replace(row, note=str(refusal)), None
            continue
        yield (
            replace(
                row,
                kl=kl_divergence(mixture, fitted),
                kl_means=means_part(mixture, fitted),
                iterations=iterations,
            ),
            mixture,
        )


def means_part(released: Mixture, fitted: Mixture) -> float:
    """sum_k pi~_k (mu~_k - mu_k)^T Sigma_k^-1 (mu~_k - mu_k) / 2, a summand of KL(released || fitted).

    Both mixtures list their classes in the same order.
    """
    shift = (released.means - fitted.means)[:, :, None]
    z = np.linalg.solve(fitted.cholesky, shift)[:, :, 0]
    return float(0.5 * released.weights @ (z * z).sum(axis=1))
